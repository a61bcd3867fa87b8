"""Gemini CLI: `gemini -o stream-json -p PROMPT`.

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
    one="-m --model -p --prompt -i --prompt-interactive --approval-mode -r --resume "
    "--session-file --session-id --delete-session -o --output-format",
    maybe="-w --worktree",
    several="--policy --admin-policy --allowed-mcp-server-names --allowed-tools -e "
    "--extensions --include-directories",
)
_SUBCOMMANDS = ("mcp", "extensions", "extension", "skills", "skill", "hooks", "gemma")
_OTHER_JOBS = (
    *("-h", "--help", "-v", "--version", "-l", "--list-extensions"),
    *("--list-sessions", "--delete-session", "-i", "--prompt-interactive"),
)


class GeminiCli(LateReader):
    """Reads Gemini CLI's stream-json."""

    programs = frozenset({"gemini", "gemini-cli"})
    options = _OPTIONS
    session_options = ("--resume", "-r", "--session-file", "--session-id")
    model_variables = ("GEMINI_MODEL",)
    versions_checked = ("0.61.0",)
    gives = (
        "text, tools, model, tokens of the run (sub-agents' too); no thinking, no "
        "tokens of a message; turns are answers between tool results"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.gemini_stream import GeminiStream

        return GeminiStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell it by its first line."""
        fields = ("session_id", "model", "timestamp")
        whole = all(isinstance(event.get(field), str) for field in fields)
        return whole and event.get("type") == "init"

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for the stream; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        query = [word for _, word in found.operands]
        if found.has(*_OTHER_JOBS) or (query and query[0] in _SUBCOMMANDS):
            return Prepared(words)
        told = found.value("-p", "--prompt") or " ".join(query)
        stdin = as_stdin(prompt) if prompt is not None and not told else None
        added = []
        if not found.has("-o", "--output-format"):
            words[found.start : found.start] = ["-o", "stream-json"]
            added.append("-o stream-json")
        asked = prompt if prompt is not None else told or None
        return Prepared(words, prompt=asked, stdin=stdin, added=added)
