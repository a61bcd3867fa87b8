"""OpenHands: `openhands --headless --json -t PROMPT`, JSON lines among text.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared, SideFile, Surroundings
from agent_wrap_adapters.argv import Options
from agent_wrap_adapters.command_line import CommandLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from agent_wrap.events import Event

_OPTIONS = Options(one="-t --task -f --file", maybe="--resume")
_ASKS_ONLY = ("-h", "--help", "-v", "--version")


class OpenHands(CommandLine):
    """Reads its JSON lines, and the text around them, which alone tells the end."""

    reads = "text"  # most lines are no JSON, and that is no fault of theirs
    programs = frozenset({"openhands"})
    options = _OPTIONS
    session_options = ("--resume", "--last")
    model_options = ()
    versions_checked = ("1.16.0",)
    gives = (
        "text, thinking, tools, model; tokens and cost from a side file; turns are "
        "API calls; a run that got stuck looks like a good one"
    )

    def __init__(self) -> None:
        from agent_wrap_adapters.openhands_stream import OpenHandsStream

        self._stream = OpenHandsStream()

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        return self._stream.feed(event)

    def feed_text(self, line: str) -> Iterator[Event]:
        """Read a line: JSON, a mark of the run's course, or noise."""
        return self._stream.feed_text(line)

    def close(self) -> Iterator[Event]:
        """Give what was held when the stream ended."""
        return self._stream.close()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell it by the kinds of its events and by who they come from."""
        known = event.get("source") in ("user", "agent", "environment", "hook")
        kind = str(event.get("kind"))
        return known and kind.endswith(("Event", "Observation")) and "id" in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON lines, written at once; a given prompt is the task."""
        words = list(command)
        found = cls.arguments(words)
        if found.operands or found.has(*_ASKS_ONLY):  # a subcommand
            return Prepared(words)
        told = found.value("-t", "--task") or None
        added: list[str] = []
        asked = told if prompt is None else prompt
        has_task = asked is not None or found.has("-f", "--file")
        if has_task and not found.has("--headless"):
            added.append("--headless")
        if (has_task or found.has("--headless")) and not found.has("--json"):
            added.append("--json")
        given = list(added)
        if prompt is not None and not found.has("-t", "--task", "-f", "--file"):
            given.extend(("-t", prompt))
        words[found.start : found.start] = given
        return Prepared(
            words, prompt=asked, environment={"PYTHONUNBUFFERED": "1"}, added=added
        )

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the state of the conversation."""
        kept = ran.place("OH_PERSISTENCE_DIR", ".openhands") + "/conversations"
        return [SideFile(f"{kept}/{ran.session}", "base_state.json")]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give tokens and cost of each use of a model."""
        from agent_wrap_adapters.openhands_side import read_state

        return read_state(contents)
