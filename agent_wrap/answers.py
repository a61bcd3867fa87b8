"""Answers to what an agent asked, as lines: how a caller gives them to a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from agent_wrap.encode import encode
from agent_wrap.jsonvalue import objects
from agent_wrap.lines import LineDecoder
from agent_wrap.values import value

PATIENCE = 10.0
"""Seconds that a run may take to read an answer."""

RESOLUTIONS = frozenset({"approved", "denied", "answered", "cancelled"})


@value
class Answer:
    """What was decided on an interaction; `content` as `Adapter.answer` takes it."""

    id: str
    resolution: str
    content: Mapping[str, Any] | None = None


def to_line(answer: Answer) -> bytes:
    """Give an answer as one line."""
    told = {"id": answer.id, "resolution": answer.resolution}
    return encode({**told, "content": answer.content})


def from_line(line: bytes) -> Answer | None:
    """Give the answer of a line that `to_line` made, or None."""
    for found in objects(line) or ():
        name, resolution = found.get("id"), found.get("resolution")
        content = found.get("content")
        if isinstance(name, str) and resolution in RESOLUTIONS:
            known = content if isinstance(content, dict) else None
            return Answer(name, str(resolution), known)
    return None


async def listen(fd: int, take: Callable[[Answer], object]) -> None:
    """Take answers until the caller has closed its end."""
    decoder = LineDecoder()
    os.set_blocking(fd, False)
    while True:
        await anyio.wait_readable(fd)
        data = os.read(fd, 1 << 16)
        for line in decoder.feed(data) if data else ():
            answer = from_line(line) if isinstance(line, bytes) else None
            if answer is not None:
                take(answer)
        if not data:
            return


class Writer:
    """The caller's end of the pipe; it owns the descriptor."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._lock = anyio.Lock()

    async def write(self, answer: Answer) -> None:
        """Give an answer to the run; one that has ended takes none."""
        data = to_line(answer)
        async with self._lock:
            # Shielded: a half line would spoil the next one.
            with anyio.move_on_after(PATIENCE, shield=True):
                while data and self._fd >= 0:
                    await anyio.wait_writable(self._fd)
                    data = self._put(data)
            if data:
                self.close()

    def close(self) -> None:
        """Give no more answers."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put(self, data: bytes) -> bytes:
        """Write what the pipe holds; give the rest."""
        if self._fd < 0:  # closed while we waited: the number may be another's now
            return b""
        try:
            return data[os.write(self._fd, data) :]
        except BrokenPipeError:
            return b""
