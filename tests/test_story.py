"""What the agent has said about its own run."""

from __future__ import annotations

import pytest

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    RunResumed,
    SessionStarted,
    SubagentUpdated,
    ToolStarted,
    TurnStarted,
)
from agent_wrap.story import NOTICES, Story

FIRST, SECOND = RunFinished(ok=True), RunFinished(ok=False, message="no")


def story(*events: Event) -> Story:
    made = Story()
    for event in events:
        made.apply(event)
    return made


@pytest.mark.parametrize(
    ("events", "final"),
    [
        ([], None),
        ([FIRST], FIRST),
        ([FIRST, SECOND], SECOND),
        # Late entries do not take the end back, nor does waking up; a new answer does.
        ([FIRST, Message("late"), ToolStarted("t", "x"), Notice("n")], FIRST),
        ([FIRST, TurnStarted("2")], None),
        ([FIRST, SessionStarted()], FIRST),
        ([FIRST, RunResumed()], None),
        ([FIRST, TurnStarted("2"), SECOND], SECOND),
    ],
)
def test_the_final_event_that_counts(
    events: list[Event], final: RunFinished | None
) -> None:
    assert story(*events).final == final


def test_the_session_is_what_was_told_first_and_what_was_added() -> None:
    told = story(
        SessionStarted(session_id="s1", model="m1"),
        SessionStarted(session_id="s2", cwd="/w", agent_version="1.0"),
    )
    assert told.session == SessionStarted("s1", "m1", "/w", "", "1.0")


def test_background_tasks_are_open_until_they_end() -> None:
    made = story(SubagentUpdated("a", "running"), SubagentUpdated("b", "running"))
    assert made.background == {"a", "b"}
    for ended in (
        SubagentUpdated("a", "completed"),
        SubagentUpdated("b", "failed"),
        SubagentUpdated("never seen", "stopped"),
    ):
        made.apply(ended)
    assert made.background == set()


def test_the_last_notices_are_kept() -> None:
    made = story(*(Notice(str(n)) for n in range(NOTICES + 5)))
    assert list(made.notices) == [str(n) for n in range(5, NOTICES + 5)]
