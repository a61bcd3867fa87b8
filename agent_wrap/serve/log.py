"""The last events of a session, as frames, for replay; and a turn under way. Pure.

Both are bounded: a client that is further behind than the log gets a snapshot, and a
turn longer than its bound is shown without its oldest events, which is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_wrap.serve.wire import data_of

MAX_EVENTS = 100_000
MAX_BYTES = 64 * 1024 * 1024
MAX_CHUNKS = 16
MAX_TURN_BYTES = 32 * 1024 * 1024


class Log:
    """Frames by their number; the oldest quarter goes when there are too many."""

    def __init__(
        self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES
    ) -> None:
        self.first = 1
        self._frames: list[bytes] = []
        self._chunks: dict[int, tuple[bytes, int]] = {}
        self._bytes = 0
        self._max_events = max_events
        self._max_bytes = max_bytes

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self.first + len(self._frames) - 1

    def append(self, frame: bytes) -> None:
        """Take the next event."""
        self._chunks.clear()
        self._frames.append(frame)
        self._bytes += len(frame)
        while len(self._frames) > 1 and (
            len(self._frames) > self._max_events or self._bytes > self._max_bytes
        ):
            gone = max(len(self._frames) // 4, 1)
            self._bytes -= sum(map(len, self._frames[:gone]))
            del self._frames[:gone]
            self.first += gone

    def begin_after(self, seq: int) -> None:
        """Begin an empty log after an event that is not in it."""
        self._frames.clear()
        self._bytes = 0
        self.first = seq + 1

    def holds_after(self, seq: int) -> bool:
        """Can everything after an event be replayed?"""
        return self.first - 1 <= seq <= self.last

    def chunk(self, seq: int, most: int) -> tuple[bytes, int]:
        """Give what `after` gives as one piece, and how many frames are in it.

        Readers that stand at the same place get the same piece, made once.
        """
        found = self._chunks.get(seq)
        if found is None:
            frames = self.after(seq, most)
            found = b"".join(frames), len(frames)
            if len(self._chunks) >= MAX_CHUNKS:
                self._chunks.clear()
            self._chunks[seq] = found
        return found

    def after(self, seq: int, most: int) -> list[bytes]:
        """Give the frames after an event: at least one if any, and `most` bytes."""
        out: list[bytes] = []
        size = 0
        at = seq + 1 - self.first
        while at < len(self._frames) and (not out or size < most):
            out.append(self._frames[at])
            size += len(self._frames[at])
            at += 1
        return out


class Turn:
    """The events of the turn under way; the first one is always kept."""

    def __init__(self, max_bytes: int = MAX_TURN_BYTES) -> None:
        self.left_out = 0
        self._events: list[tuple[bytes, int]] = []
        self._bytes = 0
        self._max_bytes = max_bytes

    def append(self, frame: bytes, start: int) -> None:
        """Take the next event."""
        self._events.append((frame, start))
        self._bytes += len(frame)
        while self._bytes > self._max_bytes and len(self._events) > 2:
            gone = max((len(self._events) - 1) // 4, 1)
            self._bytes -= sum(len(frame) for frame, _ in self._events[1 : gone + 1])
            del self._events[1 : gone + 1]
            self.left_out += gone

    def data(self) -> Iterator[memoryview]:
        """Give the events' data, in order."""
        for frame, start in self._events:
            yield data_of(frame, start)
