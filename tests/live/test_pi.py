"""Pi under the wrapper: real program, scripted model.

Owns what must hold for the program as it is installed; the recordings hold for the
versions that were recorded.
"""

from __future__ import annotations

import os
import signal

import pytest

from .conftest import Prepare
from .harness import Outcome, Run
from .scripted_model import Model

pytestmark = pytest.mark.live

PROMPT = "Please do the scripted thing."
FLAGS = ("--provider", "scripted", "--model", "scripted")
COMMAND = ("pi", *FLAGS, "-p", PROMPT)

ENDINGS = {
    "text": Outcome("success", 0, 1, (1000, 100), ["The answer is 42."]),
    "tool_ok": Outcome(
        "success",
        0,
        2,
        (2001, 201),
        ["I will run echo.", "The command printed a greeting."],
        [("bash", "success")],
    ),
    "tool_fail": Outcome(
        "success", 0, 2, (2001, 201), ["The command failed."], [("bash", "error")]
    ),
    "parallel": Outcome(
        "success",
        0,
        2,
        (2001, 201),
        ["Two commands at once.", "Both are done."],
        [("bash", "success"), ("bash", "success")],
    ),
    # It exits 0 then: the stream tells.
    "err401": Outcome("error", 1, 0, (0, 0), []),
}


@pytest.mark.parametrize("scenario", ENDINGS)
def test_what_the_model_did_is_what_the_dialog_says(pi: Prepare, scenario: str) -> None:
    """The caller adds no stream flags: the adapter does."""
    run = pi(scenario).run(COMMAND)

    assert run.outcome() == ENDINGS[scenario], run.stderr
    assert run.problems() == []


def test_an_api_error_is_the_message_of_the_end(pi: Prepare) -> None:
    run = pi("err401").run(COMMAND)

    assert "invalid x-api-key" in run.entries[-1]["message"]


def test_a_prompt_given_to_the_wrapper_reaches_the_model(
    pi: Prepare, model: Model
) -> None:
    """The command carries none: it goes in by stdin."""
    run = pi("text").run(("pi", *FLAGS, "-p"), "--prompt", PROMPT)

    assert run.outcome() == ENDINGS["text"], run.stderr
    init, prompt = run.entries[:2]
    assert (init["data"]["model"], init["data"]["agent"]) == ("scripted", "pi")
    assert prompt["content"] == PROMPT
    assert PROMPT in model.calls[0].asked
    assert run.problems() == []


def test_cost_is_the_agents_own(pi: Prepare) -> None:
    run = pi("tool_ok").run(COMMAND)

    assert run.summary["cost_usd"] == pytest.approx((2001 + 2 * 201) / 1e6)


def cut_off(code: int) -> Outcome:
    return Outcome(
        "error", code, 1, (1000, 100), ["A long command now."], [("bash", "error")]
    )


def test_stopped_in_the_middle_of_a_tool(pi: Prepare) -> None:
    run = pi("long_tool").start(COMMAND)
    run.wait_for_tool("sleep 60")
    run.stop(signal.SIGTERM)

    assert run.outcome() == cut_off(143)
    assert run.problems() == []
    assert run.summary["reason"] == "stopped"


def test_killed_in_the_middle_of_a_tool(pi: Prepare) -> None:
    """Its tool's process, in a session of its own, is gone with it."""
    run = pi("long_tool").start(COMMAND)
    run.wait_for_tool("sleep 60")
    os.kill(agent_of(run), signal.SIGKILL)
    run.wait()

    assert run.outcome() == cut_off(137)
    assert run.problems() == []
    assert run.summary["reason"] == "agent_killed"


def agent_of(run: Run) -> int:
    """Give the process of Pi itself: it calls itself by its name."""
    (pid,) = [pid for pid, words in run.alive().items() if words.split()[0] == "pi"]
    return pid
