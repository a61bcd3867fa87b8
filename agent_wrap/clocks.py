"""Which limit of time is due. Pure: every method takes `now`, monotonic seconds."""

from __future__ import annotations

from collections.abc import Collection

from agent_wrap.events import PROGRESS, Event, Notice, Send, Unknown, Unparsed
from agent_wrap.outcome import Cause

_NO_EVENT: frozenset[type[Event]] = frozenset({Unparsed, Unknown, Notice, Send})
_PROGRESS: frozenset[type[Event]] = frozenset(PROGRESS)


class Clocks:
    """The clocks of one run; None is no limit.

    The wall clock runs from our own start, the others from the agent's. Idle stands
    still while a tool runs or a person is asked; the result grace restarts with each
    event and stands still while a background task is open.
    """

    def __init__(
        self,
        *,
        started: float,
        spawned: float,
        timeout: float | None,
        first_output: float | None,
        idle: float | None,
        result_grace: float,
    ) -> None:
        self.timeout = timeout
        self.first_output = first_output
        self.idle = idle
        self.result_grace = result_grace
        self.first_event_at: float | None = None
        self.last_progress = spawned
        self._started = started
        self._spawned = spawned
        self._last_event = spawned

    def apply(self, kinds: Collection[type[Event]], now: float) -> None:
        """Take note of the kinds of events that came at one moment."""
        if not kinds:
            return
        self._last_event = now
        if not _PROGRESS.isdisjoint(kinds):
            self.last_progress = now
        if self.first_event_at is None and not _NO_EVENT.issuperset(kinds):
            self.first_event_at = now

    def due(
        self, now: float, *, busy: bool, finished: bool, background: bool
    ) -> tuple[Cause, float] | None:
        """Give the limit that has been reached, with its value.

        `busy`: a tool is open or a person is asked; `finished`: the agent reported
        its end; `background`: one of its background tasks is open.
        """
        if busy:
            self.last_progress = now
        if background:
            self._last_event = now
        if self.timeout is not None and now - self._started >= self.timeout:
            return Cause.TIMEOUT, self.timeout
        if finished:
            if now - self._last_event >= self.result_grace:
                return Cause.RESULT_GRACE, self.result_grace
            return None
        if (
            self.first_output is not None
            and self.first_event_at is None
            and now - self._spawned >= self.first_output
        ):
            return Cause.FIRST_OUTPUT, self.first_output
        if self.idle is not None and now - self.last_progress >= self.idle:
            return Cause.IDLE, self.idle
        return None

    def until_next(self, now: float, longest: float) -> float:
        """Give how long nothing can become due, at most `longest` seconds."""
        ends = [now + longest]
        if self.timeout is not None:
            ends.append(self._started + self.timeout)
        if self.first_output is not None and self.first_event_at is None:
            ends.append(self._spawned + self.first_output)
        if self.idle is not None:
            ends.append(self.last_progress + self.idle)
        return max(min(ends) - now, 0.001)
