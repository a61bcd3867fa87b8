"""What reads the lines of one process: by their types, as nearly all streams want."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agent_wrap.events import Event, Unknown
from agent_wrap.shapes import get_text

Read = Callable[[dict[str, Any]], Iterable[Event]]


class Reader:
    """Reads the lines of one process. Only `feed` has to be written."""

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        raise NotImplementedError

    def pause(self) -> Iterable[Event]:
        """Give what is held only for a nicer grouping."""
        return ()

    def close(self) -> Iterable[Event]:
        """Give what was held when the stream ended."""
        return ()


class ByType(Reader):
    """A reader of lines that say their type.

    `types` says who reads which type; `silent` are types known to state no facts.
    """

    key = "type"
    silent: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.types: dict[str, Read] = {}

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        kind = get_text(event, self.key)
        read = self.types.get(kind)
        if read is not None:
            return read(event)
        return () if kind in self.silent else (Unknown(kind or f"(no {self.key})"),)
