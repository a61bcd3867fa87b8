"""Readers of a session and of the list of sessions: woken, never waited for.

A reader of a session has a position in its log and no queue of its own: it gets
everything after it, or, when that is gone, a fresh snapshot. A reader of the list
has a bounded queue, and is sent away when it does not keep up.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from agent_wrap.encode import encode
from agent_wrap.serve.session import Session
from agent_wrap.serve.wire import KEEPALIVE, OPENED, frame

CHUNK = 64 * 1024
"""Bytes that are given to a connection at once; it then waits for its reader."""

PACE = 0.02
"""Seconds between two wake-ups of a session's readers, at least: what comes meanwhile
is written in one piece. What comes after a pause is not held up."""

WRITING = 3.0
"""The pace over the time that a round of writing takes: many readers, longer pieces."""

MAX_WAITING = 1024 * 1024
"""Bytes that may wait for one reader of the list."""


def now_ms() -> int:
    """Give the time as the protocol has it."""
    return time.time_ns() // 1_000_000


class Bell:
    """Wakes all that wait; costs nothing when nobody does."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def ring(self) -> None:
        """Wake those who wait now."""
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        """Wait to be woken."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()


class Mailbox:
    """What waits for one reader of the list."""

    def __init__(self) -> None:
        self.frames: deque[bytes] = deque()
        self.size = 0
        self.lost = False
        self.bell = Bell()

    def put(self, made: bytes) -> None:
        """Add a frame, or give up on a reader that takes none."""
        if self.size + len(made) > MAX_WAITING:
            self.lost = True
            self.frames.clear()
        elif not self.lost:
            self.frames.append(made)
            self.size += len(made)
        self.bell.ring()


class Hub:
    """The list of sessions: what changed in it, for all who want to know."""

    def __init__(self, heartbeat: float) -> None:
        self.heartbeat = heartbeat
        self.mailboxes: set[Mailbox] = set()
        self.feeds: set[Feed] = set()
        """Those that have readers."""
        self.beats = 0
        self.pace = PACE
        self._late: set[Feed] = set()
        self._dirty = Bell()
        self._closed = False

    async def run(self) -> None:
        """Keep the time of all readers: one clock for all, not one for each."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._beat)
            while True:
                if not self._late:  # what came in their turn
                    await self._dirty.wait()
                await anyio.sleep(self.pace)
                late, self._late = self._late, set()
                began = time.monotonic()
                for feed in late:
                    feed.ring()
                await checkpoint()  # comes back when all of them have had their turn
                self.pace = max(PACE, WRITING * (time.monotonic() - began))

    def ring_later(self, feed: Feed) -> None:
        """Wake a session's readers when the pace allows it."""
        self._late.add(feed)
        self._dirty.ring()

    async def _beat(self) -> None:
        """Wake all readers every `heartbeat` seconds."""
        while True:
            await anyio.sleep(self.heartbeat)
            self.beats += 1
            bells = [feed.bell for feed in self.feeds]
            bells += [mailbox.bell for mailbox in self.mailboxes]
            for bell in bells:
                bell.ring()

    def publish(self, kind: str, **fields: Any) -> None:
        """Tell all readers."""
        self.put(frame(kind, encode({"type": kind, **fields})[:-1])[0])

    def put(self, made: bytes) -> None:
        """Give all readers a frame."""
        for mailbox in self.mailboxes:
            mailbox.put(made)

    def close(self) -> None:
        """Let the readers end."""
        self._closed = True
        for mailbox in self.mailboxes:
            mailbox.bell.ring()

    async def read(self, first: list[bytes]) -> AsyncIterator[bytes]:
        """Give the first frames, then everything that is told."""
        mailbox, beats = Mailbox(), self.beats
        self.mailboxes.add(mailbox)
        try:
            for made in first:
                yield made
            while not mailbox.lost:
                if mailbox.frames:
                    made = mailbox.frames.popleft()
                    mailbox.size -= len(made)
                    yield made
                elif self._closed:
                    return
                elif beats != self.beats:
                    beats = self.beats
                    yield KEEPALIVE
                else:
                    await mailbox.bell.wait()
        finally:
            self.mailboxes.discard(mailbox)


class Reader:
    """One connection: the number of the last event that it was given."""

    def __init__(self, position: int | None) -> None:
        self.position = position


class Feed:
    """A session and its readers. After `close` they get what is left, and the end."""

    def __init__(self, session: Session, hub: Hub, cwd: str) -> None:
        self.session = session
        self.cwd = cwd
        self.readers: set[Reader] = set()
        self.pins = 0
        """Connections that are there, whether or not their reader has begun."""
        self.bell = Bell()
        self._hub = hub
        self._closed = False
        self._rung = -math.inf
        self._lifecycle = session.status["lifecycle"]

    def ring(self) -> None:
        """Wake the readers."""
        self._rung = time.monotonic()
        self.bell.ring()

    def changed(self) -> None:
        """Wake the readers; tell the list when the session's lifecycle is another."""
        if time.monotonic() - self._rung >= self._hub.pace:
            self.ring()
        else:
            self._hub.ring_later(self)
        if self.session.status["lifecycle"] != self._lifecycle:
            self._lifecycle = self.session.status["lifecycle"]
            self._hub.put(self.status_frame())

    def status_frame(self) -> bytes:
        """Give the frame that tells the list the whole state."""
        status = self.session.status
        told = {"type": "session_status", "sessionId": self.session.id}
        line = encode({**told, "cwd": self.cwd, "status": status})
        return frame("session_status", self.session.clean(line)[:-1])[0]

    def close(self) -> None:
        """Let the readers end once they have everything."""
        self._closed = True
        self.bell.ring()

    @property
    def behind(self) -> bool:
        """Does any reader not have everything yet?"""
        return any(reader.position != self.session.cursor for reader in self.readers)

    async def settled(self, interaction_id: str, seconds: float) -> str | None:
        """Wait for how something claimed is settled, so long at most."""
        with anyio.move_on_after(seconds):
            while interaction_id in self.session.claimed:
                await self.bell.wait()
        if interaction_id in self.session.claimed:
            return None
        return self.session.settled.get(interaction_id)

    async def read(self, position: int | None) -> AsyncIterator[bytes]:
        """Give all after a position (None: from a snapshot on), until closed."""
        reader, beats = Reader(position), self._hub.beats
        self.readers.add(reader)
        self._hub.feeds.add(self)
        try:
            yield OPENED
            while True:
                for part in self._news(reader):
                    yield part
                if self._closed:
                    return
                if beats != self._hub.beats:
                    beats = self._hub.beats
                    yield KEEPALIVE
                elif reader.position == self.session.cursor:
                    await self.bell.wait()
        finally:
            self.readers.discard(reader)
            if not self.readers:
                self._hub.feeds.discard(self)

    def _news(self, reader: Reader) -> Iterator[bytes]:
        """Give what a reader does not have yet."""
        session = self.session
        while reader.position != session.cursor:
            at = reader.position
            if at is None or not session.log.holds_after(at):
                at = session.cursor
                whole = session.snapshot(now_ms())
                for start in range(0, len(whole), CHUNK):
                    yield whole[start : start + CHUNK]
            else:
                joined, count = session.log.chunk(at, CHUNK)
                at += count
                for start in range(0, len(joined), 4 * CHUNK):
                    yield joined[start : start + 4 * CHUNK]
            reader.position = at
