"""Adapters whose reading is loaded when the agent has started, not before it."""

from __future__ import annotations

from agent_wrap_adapters.command_line import CommandLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agent_wrap.events import Event
    from agent_wrap_adapters.reading import Reader


class LateReader(CommandLine):
    """An adapter that leaves the lines to what `reader` imports and makes."""

    def __init__(self) -> None:
        self._reader = self.reader()

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        raise NotImplementedError

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        return self._reader.feed(event)

    def pause(self) -> Iterable[Event]:
        """Give what is held only for a nicer grouping."""
        return self._reader.pause()

    def close(self) -> Iterable[Event]:
        """Give what was held when the stream ended."""
        return self._reader.close()
