"""A mapping that keeps its newest keys only, so that memory stays flat. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Newest(OrderedDict[K, V]):
    """An ordered dict that forgets its oldest key once it has more than `most`.

    Ordered: to find the first key, a plain dict scans all that were deleted before it.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def add(self, key: K, value: V) -> None:
        """Take a value in; a key that is known stays as old as it was."""
        self[key] = value
        if len(self) > self.most:
            self.popitem(last=False)
