"""How a run ended: what happened -> status, message and exit code, as a table.

The first cause wins: a final event that was read before a limit or a stop signal
decides, after it the limit or the signal does. `RULES` is the table of
docs/command-line.md; the first row that fits is the outcome.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Literal

from agent_wrap.events import RunFinished
from agent_wrap.values import value

Status = Literal["success", "error", "timeout"]

TIMED_OUT, WRAPPER_FAILED, STRICT = 124, 125, 3


class Cause(Enum):
    """What ended the run, in the words of `summary.json`'s `reason`."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    FIRST_OUTPUT = "first_output_timeout"
    IDLE = "idle_timeout"
    RESULT_GRACE = "result_grace"
    TURNS = "turn_limit"
    TOKENS = "token_limit"
    COST = "cost_limit"
    PERMISSION = "permission"
    STOPPED = "stopped"
    SPAWN_FAILED = "spawn_failed"
    WRAPPER_KILLED = "wrapper_killed"
    INTERNAL = "internal"


@value
class Ending:
    """The facts that an outcome is decided on.

    `code` and `signal` are how the agent process ended (None: not known, or not so);
    `final` is the last final event read before the cause; `limit` is the value of
    the limit that was hit; `stop_signal` the signal that told the wrapper to stop,
    or that killed it; `detail` says more about a failed spawn or an internal error;
    `notice` is the last thing that the agent said about itself.
    """

    cause: Cause = Cause.EXITED
    code: int | None = None
    signal: int | None = None
    final: RunFinished | None = None
    promised: bool = True
    limit: float | None = None
    stop_signal: int = 0
    detail: str = ""
    spawn_code: int = 127
    out_of_memory: bool = False
    notice: str = ""
    unknown: tuple[str, ...] = ()


@value
class Outcome:
    """How the run ended, for the dialog, the summary and the caller."""

    status: Status
    exit_code: int
    reason: str
    message: str = ""
    unfinished: str = "no result was seen before the run ended"


