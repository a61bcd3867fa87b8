"""Adapters whose reading is loaded when the agent has started, not before it."""

from __future__ import annotations

from agent_wrap_adapters.command_line import CommandLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from agent_wrap.events import Event

    class Reads(Protocol):
        """What reads the lines of one process."""

        def feed(self, event: dict[str, Any]) -> Iterable[Event]:
            """Give the facts that one line states."""
            ...

        def close(self) -> Iterable[Event]:
            """Give what was held when the stream ended."""
            ...


class LateReader(CommandLine):
    """An adapter that leaves the lines to what `reader` imports and makes."""

    def __init__(self) -> None:
        self._reader = self.reader()

    @staticmethod
    def reader() -> Reads:
        """Make the reader of one process."""
        raise NotImplementedError

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        return self._reader.feed(event)

    def close(self) -> Iterable[Event]:
        """Give what was held when the stream ended."""
        return self._reader.close()
