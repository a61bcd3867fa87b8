"""Where a line ends, and how long it may be. Bytes in, lines out; nothing else.

Lines end at 0x0A alone. `str.splitlines` also cuts at U+2028, U+2029, U+0085 and
others, which agents print raw inside JSON strings (measured with two of them).
"""

from __future__ import annotations

from io import BytesIO

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

    A line keeps its end, which is nothing to a reader of JSON; `strip` takes it off. A
    byte-order mark before it is taken off. A line longer than `limit` bytes is not
    kept: it comes out as a `LongLine` once it has ended, and memory stays below the
    limit meanwhile.
    """

    def __init__(self, limit: int = 64 * 1024 * 1024) -> None:
        self._limit = limit
        self._keep = min(HEAD, limit)  # the same head, however the bytes are cut
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""

    def feed(self, data: bytes) -> list[bytes | LongLine]:
        """Take the next bytes; give the lines that they end."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._hold(data)
            return []
        # Seven times as fast as `split`, which looks at each byte by itself.
        lines = BytesIO(data).readlines()
        rest = lines.pop() if end < len(data) else b""
        out: list[bytes | LongLine] = [*lines]
        # One byte each: looking for the three of a mark costs as much as the redaction.
        if data.find(BOM[:1]) >= 0 or len(data) > self._limit:
            out = list(map(self._whole, lines))
        if self._size:
            self._hold(lines[0])
            out[0] = self._take(1)
        if rest:
            self._hold(rest)
        return out

    def close(self) -> list[bytes | LongLine]:
        """End of the stream: a last line without its line feed is a line too."""
        return [self._take(0)] if self._size else []

    def _hold(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._limit + 1:  # its end is not counted
            self._parts.append(data)
        elif self._parts or not self._head:
            self._head = b"".join([*self._parts, data[:HEAD]])[: self._keep]
            self._parts.clear()

    def _take(self, end: int) -> bytes | LongLine:
        """Give the line that is held, of which the last `end` bytes are its end."""
        line, size = b"".join(self._parts), self._size - end
        head = self._head or line[: self._keep]
        self._parts.clear()
        self._size, self._head = 0, b""
        return LongLine(head, size) if size > self._limit else line.removeprefix(BOM)

    def _whole(self, line: bytes) -> bytes | LongLine:
        size = len(line) - 1
        if size > self._limit:
            return LongLine(line[: self._keep], size)
        return line.removeprefix(BOM)


def strip(line: bytes) -> bytes:
    """Take off a line's end: a line feed, with or without a carriage return."""
    return line.removesuffix(b"\n").removesuffix(b"\r")
