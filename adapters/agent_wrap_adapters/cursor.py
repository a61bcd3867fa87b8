"""Cursor: `cursor-agent -p PROMPT --output-format stream-json`.

By its documentation and what users of it published; no run was recorded.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared
from agent_wrap_adapters.argv import Options
from agent_wrap_adapters.late_reader import LateReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_wrap_adapters.reading import Reader

_OPTIONS = Options(
    one="--output-format --model -m --api-key -a --mode --workspace --header -H "
    "--sandbox",
    maybe="--resume --worktree -w",
)
_OTHER_JOBS = ("-h", "--help", "-v", "--version", "--list-models")
_SUBCOMMANDS = (
    *("about", "create-chat", "install-shell-integration", "login", "logout", "ls"),
    *("mcp", "models", "resume", "status", "uninstall-shell-integration", "update"),
)


class Cursor(LateReader):
    """Reads its lines. A message may come in pieces, and then again as a whole."""

    programs = frozenset({"cursor-agent"})
    options = _OPTIONS
    session_options = ("--resume", "--continue")
    gives = (
        "text, thinking, tools, model, tokens of the run in newer versions; turns "
        "are answers between tools"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.cursor_stream import CursorStream

        return CursorStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell its `init`, the only one of the family with a key's source, no tools."""
        if event.get("type") != "system" or event.get("subtype") != "init":
            return False
        return "apiKeySource" in event and "tools" not in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON lines; a given prompt is the last argument."""
        words = list(command)
        found = cls.arguments(words)
        operands = [w for at, w in found.operands if (at, w) != (found.start, "agent")]
        told = operands[0] if operands else None
        if told in _SUBCOMMANDS or found.has(*_OTHER_JOBS):
            return Prepared(words)
        asked = told if prompt is None else prompt
        added = []
        if asked is not None and not found.has("-p", "--print"):
            added.append("-p")
        if (added or found.has("-p", "--print")) and not found.has("--output-format"):
            added.append("--output-format stream-json")
        given = " ".join(added).split()
        if prompt is not None and told is None:
            given.extend(("--", prompt) if prompt.startswith("-") else (prompt,))
        words.extend(given)
        return Prepared(words, prompt=asked, added=added)
