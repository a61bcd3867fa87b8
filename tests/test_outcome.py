"""The tables of the command line as data: how a run ended -> status, code, message."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from agent_wrap.events import RunFinished
from agent_wrap.outcome import RULES, Cause, Ending, Outcome, decide, signal_name

GOOD = RunFinished(ok=True)
BAD = RunFinished(ok=False, message="the model said no")

# What happened | Ending | status | exit code | reason | what the message names
TABLE: list[tuple[str, dict[str, Any], str, int, str, str]] = [
    (
        "good final event, exit 0",
        {"code": 0, "final": GOOD},
        "success",
        0,
        "completed",
        "",
    ),
    (
        "good final event, process hangs afterwards",
        {"cause": Cause.RESULT_GRACE, "signal": 15, "final": GOOD},
        *("success", 0, "completed", ""),
    ),
    (
        "good final event, exit n",
        {"code": 3, "final": GOOD},
        *("success", 3, "completed", "code 3"),
    ),
    (
        "good final event, then killed by a signal that was not ours",
        {"signal": 11, "final": GOOD},
        *("success", 139, "completed", "SIGSEGV"),
    ),
    (
        "final event says error, exit n",
        {"code": 4, "final": BAD},
        *("error", 4, "agent_error", "the model said no"),
    ),
    (
        "final event says error, exit 0",
        {"code": 0, "final": BAD},
        *("error", 1, "agent_error", "the model said no"),
    ),
    (
        "final event says error, killed by a signal",
        {"signal": 9, "final": BAD},
        *("error", 137, "agent_error", "the model said no"),
    ),
    (
        "final event says error, process hangs afterwards",
        {"cause": Cause.RESULT_GRACE, "signal": 15, "final": BAD},
        *("error", 1, "agent_error", "the model said no"),
    ),
    (
        "final event says error with a reason only",
        {"code": 0, "final": RunFinished(ok=False, reason="max_turns")},
        *("error", 1, "agent_error", "max_turns"),
    ),
    (
        "final event says error and nothing else",
        {"code": 0, "final": RunFinished(ok=False)},
        *("error", 1, "agent_error", "without saying which"),
    ),
    (
        "adapter promises a final event, none came, exit 0",
        {"code": 0},
        *("error", 1, "no_final_event", "final event"),
    ),
    (
        "adapter promises none, exit 0",
        {"code": 0, "promised": False},
        *("success", 0, "completed", ""),
    ),
    (
        "exit n without a final event",
        {"code": 5},
        *("error", 5, "agent_exit", "code 5 without a final event"),
    ),
    (
        "exit n, no final event promised",
        {"code": 5, "promised": False},
        *("error", 5, "agent_exit", "code 5"),
    ),
    (
        "killed by signal n",
        {"signal": 9},
        *("error", 137, "agent_killed", "SIGKILL"),
    ),
    (
        "killed by signal n, the kernel counted out of memory",
        {"signal": 9, "out_of_memory": True},
        *("error", 137, "out_of_memory", "SIGKILL: out of memory"),
    ),
    (
        "wall clock",
        {"cause": Cause.TIMEOUT, "signal": 15, "limit": 3600.0},
        *("timeout", 124, "timeout", "3600 s"),
    ),
    (
        "no first output",
        {"cause": Cause.FIRST_OUTPUT, "signal": 15, "limit": 0.5},
        *("timeout", 124, "first_output_timeout", "0.5 s"),
    ),
    (
        "idle",
        {"cause": Cause.IDLE, "code": 0, "limit": 60},
        *("timeout", 124, "idle_timeout", "60 s"),
    ),
    (
        "limit of turns",
        {"cause": Cause.TURNS, "signal": 15, "limit": 8},
        *("error", 1, "turn_limit", "more than 8 turns"),
    ),
    (
        "limit of tokens",
        {"cause": Cause.TOKENS, "signal": 15, "limit": 2_000_000},
        *("error", 1, "token_limit", "more than 2000000 tokens"),
    ),
    (
        "limit of cost",
        {"cause": Cause.COST, "signal": 15, "limit": 0.1},
        *("error", 1, "cost_limit", "more than 0.1 USD"),
    ),
    (
        "permission asked under `fail`",
        {"cause": Cause.PERMISSION, "signal": 15, "detail": "Bash"},
        *("error", 1, "permission", "Bash"),
    ),
    (
        "wrapper told to stop by signal n",
        {"cause": Cause.STOPPED, "signal": 15, "stop_signal": signal.SIGTERM},
        *("error", 143, "stopped", "SIGTERM"),
    ),
    (
        "wrapper told to stop, the agent flushed and left with 0",
        {"cause": Cause.STOPPED, "code": 0, "stop_signal": signal.SIGINT},
        *("error", 130, "stopped", "SIGINT"),
    ),
    (
        "wrapper itself killed",
        {"cause": Cause.WRAPPER_KILLED, "stop_signal": signal.SIGKILL},
        *("error", 137, "wrapper_killed", "SIGKILL"),
    ),
    (
        "wrapper itself killed, nobody knows how",
        {"cause": Cause.WRAPPER_KILLED},
        *("error", 137, "wrapper_killed", "SIGKILL"),
    ),
    (
        "command not found",
        {"cause": Cause.SPAWN_FAILED, "detail": "nope: not found"},
        *("error", 127, "spawn_failed", "nope: not found"),
    ),
    (
        "command cannot be executed",
        {"cause": Cause.SPAWN_FAILED, "spawn_code": 126, "detail": "x: permission"},
        *("error", 126, "spawn_failed", "x: permission"),
    ),
    (
        "internal error, whatever the agent said",
        {"cause": Cause.INTERNAL, "code": 0, "final": GOOD, "detail": "KeyError: 'a'"},
        *("error", 125, "internal", "KeyError: 'a'"),
    ),
    # The first cause wins: what was read before a limit or a signal decides.
    (
        "good final event, then the wall clock",
        {"cause": Cause.TIMEOUT, "signal": 15, "final": GOOD, "limit": 1},
        *("success", 0, "completed", ""),
    ),
    (
        "a stop signal during the result grace",
        {"cause": Cause.STOPPED, "signal": 15, "stop_signal": 15, "final": GOOD},
        *("success", 0, "completed", ""),
    ),
    (
        "bad final event, then the wall clock",
        {"cause": Cause.TIMEOUT, "signal": 15, "final": BAD, "limit": 1},
        *("error", 1, "agent_error", "the model said no"),
    ),
    (
        "a limit, then the agent exits with a code of its own",
        {"cause": Cause.TIMEOUT, "code": 7, "limit": 1},
        *("timeout", 124, "timeout", "1 s"),
    ),
    (
        "a limit, then the kernel takes the agent",
        {"cause": Cause.TURNS, "signal": 9, "out_of_memory": True, "limit": 1},
        *("error", 1, "turn_limit", "1 turns"),
    ),
    # --strict: only an otherwise good end changes.
    (
        "strict, unknown events, good end",
        {"code": 0, "final": GOOD, "unknown": ("novel", "odd")},
        *("success", 3, "completed", "novel, odd"),
    ),
    (
        "strict, unknown events, the agent's own code",
        {"code": 4, "final": GOOD, "unknown": ("novel",)},
        *("success", 4, "completed", "code 4"),
    ),
    (
        "strict, unknown events, an error",
        {"code": 0, "final": BAD, "unknown": ("novel",)},
        *("error", 1, "agent_error", "the model said no"),
    ),
]


@pytest.mark.parametrize(
    ("facts", "status", "code", "reason", "names"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_the_table(
    facts: dict[str, Any], status: str, code: int, reason: str, names: str
) -> None:
    outcome = decide(Ending(**facts))
    assert (outcome.status, outcome.exit_code, outcome.reason) == (status, code, reason)
    if names:
        assert names in outcome.message
    else:
        assert outcome.message == ""


def test_every_rule_is_in_the_table() -> None:
    endings = [Ending(**row[1]) for row in TABLE]
    first = [next(rule for rule in RULES if rule.when(ending)) for ending in endings]
    assert {id(rule) for rule in first} == {id(rule) for rule in RULES}


@pytest.mark.parametrize("code", [1, 2, 3, 42, 124, 125, 255])
def test_the_agents_own_code_is_passed_through(code: int) -> None:
    for facts in ({}, {"promised": False}, {"final": GOOD}, {"final": BAD}):
        assert decide(Ending(code=code, **facts)).exit_code == code


@pytest.mark.parametrize("number", [1, 2, 9, 11, 15, 34])
def test_a_signal_is_128_more(number: int) -> None:
    for facts in ({}, {"promised": False}, {"final": GOOD}, {"final": BAD}):
        assert decide(Ending(signal=number, **facts)).exit_code == 128 + number
    stopped = Ending(cause=Cause.STOPPED, stop_signal=number)
    assert decide(stopped).exit_code == 128 + number


def test_open_tools_are_told_why_they_have_no_result() -> None:
    def text(ending: Ending) -> str:
        return decide(ending).unfinished

    assert text(Ending(code=0, final=GOOD)) == Outcome("success", 0, "").unfinished
    assert "timed out" in text(Ending(cause=Cause.IDLE))
    assert "killed" in text(Ending(signal=9))
    assert "stopped" in text(Ending(cause=Cause.STOPPED, stop_signal=15))


def test_signal_name() -> None:
    assert signal_name(15) == "SIGTERM"
    assert signal_name(99) == "signal 99"
