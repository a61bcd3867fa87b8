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

CHUNK = 64 * 1024
"""Little enough that a flood of short lines holds up no clock and no signal."""


class Streams:
    """The open streams of one agent; `drained` is set when all have ended."""

    def __init__(self, tasks: TaskGroup, on_lost_echo: Callable[[], None]) -> None:
        self.drained = anyio.Event()
        self.last_output = time.monotonic()
        self._tasks = tasks
        self._on_lost_echo = on_lost_echo
        self._echoes: list[Echo] = []
        self._pumping: set[Echo] = set()
        self._all_taken = anyio.Event()
        self._paused: dict[int, Callable[[], None]] = {}
        self._patient = True
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
            if self._stalled() and self._patient:
                loop.remove_reader(fd)
                self._paused[fd] = readable

        loop.add_reader(fd, readable)

    def stop_waiting(self) -> None:
        """The agent is gone: read what it left, whatever our readers do."""
        self._patient = False
        self._resume()

    def add_echo(self, echo: Echo) -> None:
        """Take care of one more output of ours at the end."""
        self._echoes.append(echo)

    async def flush(self) -> None:
        """Give our readers what still waits for them, within their patience."""
        if self._stalled():
            await self._all_taken.wait()
        for echo in self._echoes:
            echo.close()

    def _end(self, fd: int) -> None:
        os.close(fd)
        self._open -= 1
        if not self._open:
            self.drained.set()

    def _stalled(self) -> bool:
        """Is any of our readers behind? Each that is gets a pump."""
        for echo in self._echoes:
            if echo.stalled and echo not in self._pumping:
                if not self._pumping:
                    self._all_taken = anyio.Event()
                self._pumping.add(echo)
                self._tasks.start_soon(self._pump, echo)
        return bool(self._pumping)

    async def _pump(self, echo: Echo) -> None:
        """Give a reader what waits for it, until it has all or takes nothing."""
        while echo.stalled:
            with anyio.move_on_after(echo.patience) as scope:
                await anyio.wait_writable(echo.fd)
            if scope.cancelled_caught:
                echo.lose()
                self._on_lost_echo()
            echo.flush()
        self._pumping.discard(echo)
        if not self._pumping:
            self._all_taken.set()
            self._resume()

    def _resume(self) -> None:
        loop = asyncio.get_running_loop()
        paused, self._paused = self._paused, {}
        for fd, readable in paused.items():
            loop.add_reader(fd, readable)


async def _raise(error: Exception) -> None:
    """Bring an error out of a callback, where the loop would only log it."""
    raise error
