"""OpenCode: `opencode run --format json PROMPT`.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.late_reader import LateReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_wrap_adapters.reading import Reader

_OPTIONS = Options(
    one="--log-level --command -s --session -m --model --agent --format --title "
    "--attach -p --password -u --username --dir --port --variant",
    several="-f --file",
)
_OTHER_JOBS = ("-h", "--help", "-v", "--version", "-i", "--interactive")
_TYPES = ("step_start", "text", "reasoning", "tool_use", "step_finish", "error")


class OpenCode(LateReader):
    """Reads OpenCode's lines: one for each finished part of an answer."""

    programs = frozenset({"opencode", "opencode-ai"})
    options = _OPTIONS
    session_options = ("--session", "-s", "--continue", "-c")
    session_job = "run"
    versions_checked = ("1.18.33",)
    result_grace = 30.0
    """An answer can end well and the run go on: a conversation was made shorter."""
    gives = (
        "text, thinking, tools when they have ended, tokens and cost of each answer; "
        "no model, nothing of sub-agents; turns are API calls"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.opencode_stream import OpenCodeStream

        return OpenCodeStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell it by the session that every line names."""
        part = event.get("error" if event.get("type") == "error" else "part")
        named = isinstance(event.get("sessionID"), str) and isinstance(part, dict)
        return named and event.get("type") in _TYPES

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask `opencode run` for JSON lines; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        if not found.operands or found.operands[0][1] != "run":
            return Prepared(words)
        if found.has(*_OTHER_JOBS):
            return Prepared(words)
        message = [word for _, word in found.operands[1:]]
        told = "" if found.has("--command") else " ".join(message)
        stdin = as_stdin(prompt) if prompt is not None and not told else None
        added = []
        if not found.has("--format"):
            added.append("--format json")
        if found.value("--format") in ("", "json") and not found.has("--thinking"):
            added.append("--thinking")
        at = found.operands[0][0] + 1
        words[at:at] = " ".join(added).split()
        asked = prompt if prompt is not None else told or None
        return Prepared(words, prompt=asked, stdin=stdin, added=added)
