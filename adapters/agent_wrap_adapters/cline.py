"""Cline: `cline --json PROMPT`.

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
    one="--auto-approve -c --cwd --compaction --id -P --provider -k --key -m --model "
    "-s --system -t --timeout --config --data-dir --hooks-dir",
    maybe="--thinking --retries",
)
_COMMANDS = (
    "auth",
    "config",
    "connect",
    "dashboard",
    "doctor",
    "h",
    "history",
    "hook",
    "hub",
    "kanban",
    "mcp",
    "plugin",
    "schedule",
    "skill",
    "update",
    "version",
)
_FOR_PEOPLE = ("-i", "--tui", "-z", "--zen", "--acp", "--update", "--kanban")
_ASKS_ONLY = ("-h", "--help", "-V", "--version")


class Cline(LateReader):
    """Reads `--json`: the agent's events, hooks, and one result at the end."""

    programs = frozenset({"cline"})
    options = _OPTIONS
    versions_checked = ("3.0.65",)
    gives = (
        "text, thinking, tools live, tokens of each answer and of the run, cost, "
        "the model at the end; turns are iterations of the agent's loop"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.cline_stream import ClineStream

        return ClineStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell Cline by its hooks, or by an event of its loop."""
        if event.get("type") == "hook_event":
            return "hookEventName" in event and "taskId" in event
        return event.get("type") == "agent_event" and "ts" in event and "event" in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON; a given prompt goes into the command, stdin is not read."""
        words = list(command)
        found = cls.arguments(words)
        told = found.operands[0][1] if found.operands else None
        if told in _COMMANDS or found.has(*_FOR_PEOPLE, *_ASKS_ONLY):
            return Prepared(words)
        asked = told if prompt is None else prompt
        if asked is None:
            return Prepared(words)
        if told is None:
            # A single word is taken for a command, and a dash for an option.
            words += ["--", asked if " " in asked else f"{asked} "]
        added = [] if found.has("--json") else ["--json"]
        words[found.start : found.start] = added
        return Prepared(words, prompt=asked, added=added)
