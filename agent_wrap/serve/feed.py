"""Readers of a session and of the list of sessions: woken, never waited for.

A reader of a session has a position in its log and no queue of its own: it gets
everything after it, or, when that is gone, a fresh snapshot. A reader of the list
has a bounded queue, and is sent away when it does not keep up.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio

from agent_wrap.encode import encode
from agent_wrap.serve.session import Session
from agent_wrap.serve.wire import KEEPALIVE, OPENED, frame

CHUNK = 64 * 1024
"""Bytes that are given to a connection at once; it then waits for its reader."""

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

    async def wait(self, seconds: float) -> bool:
        """Wait to be woken, so long at most; say whether it rang."""
        if self._event is None:
            self._event = anyio.Event()
        event = self._event
        with anyio.move_on_after(seconds):
            await event.wait()
        return event.is_set()


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
        self._closed = False

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
        mailbox = Mailbox()
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
                elif not await mailbox.bell.wait(self.heartbeat):
                    yield KEEPALIVE
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
        self._hub = hub
        self._bell = Bell()
        self._closed = False
        self._lifecycle = session.status["lifecycle"]

    def changed(self) -> None:
        """Wake the readers; tell the list when the session's lifecycle is another."""
        self._bell.ring()
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
        self._bell.ring()

    @property
    def behind(self) -> bool:
        """Does any reader not have everything yet?"""
        return any(reader.position != self.session.cursor for reader in self.readers)

    async def settled(self, interaction_id: str, seconds: float) -> str | None:
        """Wait for how something claimed is settled, so long at most."""
        with anyio.move_on_after(seconds):
            while interaction_id in self.session.claimed:
                await self._bell.wait(seconds)
        if interaction_id in self.session.claimed:
            return None
        return self.session.settled.get(interaction_id)

    async def read(self, position: int | None) -> AsyncIterator[bytes]:
        """Give all after a position (None: from a snapshot on), until closed."""
        reader = Reader(position)
        self.readers.add(reader)
        try:
            yield OPENED
            while True:
                for part in self._news(reader):
                    yield part
                if self._closed:
                    return
                if not await self._bell.wait(self._hub.heartbeat):
                    yield KEEPALIVE
        finally:
            self.readers.discard(reader)

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
                frames = session.log.after(at, CHUNK)
                at += len(frames)
                joined = b"".join(frames)
                for start in range(0, len(joined), 4 * CHUNK):
                    yield joined[start : start + 4 * CHUNK]
            reader.position = at
