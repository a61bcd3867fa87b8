"""Claude Code under the wrapper: real program, scripted model.

Owns what must hold for the program as it is installed; the recordings hold for the
versions that were recorded.
"""

from __future__ import annotations

import signal

import pytest

from .conftest import KEY, Prepare
from .harness import Outcome
from .scripted_model import Model

pytestmark = pytest.mark.live

PROMPT = "Please do the scripted thing."
MODEL = "claude-sonnet-4-5"
FLAGS = ("--model", MODEL, "--dangerously-skip-permissions")
COMMAND = ("claude", "-p", PROMPT, *FLAGS)
STREAM = ("--output-format", "stream-json", "--verbose")

ENDINGS = {
    "text": Outcome("success", 0, 1, (1000, 100), ["The answer is 42."]),
    "tool_ok": Outcome(
        "success",
        0,
        2,
        (2001, 201),
        ["I will run echo.", "The command printed a greeting."],
        [("Bash", "success")],
    ),
    "tool_fail": Outcome(
        "success", 0, 2, (2001, 201), ["The command failed."], [("Bash", "error")]
    ),
    "parallel": Outcome(
        "success",
        0,
        2,
        (2001, 201),
        ["Two commands at once.", "Both are done."],
        [("Bash", "success"), ("Bash", "success")],
    ),
    # The sub-agent's two calls (500 and 501 in, 50 and 51 out) are in its totals,
    # its turns and its text are not the main assistant's.
    "subagent": Outcome(
        "success",
        0,
        2,
        (3002, 302),
        ["I delegate.", "The sub-agent counted."],
        [("Agent", "success"), ("Agent/Bash", "success")],
    ),
    "err401": Outcome("error", 1, 0, (0, 0), []),
}


@pytest.mark.parametrize("scenario", ENDINGS)
def test_what_the_model_did_is_what_the_dialog_says(
    claude_code: Prepare, scenario: str
) -> None:
    """The caller adds no stream flags: the adapter does."""
    run = claude_code(scenario).run(COMMAND)

    assert run.outcome() == ENDINGS[scenario], run.stderr
    assert run.problems() == []


@pytest.mark.parametrize(
    "flags",
    [STREAM, (*STREAM, "--include-partial-messages")],
    ids=["stream", "partial"],
)
def test_flags_of_the_caller_change_nothing(
    claude_code: Prepare, flags: tuple[str, ...]
) -> None:
    """Partial messages repeat each text in pieces: it must still be there once."""
    run = claude_code("tool_ok").run((*COMMAND, *flags))

    assert run.outcome() == ENDINGS["tool_ok"], run.stderr
    assert run.problems() == []


def test_the_first_entries_say_who_was_asked_what(claude_code: Prepare) -> None:
    """Model and prompt are read from the command."""
    bench = claude_code("text")
    run = bench.run(COMMAND, "--task", "task-1")

    init, prompt = run.entries[:2]
    assert init["data"] == {
        "task": "task-1",
        "cwd": str(bench.work),
        "model": MODEL,
        "agent": "claude-code",
    }
    assert prompt["content"] == PROMPT
    assert run.summary["agent_version"], run.summary
    assert run.problems() == []


def test_a_prompt_given_to_the_wrapper_reaches_the_model(
    claude_code: Prepare, model: Model
) -> None:
    """The command carries none: the adapter knows where it goes."""
    run = claude_code("text").run(("claude", "-p", *FLAGS), "--prompt", PROMPT)

    assert run.outcome() == ENDINGS["text"], run.stderr
    assert run.entries[1]["content"] == PROMPT
    assert PROMPT in model.calls[0].asked
    assert run.problems() == []


def test_results_belong_to_their_tools(claude_code: Prepare) -> None:
    """The second command ends before the first one does."""
    run = claude_code("parallel").run(COMMAND)

    tools = run.of_type("tool")
    commands = {t["tool_id"]: t["args"]["command"] for t in tools if "args" in t}
    ended = [t for t in tools if t["status"] == "success"]
    assert {commands[t["tool_id"]]: t["result"].strip() for t in ended} == {
        "echo first; sleep 0.5": "first",
        "echo second": "second",
    }
    assert run.problems() == []


def test_a_failed_tool_keeps_what_it_printed(claude_code: Prepare) -> None:
    """The output of a failed command is its error text."""
    run = claude_code("tool_fail").run(COMMAND)

    error = run.of_type("tool")[-1]["error"]
    assert "out-before" in error
    assert "err-before" in error


def test_an_api_error_is_the_message_of_the_end(claude_code: Prepare) -> None:
    """It is printed as if the model had said it, but it is no message."""
    run = claude_code("err401").run(COMMAND)

    assert "Invalid API key" in run.entries[-1]["message"]
    assert KEY.encode() not in run.dialog


@pytest.mark.parametrize(
    ("flags", "tokens_out"),
    [(STREAM, 1), ((*STREAM, "--include-partial-messages"), 100)],
    ids=["stream", "partial"],
)
def test_stopped_in_the_middle_of_a_tool(
    claude_code: Prepare, flags: tuple[str, ...], tokens_out: int
) -> None:
    """SIGTERM to the wrapper: the tool is closed, its process gone.

    Without partial messages the stream carries a placeholder for the output.
    """
    run = claude_code("long_tool").start((*COMMAND, *flags))
    run.wait_for_tool("sleep 60")
    run.stop(signal.SIGTERM)

    assert run.outcome() == Outcome(
        "error",
        143,
        1,
        (1000, tokens_out),
        ["A long command now."],
        [("Bash", "error")],
    )
    assert run.problems() == []
    assert run.summary["reason"] == "stopped"


def test_a_good_end_after_the_signal_undoes_nothing(claude_code: Prepare) -> None:
    """Told to stop while it lists the tool as a task, it may still succeed.

    It kills the tool, asks the model once more and can exit 0 with a good result:
    whether it gets that far is its own race, what the run was is not.
    """
    run = claude_code("late_answer").start(COMMAND)
    run.until(lambda: b'"task_started"' in run.stdout, "the tool's task")
    run.stop(signal.SIGTERM)

    outcome = run.outcome()
    assert (outcome.status, outcome.code) == ("error", 143)
    assert outcome.tools == [("Bash", "error")]
    assert outcome.messages[0] == "A long command now."
    assert run.problems() == []
    assert run.summary["reason"] == "stopped"


def test_out_of_time_in_the_middle_of_a_tool(claude_code: Prepare) -> None:
    """Our own deadline: timeout, 124, the tool closed, its process gone."""
    run = claude_code("long_tool").run(COMMAND, "--timeout", "8")

    assert run.outcome() == Outcome(
        "timeout", 124, 1, (1000, 100), ["A long command now."], [("Bash", "error")]
    )
    assert run.problems() == []
    assert run.summary["reason"] == "timeout"
