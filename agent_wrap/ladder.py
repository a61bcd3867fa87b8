"""Ending a run's processes: gently, then surely, on every way out.

While the agent lives: SIGTERM to its group, grace, SIGKILL to all that descend from
us. Once it is gone: drain what others still write, then SIGTERM to what is left and
50 ms later SIGKILL, until nothing is. Every wait is bounded.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import anyio

from agent_wrap import process

TERM_TO_KILL = 0.05
SECOND_SIGNAL_GRACE = 1.0
CANCEL_GRACE = 2.0
PATIENCE = 2.0
"""How long to wait for what SIGKILL has hit: only the kernel can hold it longer."""
LAST_READ = 0.5
"""How long the streams may take to end once nobody of ours holds them."""


class Ladder:
    """The way down. The events are set by others: the agent is `gone`, its streams
    are `drained`, somebody is in a `hurry` (a second stop signal)."""

    def __init__(
        self,
        agent: process.Agent,
        reap: Callable[[], None],
        *,
        kill_grace: float,
        drain_grace: float,
        drained: anyio.Event,
    ) -> None:
        self.gone = anyio.Event()
        self.hurry = anyio.Event()
        self.killed: list[dict[str, Any]] = []
        self._agent = agent
        self._reap = reap
        self._kill_grace = kill_grace
        self._drain_grace = drain_grace
        self._drained = drained

    async def end_agent(self, cancel: Callable[[], None] | None = None) -> None:
        """End the agent if it lives; `cancel` asks it by its own protocol first.

        A launcher may be gone long before the agent that it started has written its
        last lines, so the grace covers the end of its streams too.
        """
        if self.gone.is_set():
            return
        if cancel is not None:
            cancel()
            patience = min(self._kill_grace / 2, CANCEL_GRACE)
            if await self._wait(self.gone, time.monotonic() + patience):
                return
        self._agent.signal_group(signal.SIGTERM)
        end = time.monotonic() + self._kill_grace
        if await self._wait(self.gone, end):
            await self._wait(
                self._drained, min(end, time.monotonic() + self._drain_grace)
            )
            return
        self._note(process.signal_descendants(os.getpid(), signal.SIGKILL))
        if not process.can_find():
            self._agent.signal_group(signal.SIGKILL)
        await self._wait(self.gone, time.monotonic() + PATIENCE)

    async def drain(self) -> None:
        """The agent has ended by itself; others may still write to its stdout."""
        await self._wait(self._drained, time.monotonic() + self._drain_grace)

    async def sweep(self) -> None:
        """End whatever the agent left behind, and reap it."""
        us = os.getpid()
        self._reap()
        if process.signal_descendants(us, signal.SIGTERM):
            end = time.monotonic() + TERM_TO_KILL
            while process.descendants(us) and time.monotonic() < end:
                await anyio.sleep(0.002)
                self._reap()
        end = time.monotonic() + PATIENCE
        while process.descendants(us) and time.monotonic() < end:
            self._note(process.signal_descendants(us, signal.SIGKILL))
            await anyio.sleep(0.001)
            self._reap()
        await self._wait(self._drained, time.monotonic() + LAST_READ)

    def _note(self, pids: list[int]) -> None:
        known = {kill["pid"] for kill in self.killed}
        for pid in pids:
            if pid not in known:
                name = process.process_name(pid)
                self.killed.append({"pid": pid, "name": name, "signal": "SIGKILL"})

    async def _wait(self, event: anyio.Event, end: float) -> bool:
        """Wait for an event until `end`; less once somebody is in a hurry."""
        if not self.hurry.is_set():
            await self._wait_for_either(event, end)
        if self.hurry.is_set():
            end = min(end, time.monotonic() + SECOND_SIGNAL_GRACE)
        with anyio.move_on_after(max(end - time.monotonic(), 0)):
            await event.wait()
        return event.is_set()

    async def _wait_for_either(self, event: anyio.Event, end: float) -> None:
        with anyio.move_on_after(max(end - time.monotonic(), 0)):
            async with anyio.create_task_group() as group:
                for watched in (event, self.hurry):
                    group.start_soon(_cancel_on, watched, group.cancel_scope)


async def _cancel_on(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
