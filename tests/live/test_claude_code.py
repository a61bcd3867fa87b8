"""Claude Code under the wrapper: what is true of it alone."""

from __future__ import annotations

import signal

import pytest

from .agents import CLAUDE_CODE
from .conftest import Prepare

pytestmark = pytest.mark.live

STREAM = ("--output-format", "stream-json", "--verbose")


@pytest.mark.parametrize(
    "flags",
    [STREAM, (*STREAM, "--include-partial-messages")],
    ids=["stream", "partial"],
)
def test_flags_of_the_caller_change_nothing(
    claude_code: Prepare, flags: tuple[str, ...]
) -> None:
    """Partial messages repeat each text in pieces: it must still be there once."""
    run = claude_code("tool_ok").run((*CLAUDE_CODE.command, *flags))

    assert run.outcome() == CLAUDE_CODE.endings["tool_ok"], run.stderr
    assert run.summary["agent_version"], run.summary
    assert run.problems() == []


def test_results_belong_to_their_tools(claude_code: Prepare) -> None:
    """The second command ends before the first one does."""
    run = claude_code("parallel").run(CLAUDE_CODE.command)

    tools = run.of_type("tool")
    commands = {t["tool_id"]: t["args"]["command"] for t in tools if "args" in t}
    ended = [t for t in tools if t["status"] == "success"]
    assert {commands[t["tool_id"]]: t["result"].strip() for t in ended} == {
        "echo first; sleep 0.5": "first",
        "echo second": "second",
    }
    assert run.problems() == []


def test_a_good_end_after_the_signal_undoes_nothing(claude_code: Prepare) -> None:
    """Told to stop while it lists the tool as a task, it may still succeed.

    It kills the tool, asks the model once more and can exit 0 with a good result:
    whether it gets that far is its own race, what the run was is not.
    """
    run = claude_code("late_answer").start(CLAUDE_CODE.command)
    run.until(lambda: b'"task_started"' in run.stdout, "the tool's task")
    run.stop(signal.SIGTERM)

    outcome = run.outcome()
    assert (outcome.status, outcome.code) == ("error", 143)
    assert outcome.tools == [("Bash", "error")]
    assert outcome.messages[0] == "A long command now."
    assert run.problems() == []
    assert run.summary["reason"] == "stopped"
