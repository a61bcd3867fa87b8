"""A mapping that keeps its newest keys only, so that memory stays flat. Pure."""

from __future__ import annotations

from itertools import islice
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(dict[K, V]):
    """A dict of its newest keys: at least `most`, never more than twice as many.

    The older half goes at once: to find the first key, a dict scans all that were
    deleted before it, and an ordered one takes twice as long to fill.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._least, self._most = most, 2 * most

    def add(self, key: K, value: V) -> None:
        """Take a value in; a key that is known stays as old as it was."""
        self[key] = value
        if len(self) > self._most:
            for old in list(islice(self, len(self) - self._least)):
                del self[old]
