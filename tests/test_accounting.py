"""Turns, tokens and cost are counted by the rules, each once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import accounting
from agent_wrap.accounting import Account, Tokens
from agent_wrap.events import (
    Event,
    Message,
    Retracted,
    RunFinished,
    TurnStarted,
    Usage,
)


def account(*events: Event) -> Account:
    made = Account()
    for event in events:
        made.apply(event)
    return made


def of(message_id: str, tokens_in: int, out: int, cost: float | None = None) -> Usage:
    return Usage(input=tokens_in, output=out, cost=cost, message_id=message_id)


def total(tokens_in: int, out: int, cost: float | None = None) -> Usage:
    return Usage(input=tokens_in, output=out, cost=cost, scope="total")


def used(made: Account) -> tuple[int, int, float | None]:
    tokens = made.tokens
    return tokens.total_in, tokens.output, tokens.cost


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], (0, 0, None)),
        ([of("a", 10, 1), of("b", 20, 2)], (30, 3, None)),
        # The same message again, one for each of its blocks: the last value wins.
        ([of("a", 10, 1), of("a", 10, 1), of("a", 10, 7)], (10, 7, None)),
        ([of("a", 10, 1, 0.5), of("b", 10, 1)], (20, 2, 0.5)),
        # The agent's own total wins over the sum, whether it is more or less.
        ([of("a", 10, 1), total(100, 50)], (100, 50, None)),
        ([of("a", 10, 1), total(5, 1)], (5, 1, None)),
        ([total(5, 1), total(8, 2)], (8, 2, None)),
        # A total of zero says nothing.
        ([of("a", 10, 1), total(0, 0)], (10, 1, None)),
        ([total(9, 9), total(0, 0)], (9, 9, None)),
        # What came after the total is added; corrections of what it holds are not.
        ([of("a", 10, 1), total(100, 50), of("b", 3, 2)], (103, 52, None)),
        ([of("a", 10, 1), total(100, 50), of("a", 11, 2)], (100, 50, None)),
        # Cost: the total's where it has one, else the messages'.
        ([of("a", 10, 1, 0.5), total(100, 50, 0.75)], (100, 50, 0.75)),
        ([of("a", 10, 1, 0.5), total(100, 50)], (100, 50, 0.5)),
        ([of("a", 1, 1, 0.5), total(9, 9), of("b", 1, 1, 0.25)], (10, 10, 0.75)),
        ([of("a", 1, 1), total(9, 9, 1.0), of("b", 1, 1, 0.25)], (10, 10, 1.25)),
        ([of("a", 10, 1), total(0, 0, 0.5)], (10, 1, 0.5)),
        ([total(0, 0, 0.5)], (0, 0, 0.5)),
    ],
)
def test_usage(events: list[Event], expected: tuple[int, int, float | None]) -> None:
    assert used(account(*events)) == expected


def test_what_the_model_read_is_all_of_it() -> None:
    usage = Usage(input=1, cached=20, cache_written=300, output=4, reasoning=2)
    made = account(usage)
    assert usage.tokens_in == made.tokens.total_in == 321
    assert made.tokens == Tokens(1, 20, 300, 4, 2)


def test_the_final_event_reports_totals_and_turns() -> None:
    made = account(
        of("a", 10, 1), RunFinished(ok=True, totals=total(30, 3, 0.1), turns=7)
    )
    assert used(made) == (30, 3, 0.1)
    assert made.messages == Tokens(input=10, output=1)
    assert made.reported == Tokens(input=30, output=3, cost=0.1)
    assert made.reported_turns == 7
    assert made.turns == 0


def test_turns_are_distinct_answers() -> None:
    made = account(*(TurnStarted(id) for id in ("a", "a", "b", "a")), Message("x", "c"))
    assert made.turns == 2


def test_a_retracted_answer_is_no_turn_and_may_come_again() -> None:
    made = account(TurnStarted("a"), TurnStarted("b"), Retracted(("a", "never")))
    assert made.turns == 1
    made.apply(Retracted(("a",)))
    assert made.turns == 1
    made.apply(TurnStarted("a"))
    assert made.turns == 2


def test_usage_of_one_message() -> None:
    made = account(of("a", 10, 1))
    assert made.usage_of("a") == of("a", 10, 1)
    assert made.usage_of("b") is None


USAGES = st.lists(
    st.one_of(
        st.builds(
            of,
            st.integers(0, 9).map(str),
            st.integers(0, 99),
            st.integers(0, 99),
            st.none() | st.just(1.0),
        ),
        st.builds(
            total, st.integers(0, 99), st.integers(0, 99), st.none() | st.just(1.0)
        ),
    ),
    unique_by=lambda usage: usage.message_id or id(usage),
)


@given(USAGES, st.integers(1, 3))
def test_forgetting_old_messages_changes_no_figure(
    usages: list[Usage], remembered: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounting, "REMEMBERED", remembered)
        forgetful = account(*usages)
    assert len(forgetful._usages) <= 2 * remembered
    assert used(forgetful) == used(account(*usages))
    assert forgetful.messages == account(*usages).messages


def test_a_long_run_holds_a_bounded_number_of_ids() -> None:
    made = Account()
    for turn in range(accounting.REMEMBERED + 500):
        made.apply(TurnStarted(str(turn)))
        made.apply(of(str(turn), 2, 1))
    assert made.turns == accounting.REMEMBERED + 500
    assert used(made) == (2 * made.turns, made.turns, None)
    for kept in (made._turn_ids, made._usages):
        assert accounting.REMEMBERED <= len(kept) <= 2 * accounting.REMEMBERED
