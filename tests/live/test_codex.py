"""Codex under the wrapper: real program, scripted model.

Owns what must hold for the program as it is installed; the recordings hold for the
versions that were recorded.
"""

from __future__ import annotations

import signal

import pytest

from .conftest import Prepare
from .harness import Outcome
from .scripted_model import Model

pytestmark = pytest.mark.live

PROMPT = "Please do the scripted thing."
FLAGS = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
COMMAND = ("codex", "exec", "--json", *FLAGS, PROMPT)

# Its stream does not show the calls of the model: turns are the texts it said.
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
        "success", 0, 1, (2001, 201), ["The command failed."], [("bash", "error")]
    ),
    "parallel": Outcome(
        "success",
        0,
        2,
        (2001, 201),
        ["Two commands at once.", "Both are done."],
        [("bash", "success"), ("bash", "success")],
    ),
    "err401": Outcome("error", 1, 0, (0, 0), []),
}


@pytest.mark.parametrize("scenario", ENDINGS)
def test_what_the_model_did_is_what_the_dialog_says(
    codex: Prepare, scenario: str
) -> None:
    """The same facts as the agent's own stream, in the protocol's form."""
    run = codex(scenario).run(COMMAND)

    assert run.outcome() == ENDINGS[scenario], run.stderr
    assert run.problems() == []


def test_a_sub_agent_is_the_tools_that_steer_it(codex: Prepare) -> None:
    """Its tokens are not in the totals of the stream, its text is nowhere."""
    # Only the older models are offered this tool.
    run = codex("subagent_awaited").run((*COMMAND, "-m", "gpt-5.1-codex"))

    assert run.outcome() == Outcome(
        "success",
        0,
        2,
        (4006, 406),
        ["I delegate.", "The sub-agent counted."],
        [("spawn_agent", "success"), ("wait", "success"), ("close_agent", "success")],
    )
    assert run.entries[0]["data"]["model"] == "gpt-5.1-codex"
    assert run.problems() == []


def test_the_first_entries_say_who_was_asked_what(codex: Prepare) -> None:
    """The stream names neither model nor prompt nor folder."""
    bench = codex("text")
    run = bench.run(COMMAND, variables={"SSE_MODEL_NAME": "gpt-5.5"})

    init, prompt = run.entries[:2]
    assert (
        init["data"].items()
        >= {
            "cwd": str(bench.work),
            "model": "gpt-5.5",
            "agent": "codex",
        }.items()
    )
    assert prompt["content"] == PROMPT
    assert run.problems() == []


def test_the_stream_flag_need_not_be_given(codex: Prepare) -> None:
    """The adapter adds it."""
    run = codex("text").run(("codex", "exec", *FLAGS, PROMPT))

    assert run.outcome() == ENDINGS["text"], run.stderr
    assert run.problems() == []


def test_a_prompt_given_to_the_wrapper_reaches_the_model(
    codex: Prepare, model: Model
) -> None:
    """The command carries none: the adapter knows where it goes."""
    run = codex("text").run(COMMAND[:-1], "--prompt", PROMPT)

    assert run.outcome() == ENDINGS["text"], run.stderr
    assert run.entries[1]["content"] == PROMPT
    assert PROMPT in model.calls[0].asked
    assert run.problems() == []


def test_a_failed_tool_keeps_what_it_printed(codex: Prepare) -> None:
    """The output of a failed command is its error text."""
    run = codex("tool_fail").run(COMMAND)

    error = run.of_type("tool")[-1]["error"]
    assert "out-before" in error
    assert "err-before" in error


def test_an_api_error_is_the_message_of_the_end(codex: Prepare) -> None:
    """The last of several notices decides; none of them is a message."""
    run = codex("err401").run(COMMAND)

    assert "401" in run.entries[-1]["message"]
    assert "invalid x-api-key" in run.entries[-1]["message"]


def test_stopped_in_the_middle_of_a_tool(codex: Prepare) -> None:
    """SIGTERM to the wrapper: the tool is closed, its process gone.

    Usage comes with the end of a turn only: nothing is known of a broken one.
    """
    run = codex("long_tool").start(COMMAND)
    run.wait_for_tool("sleep 60")
    run.stop(signal.SIGTERM)

    assert run.outcome() == Outcome(
        "error", 143, 1, (0, 0), ["A long command now."], [("bash", "error")]
    )
    assert run.problems() == []
    assert run.summary["reason"] == "stopped"


def test_out_of_time_in_the_middle_of_a_tool(codex: Prepare) -> None:
    """Our own deadline: timeout, 124, the tool closed, its process gone."""
    run = codex("long_tool").run(COMMAND, "--timeout", "8")

    assert run.outcome() == Outcome(
        "timeout", 124, 1, (0, 0), ["A long command now."], [("bash", "error")]
    )
    assert run.problems() == []
    assert run.summary["reason"] == "timeout"
