"""Copilot's JSON mode under the wrapper: real program, scripted model.

Its stdout has no tokens: they are read from the files that it leaves beside.
"""

from __future__ import annotations

import signal

import pytest

from .conftest import Prepare
from .harness import Outcome

pytestmark = pytest.mark.live

PROMPT = "Please do the scripted thing."
COMMAND = ("copilot", "--allow-all-tools", "--disable-builtin-mcps", "-p", PROMPT)

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
    "err401": Outcome("error", 1, 0, (0, 0), []),
}


@pytest.mark.parametrize("scenario", ENDINGS)
def test_what_the_model_did_is_what_the_dialog_says(
    copilot: Prepare, scenario: str
) -> None:
    run = copilot(scenario).run(COMMAND)

    assert run.outcome() == ENDINGS[scenario], run.stderr
    # Slow to start, its model is known from the environment.
    assert run.entries[0]["data"]["model"] == "scripted"
    assert run.problems() == []


def test_stopped_in_the_middle_of_a_tool(copilot: Prepare) -> None:
    """The side file has the tokens of the answer that was given."""
    run = copilot("long_tool").start(COMMAND)
    run.wait_for_tool("sleep 60")
    run.stop(signal.SIGTERM)

    assert run.outcome() == Outcome(
        "error", 143, 1, (1000, 100), ["A long command now."], [("bash", "error")]
    )
    assert run.problems() == []
