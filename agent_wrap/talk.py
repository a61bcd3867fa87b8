"""The agent's standard input: the prompt, and what a two-way agent is told.

What the adapter wants sent goes out in order, and never blocks the reading of what
the agent says meanwhile. What it asks is answered by the policy of the run, or by
whoever settles it in time. The input ends with the agent's final event: later, where
its background tasks may still ask.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from agent_wrap.asked import Asked
from agent_wrap.entries import Entry
from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    Event,
    InteractionResolved,
    QuestionAsked,
    RunFinished,
    Send,
)
from agent_wrap.story import Story

CHUNK = 1 << 16
LINGER = 5.0
"""Seconds that a finished agent's input stays open while its background is silent."""
LEAVE = 1.0
"""Seconds that an agent may take to say that it was cancelled: the end of its input
would stop some of them before that."""


class Talk:
    """Our side of the conversation over one descriptor.

    `story` is what the agent has told of its run so far; `answer(id, resolution)` asks
    the adapter to answer; `fail(what)` ends the run. With the policy `ask`, questions
    wait for `settle`, `ask_timeout` seconds at most.
    """

    def __init__(
        self,
        fd: int,
        *,
        two_way: bool,
        policy: str,
        story: Story,
        answer: Callable[[str, str, Mapping[str, Any] | None], None],
        fail: Callable[[str], None],
        ask_timeout: float = 600.0,
    ) -> None:
        self.asked = Asked(ask_timeout)
        """What waits for `settle`."""
        self._fd = fd
        self._two_way = two_way
        self._policy = policy
        self._story = story
        self._answer = answer
        self._fail = fail
        self._waiting: deque[bytes] = deque()
        self._to_decide: deque[Event] = deque()
        self._closing = not two_way
        self._leave_at: float | None = None
        self._news = anyio.Event()

    def send(self, data: bytes) -> None:
        """Send bytes to the agent, after all that was sent before."""
        self._waiting.append(data)
        self._news.set()

    def close(self) -> None:
        """End the agent's input once all has been sent."""
        self._closing = True
        self._news.set()

    def settle(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> bool:
        """Answer what waits; false: it does not wait (any longer)."""
        waited = self.asked.settle(interaction_id)
        if waited:
            self._answer(interaction_id, resolution, content)
        return waited

    def nobody_answers(self) -> None:
        """Deny what waits, and whatever will be asked."""
        self._policy = "deny"
        self._to_decide.extend(self.asked.settle_all())
        self._news.set()

    def leave(self) -> None:
        """End the agent's input with its next final event, or soon."""
        self._leave_at = time.monotonic() + LEAVE
        if not self._waiting or self._story.final is not None:
            self._closing = True
        self._news.set()

    def watch(self, event: Event | None, new: list[Entry]) -> None:
        """Take note of what an event asks of us (a recorder's watcher)."""
        if not self._two_way:
            return
        if isinstance(event, Send):
            self._waiting.append(event.data)
        elif isinstance(event, ApprovalAsked) and self._policy == "fail":
            self._fail(event.tool_name)
        elif isinstance(event, ApprovalAsked | QuestionAsked | ElicitationAsked):
            if self._policy == "ask":
                self.asked.add(event, time.monotonic())
            else:
                self._to_decide.append(event)
        elif isinstance(event, InteractionResolved):
            self.asked.settle(event.id)
        elif isinstance(event, RunFinished):
            # What runs in the background may wake the agent up, and it may ask again.
            waits = self._story.background and self._leave_at is None
            self._closing = self._closing or not waits
        self._news.set()

    async def run(self) -> None:
        """Send and answer until the input is closed or the agent reads no more."""
        os.set_blocking(self._fd, False)
        try:
            while True:
                self._news = anyio.Event()
                self._to_decide.extend(self.asked.due(time.monotonic()))
                while self._to_decide:
                    self._decide(self._to_decide.popleft())
                while self._waiting:
                    await self._write(self._waiting.popleft())
                if self._closing and not self._to_decide:
                    return
                await self._rest()
        except OSError:  # the agent does not read its stdin
            pass
        finally:
            self.asked.settle_all()  # nothing could be answered any more
            os.close(self._fd)

    async def _rest(self) -> None:
        """Wait for news, for the end of a question's time, or of the input's."""
        closes = self._patience()
        expires = self.asked.until_next(time.monotonic())
        ends = [seconds for seconds in (closes, expires) if seconds is not None]
        with anyio.move_on_after(min(ends) if ends else None) as patience:
            await self._news.wait()
        if patience.cancelled_caught and closes is not None:
            self._closing = self._closing or expires is None or closes <= expires

    def _patience(self) -> float | None:
        """Give how long the input stays open if nothing comes."""
        if self._leave_at is not None:
            return max(self._leave_at - time.monotonic(), 0)
        return LINGER if self._story.final is not None and not self.asked else None

    async def _write(self, data: bytes) -> None:
        while data:
            await anyio.wait_writable(self._fd)
            data = data[os.write(self._fd, data[:CHUNK]) :]

    def _decide(self, event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            allowed = self._policy == "allow"
            self._answer(event.id, "approved" if allowed else "denied", None)
        elif isinstance(event, QuestionAsked | ElicitationAsked):
            self._answer(event.id, "cancelled", None)  # nobody is there to answer
