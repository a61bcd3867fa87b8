"""Where a line ends, and how long it may be. Bytes in, lines out; nothing else.

Lines end at 0x0A alone. `str.splitlines` also cuts at U+2028, U+2029, U+0085 and
others, which agents print raw inside JSON strings (measured with two of them).
"""

from __future__ import annotations

from agent_wrap.values import value

BOM = b"\xef\xbb\xbf"
HEAD = 200


@value
class LongLine:
    """A line over the limit: its first bytes and its length, the rest is skipped."""

    head: bytes
    length: int


class LineDecoder:
    """Cut a byte stream into lines, in time linear in its length.

    A carriage return before the line feed and a byte-order mark before the line are
    taken off. A line longer than `limit` bytes is not kept: it comes out as a
    `LongLine` once it has ended, and memory stays below the limit meanwhile.
    """

    def __init__(self, limit: int = 64 * 1024 * 1024) -> None:
        self._limit = limit
        self._keep = min(HEAD, limit)  # the same head, however the bytes are cut
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""

    def feed(self, data: bytes) -> list[bytes | LongLine]:
        """Take the next bytes; give the lines that they end."""
        if b"\n" not in data:
            self._hold(data)
            return []
        first, *lines, rest = data.split(b"\n")
        if self._size:
            self._hold(first)
            out = [self._take()]
        else:
            out = [self._whole(first)]
        # One byte each: looking for the three of a mark costs as much as the redaction.
        if b"\r" in data or BOM[:1] in data or len(data) > self._limit:
            out.extend(map(self._whole, lines))
        else:  # nearly always: nothing to take off, nothing too long
            out.extend(lines)
        if rest:
            self._hold(rest)
        return out

    def close(self) -> list[bytes | LongLine]:
        """End of the stream: a last line without its line feed is a line too."""
        return [self._take()] if self._size else []

    def _hold(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._limit:
            self._parts.append(data)
        elif self._parts or not self._head:
            self._head = b"".join([*self._parts, data[:HEAD]])[: self._keep]
            self._parts.clear()

    def _take(self) -> bytes | LongLine:
        size, head = self._size, self._head
        line = b"".join(self._parts)
        self._parts.clear()
        self._size, self._head = 0, b""
        return LongLine(head, size) if size > self._limit else strip(line)

    def _whole(self, line: bytes) -> bytes | LongLine:
        if len(line) > self._limit:
            return LongLine(line[: self._keep], len(line))
        return strip(line)


def strip(line: bytes) -> bytes:
    """Take off what belongs to the line's end or the file's start, not to the text."""
    if line.endswith(b"\r"):
        line = line[:-1]
    return line.removeprefix(BOM)