def signal_name(number: int) -> str:
    """Give `SIGTERM` for 15; `signal 99` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _own_exit(e: Ending) -> bool:
    return e.cause is Cause.EXITED


@value
class Rule:
    """One row: when it fits, and what it gives."""

    when: Callable[[Ending], bool]
    status: Status
    exit_code: int | Callable[[Ending], int]
    reason: str
    message: Callable[[Ending], str]
    unfinished: str = ""


def _limit_rule(
    cause: Cause, status: Status, exit_code: int, text: str, open_tools: str
) -> Rule:
    def message(e: Ending) -> str:
        return text.format(limit=f"{e.limit or 0:.15g}")  # :g says 1e+06

    return Rule(
        lambda e: e.cause is cause, status, exit_code, cause.value, message, open_tools
    )


def _good(e: Ending) -> bool:
    return e.final is not None and e.final.ok


def _bad(e: Ending) -> bool:
    return e.final is not None and not e.final.ok


def _agents_message(e: Ending) -> str:
    final = e.final
    said = "" if final is None else final.message or final.reason
    return said or "the agent reported an error without saying which"


def _agents_code(e: Ending) -> int:
    if _own_exit(e):
        return 128 + e.signal if e.signal else e.code or 1
    return 1


def _killed_message(e: Ending) -> str:
    name = signal_name(e.signal or 0)
    if e.out_of_memory:
        return f"the agent was killed by {name}: out of memory"
    return f"the agent was killed by {name}"


def _exit_message(e: Ending) -> str:
    code = e.code or 0
    # Shells and many agents turn the signal that ended them into a code.
    name = f" ({signal_name(code - 128)})" if 128 < code < 160 else ""
    tail = " without a final event" if e.promised else ""
    return f"the agent exited with code {code}{name}{tail}{_last_notice(e)}"


def _no_final_message(e: Ending) -> str:
    said = "the stream ended without the final event (result) that it promises"
    return said + _last_notice(e)


def _last_notice(e: Ending) -> str:
    return f"; it last said: {e.notice}" if e.notice else ""


RULES: tuple[Rule, ...] = (
    Rule(
        lambda e: e.cause is Cause.SPAWN_FAILED,
        "error",
        lambda e: e.spawn_code,
        "spawn_failed",
        lambda e: e.detail,
    ),
    Rule(
        lambda e: e.cause is Cause.INTERNAL,
        "error",
        WRAPPER_FAILED,
        "internal",
        lambda e: f"agent-wrap failed: {e.detail}",
    ),
    Rule(
        lambda e: _good(e) and _own_exit(e) and bool(e.signal),
        "success",
        lambda e: 128 + (e.signal or 0),
        "completed",
        lambda e: f"after its final event {_killed_message(e)}",
    ),
    Rule(
        lambda e: _good(e) and _own_exit(e) and bool(e.code),
        "success",
        lambda e: e.code or 0,
        "completed",
        lambda e: f"the agent exited with code {e.code} after its final event",
    ),
    Rule(_good, "success", 0, "completed", lambda e: ""),
    Rule(_bad, "error", _agents_code, "agent_error", _agents_message),
    _limit_rule(
        Cause.TIMEOUT,
        "timeout",
        TIMED_OUT,
        "timed out: the limit of {limit} s was reached",
        "timed out before the tool's result",
    ),
    _limit_rule(
        Cause.FIRST_OUTPUT,
        "timeout",
        TIMED_OUT,
        "timed out: no first output within {limit} s",
        "timed out before the tool's result",
    ),
    _limit_rule(
        Cause.IDLE,
        "timeout",
        TIMED_OUT,
        "timed out: idle, no progress for {limit} s",
        "timed out before the tool's result",
    ),
    _limit_rule(
        Cause.TURNS,
        "error",
        1,
        "stopped: more than {limit} turns",
        "stopped at the turn limit before the tool's result",
    ),
    _limit_rule(
        Cause.TOKENS,
        "error",
        1,
        "stopped: more than {limit} tokens",
        "stopped at the token limit before the tool's result",
    ),
    _limit_rule(
        Cause.COST,
        "error",
        1,
        "stopped: more than {limit} USD",
        "stopped at the cost limit before the tool's result",
    ),
    Rule(
        lambda e: e.cause is Cause.PERMISSION,
        "error",
        1,
        "permission",
        lambda e: f"the agent asked for permission: {e.detail}",
    ),
    Rule(
        lambda e: e.cause is Cause.STOPPED,
        "error",
        lambda e: 128 + e.stop_signal,
        "stopped",
        lambda e: e.detail or f"stopped by {signal_name(e.stop_signal)}",
        "stopped before the tool's result",
    ),
    Rule(
        lambda e: e.cause is Cause.WRAPPER_KILLED,
        "error",
        lambda e: 128 + (e.stop_signal or 9),
        "wrapper_killed",
        lambda e: (
            e.detail or f"agent-wrap was killed by {signal_name(e.stop_signal or 9)}"
        ),
        "agent-wrap was killed before the tool's result",
    ),
    Rule(
        lambda e: bool(e.signal) and e.out_of_memory,
        "error",
        lambda e: 128 + (e.signal or 0),
        "out_of_memory",
        _killed_message,
        "the agent was killed before the tool's result",
    ),
    Rule(
        lambda e: bool(e.signal),
        "error",
        lambda e: 128 + (e.signal or 0),
        "agent_killed",
        _killed_message,
        "the agent was killed before the tool's result",
    ),
    Rule(
        lambda e: bool(e.code),
        "error",
        lambda e: e.code or 1,
        "agent_exit",
        _exit_message,
    ),
    Rule(
        lambda e: e.promised,
        "error",
        1,
        "no_final_event",
        _no_final_message,
    ),
    Rule(lambda e: True, "success", 0, "completed", lambda e: ""),
)


def decide(ending: Ending) -> Outcome:
    """Give the outcome of the first rule that fits.

    With `unknown` native event types (only under `--strict`) an otherwise good end
    keeps its status, names them and returns 3.
    """
    rule = next(rule for rule in RULES if rule.when(ending))
    code = rule.exit_code if isinstance(rule.exit_code, int) else rule.exit_code(ending)
    message = rule.message(ending)
    outcome = Outcome(rule.status, code, rule.reason, message)
    if rule.unfinished:
        outcome = replace(outcome, unfinished=rule.unfinished)
    if ending.unknown and rule.status == "success" and code == 0:
        names = ", ".join(ending.unknown)
        said = f"strict: unknown native events: {names}"
        outcome = replace(outcome, exit_code=STRICT, message=said)
    return outcome
