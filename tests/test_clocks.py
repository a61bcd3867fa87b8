"""Which limit of time is due: pure, so every moment is written down."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap import events
from agent_wrap.clocks import Clocks
from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    Unknown,
    Unparsed,
    Usage,
)
from agent_wrap.outcome import Cause

START, SPAWN = 100.0, 101.0


def clocks(**limits: Any) -> Clocks:
    given: dict[str, Any] = {
        "timeout": None,
        "first_output": None,
        "idle": None,
        "result_grace": 10.0,
    }
    return Clocks(started=START, spawned=SPAWN, **(given | limits))


def due(
    some: Clocks,
    now: float,
    *,
    busy: bool = False,
    finished: bool = False,
    background: bool = False,
) -> tuple[Cause, float] | None:
    return some.due(now, busy=busy, finished=finished, background=background)


def test_no_limit_is_never_due() -> None:
    assert due(clocks(), 1e9) is None
    assert clocks().until_next(SPAWN, 0.25) == 0.25


def test_the_wall_clock_runs_from_our_own_start() -> None:
    some = clocks(timeout=5.0)
    assert due(some, START + 4.999) is None
    assert due(some, START + 5) == (Cause.TIMEOUT, 5.0)
    some.apply([Message], START + 4.9)
    assert due(some, START + 5, busy=True, background=True) == (Cause.TIMEOUT, 5.0)
    assert due(some, START + 5, finished=True) == (Cause.TIMEOUT, 5.0)


NOTHING: list[Event] = [
    Unparsed(b"", ""),
    Unknown("x"),
    Notice("retrying"),
    events.Send(b""),
]


def test_first_output() -> None:
    some = clocks(first_output=3.0)
    assert due(some, SPAWN + 2.999) is None
    assert due(some, SPAWN + 3) == (Cause.FIRST_OUTPUT, 3.0)
    for event in NOTHING:
        some.apply([type(event)], SPAWN + 1)
    assert due(some, SPAWN + 3) == (Cause.FIRST_OUTPUT, 3.0)
    some.apply([Usage], SPAWN + 2)
    assert some.first_event_at == SPAWN + 2
    assert due(some, 1e9) is None


def test_idle() -> None:
    some = clocks(idle=2.0)
    assert due(some, SPAWN + 1.999) is None
    assert due(some, SPAWN + 2) == (Cause.IDLE, 2.0)
    some.apply([Message], SPAWN + 1)
    assert due(some, SPAWN + 2.999) is None
    for event in (*NOTHING, Usage()):
        some.apply([type(event)], SPAWN + 2.5)
    assert due(some, SPAWN + 3) == (Cause.IDLE, 2.0)


@pytest.mark.parametrize("kind", events.PROGRESS)
def test_progress(kind: type[Event]) -> None:
    some = clocks(idle=2.0)
    some.apply([kind], SPAWN + 1.5)
    assert some.last_progress == SPAWN + 1.5


def test_idle_stands_still_while_busy() -> None:
    some = clocks(idle=2.0)
    for second in range(1, 50):
        assert due(some, SPAWN + second, busy=True) is None
    assert due(some, SPAWN + 50.9) is None
    assert due(some, SPAWN + 51) == (Cause.IDLE, 2.0)


def test_the_result_grace_restarts_with_each_event() -> None:
    some = clocks(idle=1.0, first_output=1.0)
    some.apply([RunFinished], SPAWN + 1)
    assert due(some, SPAWN + 10.999, finished=True) is None  # nor is idle
    assert due(some, SPAWN + 11, finished=True) == (Cause.RESULT_GRACE, 10.0)
    some.apply([Notice], SPAWN + 5)
    assert due(some, SPAWN + 14.999, finished=True) is None
    assert due(some, SPAWN + 15, finished=True) == (Cause.RESULT_GRACE, 10.0)


def test_the_result_grace_stands_still_for_background_tasks() -> None:
    some = clocks()
    some.apply([RunFinished], SPAWN)
    assert due(some, SPAWN + 60, finished=True, background=True) is None
    assert due(some, SPAWN + 69.9, finished=True) is None
    assert due(some, SPAWN + 70, finished=True) == (Cause.RESULT_GRACE, 10.0)


def test_how_long_nothing_is_due() -> None:
    some = clocks(timeout=5.0, first_output=2.0, idle=3.0)
    assert some.until_next(SPAWN, 60) == 2.0
    some.apply([Message], SPAWN + 0.5)
    assert some.until_next(SPAWN + 1, 60) == 2.5
    some.apply([Message], SPAWN + 2)
    assert some.until_next(SPAWN + 2, 60) == 2.0
    assert 0 < some.until_next(SPAWN + 60, 60) <= 0.001  # overdue: at once
    assert some.until_next(SPAWN + 2, 0.25) == 0.25
