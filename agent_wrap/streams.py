"""Following the agent's stdout and stderr: taken first, then passed on.

The record never waits for our own reader; but while that reader is behind, the agent
is not read further, for a second at most (`Echo`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from agent_wrap.echo import Echo

CHUNK = 256 * 1024


class Streams:
    """The open streams of one agent; `drained` is set when all have ended."""

    def __init__(self, tasks: TaskGroup, on_lost_echo: Callable[[], None]) -> None:
        self.drained = anyio.Event()
        self.last_output = time.monotonic()
        self._tasks = tasks
        self._on_lost_echo = on_lost_echo
        self._echoes: list[Echo] = []
        self._open = 0

    def follow(self, fd: int, take: Callable[[bytes], None], echo: Echo) -> None:
        """Call `take` with all that comes from `fd`, and pass it on, until its end.

        `fd` stays registered with the loop: registering it anew for each read, as
        `anyio.wait_readable` does, costs half of the latency (docs/adr/0002).
        """
        loop = asyncio.get_running_loop()
        self._open += 1
        self._echoes.append(echo)

        def readable() -> None:
            try:
                data = os.read(fd, CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(fd)
                self._end(fd)
                return
            self.last_output = time.monotonic()
            try:
                take(data)
            except Exception as error:
                loop.remove_reader(fd)
                self._tasks.start_soon(_raise, error)
                return
            echo.write(data)
            if any(echo.stalled for echo in self._echoes):
                loop.remove_reader(fd)
                self._tasks.start_soon(self._wait_for_readers, fd, readable)

        loop.add_reader(fd, readable)

    def add_echo(self, echo: Echo) -> None:
        """Take care of one more output of ours at the end."""
        self._echoes.append(echo)

    async def flush(self) -> None:
        """Give our readers what still waits for them, within their patience."""
        for echo in self._echoes:
            while echo.stalled and await self._relieve(echo):
                pass
            echo.close()

    def _end(self, fd: int) -> None:
        os.close(fd)
        self._open -= 1
        if not self._open:
            self.drained.set()

    async def _wait_for_readers(self, fd: int, readable: Callable[[], None]) -> None:
        for echo in self._echoes:
            while echo.stalled:
                await self._relieve(echo)
        asyncio.get_running_loop().add_reader(fd, readable)

    async def _relieve(self, echo: Echo) -> bool:
        with anyio.move_on_after(echo.patience) as scope:
            await anyio.wait_writable(echo.fd)
        if scope.cancelled_caught:
            echo.lose()
            self._on_lost_echo()
            return False
        echo.flush()
        return True


async def _raise(error: Exception) -> None:
    """Bring an error out of a callback, where the loop would only log it."""
    raise error
