"""How large a dialog may grow, and what gives way when it nears that. Pure.

Readers treat a dialog of more than 32 MiB as absent and stop at 200,000 entries, so:
long fields are cut in the middle and say how much was cut; the less room is left,
the shorter; when little is left, thinking is left out, then tools, then messages.
The results of tools that were shown and `complete` always fit.
"""

from __future__ import annotations

import json
from typing import Any, Literal

MAX_BYTES = 31 * 1024 * 1024
MAX_ENTRIES = 199_000
SHORTEST_LINE = 4096
"""A line of this length is never cut."""

LONGEST_MESSAGE = 4000
"""Characters of the end's message: as `complete` it must fit into what a full disk has
left for the end (`keeper.RESERVE`), each written as twelve bytes."""

LONGEST_NAME = 128
"""Characters of a tool's id and name."""

_PAIRING = frozenset({"tool_id", "name"})

Kind = Literal["thinking", "tool", "message"]
_THINNED: dict[Kind, float] = {"thinking": 0.25, "tool": 0.06, "message": 0.03}
"""The share of room left below which entries of a kind are left out."""

_SHARE = 16
"""One line may take this part of the room that is left."""


class Budget:
    """The room that a dialog has left. Tell it of every line that was written."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES):
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self.closed = False
        """True: nothing but the end may be written (the disk is full). See `close`."""
        self.open_tools = 0
        """Starts that were written: room for their results is set aside."""
        self._bytes_left = max_bytes
        self._entries_left = max_entries
        self._least = {
            kind: (share * max_bytes, share * max_entries)
            for kind, share in _THINNED.items()
        }
        self.plenty = self._is_plenty()
        """True: there is room for an entry of any kind; false: ask `admits`."""

    def spend(self, length: int, entries: int = 1) -> None:
        """Take note of a line that was written, or of several."""
        self._bytes_left -= length
        self._entries_left -= entries
        self.plenty = self._is_plenty()

    def close(self) -> None:
        """Take note that nothing but the end can be written any more."""
        self.closed = True
        self.plenty = False

    def admits(self, kind: Kind) -> bool:
        """May an entry of this kind be written?"""
        return self._has_more_than(*self._least[kind])

    def _is_plenty(self) -> bool:
        # Asked once for many entries: they may take some room until it is asked again.
        return self._has_more_than(self.max_bytes / 2, self.max_entries / 2)

    def _has_more_than(self, room: float, entries: float) -> bool:
        return (
            self._free > room
            and self._entries_left - self.open_tools > entries
            and not self.closed
        )

    def is_too_long(self, line: bytes) -> bool:
        """Must the next line be cut?"""
        return len(line) > SHORTEST_LINE and len(line) > self.longest_line

    @property
    def longest_line(self) -> int:
        """How long the next line may be, in bytes."""
        return max(self._free // _SHARE, SHORTEST_LINE)

    @property
    def _free(self) -> int:
        return self._bytes_left - self.open_tools * SHORTEST_LINE


def shorten(entry: dict[str, Any], line_length: int, longest: int) -> dict[str, Any]:
    """Copy an entry with its long strings cut, so that its line fits `longest`.

    `line_length` is the length of its line as it is: the ratio to its characters
    tells how much its encoding takes. What pairs a tool's entries stays as it is.
    """
    room = max(longest - 1024, 512)
    lengths = sorted(_string_lengths(entry), reverse=True)
    bytes_a_character = max(line_length / max(sum(lengths), 1), 1.0)
    most = int(room / bytes_a_character / max(_long_ones(lengths, room), 1))
    return {
        key: value if key in _PAIRING else _cut(value, max(most, 64))
        for key, value in entry.items()
    }


def shorten_parts(entry: dict[str, Any], longest: int) -> dict[str, Any]:
    """Replace what is long for the number of its parts by the start of its JSON."""
    most = max(longest // 2, 512)
    return {
        key: {"json": cut_middle(text, most)}
        if isinstance(value, dict | list) and len(text := json.dumps(value)) > most
        else value
        for key, value in entry.items()
    }


def cut_middle(text: str, most: int) -> str:
    """Keep a text's start and end, about `most` characters; say how much is gone."""
    if len(text) <= most:
        return text
    mark = f"\n[... {len(text) - most} characters cut ...]\n"
    head = (most * 2) // 3
    return text[:head] + mark + text[len(text) - (most - head) :]


def _long_ones(lengths: list[int], room: int) -> int:
    """How many strings are long enough to matter when one line has `room`."""
    return sum(length > room // 64 for length in lengths)


def _string_lengths(value: Any) -> list[int]:
    if isinstance(value, str):
        return [len(value)]
    if isinstance(value, dict):
        return [n for v in value.values() for n in _string_lengths(v)] + [
            len(k) for k in value
        ]
    if isinstance(value, list):
        return [n for v in value for n in _string_lengths(v)]
    return []


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return cut_middle(value, most)
    if isinstance(value, dict):
        return {cut_middle(k, 256): _cut(v, most) for k, v in value.items()}
    if isinstance(value, list):
        return [_cut(v, most) for v in value]
    return value
