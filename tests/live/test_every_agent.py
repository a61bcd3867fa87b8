"""What holds for each agent under the wrapper: real programs, scripted model.

Owns what must hold for the programs as they are installed; the recordings hold for
the versions that were recorded.
"""

from __future__ import annotations

import signal

import pytest

from .agents import CLAUDE_CODE, CODEX, COPILOT, EVERY, PI, PROMPT, Agent
from .conftest import KEY, Place
from .scripted_model import Model

pytestmark = pytest.mark.live

STREAM = ("--verbose", "--output-format", "stream-json")
PARTIAL = (*STREAM, "--include-partial-messages")


@pytest.mark.parametrize(
    ("agent", "scenario"),
    [(agent, scenario) for agent in EVERY for scenario in agent.endings],
    ids=str,
)
def test_what_the_model_did_is_what_the_dialog_says(
    place: Place, agent: Agent, scenario: str
) -> None:
    """The same facts from each. The caller adds no stream flags: the adapter does."""
    run = place(agent.fixture, scenario).run(agent.command)

    assert run.outcome() == agent.endings[scenario], run.stderr
    assert run.entries[0]["data"]["model"] in agent.models
    assert run.problems() == []


@pytest.mark.parametrize("agent", [CLAUDE_CODE, CODEX], ids=str)
def test_the_first_entries_say_who_was_asked_what(place: Place, agent: Agent) -> None:
    """Read from the command; what it does not name, the caller's variables do."""
    bench = place(agent.fixture, "text")
    run = bench.run(agent.command, "--task", "task-1", variables=agent.variables)

    init, prompt = run.entries[:2]
    assert init["data"] == {
        "task": "task-1",
        "cwd": str(bench.work),
        "model": agent.variables.get("SSE_MODEL_NAME", agent.models[0]),
        "agent": agent.name,
    }
    assert prompt["content"] == PROMPT
    assert run.problems() == []


@pytest.mark.parametrize("agent", [CLAUDE_CODE, CODEX, PI], ids=str)
def test_a_prompt_given_to_the_wrapper_reaches_the_model(
    place: Place, model: Model, agent: Agent
) -> None:
    """The command carries none: the adapter knows where it goes."""
    run = place(agent.fixture, "text").run(agent.unprompted, "--prompt", PROMPT)

    assert run.outcome() == agent.endings["text"], run.stderr
    init, prompt = run.entries[:2]
    assert init["data"]["agent"] == agent.name
    assert init["data"]["model"] in agent.models
    assert prompt["content"] == PROMPT
    assert PROMPT in model.calls[0].asked
    assert run.problems() == []


@pytest.mark.parametrize("agent", [CLAUDE_CODE, CODEX], ids=str)
def test_a_failed_tool_keeps_what_it_printed(place: Place, agent: Agent) -> None:
    """The output of a failed command is its error text."""
    run = place(agent.fixture, "tool_fail").run(agent.command)

    error = run.of_type("tool")[-1]["error"]
    assert "out-before" in error
    assert "err-before" in error


@pytest.mark.parametrize("agent", EVERY, ids=str)
def test_an_api_error_is_the_message_of_the_end(place: Place, agent: Agent) -> None:
    """Noticed several times, or printed as if the model had said it: no message."""
    run = place(agent.fixture, "err401").run(agent.command)

    assert agent.refusal in run.entries[-1]["message"]
    assert run.messages == []
    assert KEY.encode() not in run.dialog


@pytest.mark.parametrize(
    "agent",
    [
        # Without partial messages the stream carries a placeholder for the output.
        CLAUDE_CODE.with_flags(*STREAM, spent=(1000, 1)),
        CLAUDE_CODE.with_flags(*PARTIAL, spent=(1000, 100)),
        CODEX,
        COPILOT,
        PI,
    ],
    ids=str,
)
def test_stopped_in_the_middle_of_a_tool(place: Place, agent: Agent) -> None:
    """SIGTERM to the wrapper: the tool is closed, its process gone."""
    run = place(agent.fixture, "long_tool").start(agent.command)
    run.wait_for_tool("sleep 60")
    run.stop(signal.SIGTERM)

    assert run.outcome() == agent.cut_off("error", 143)
    assert run.problems() == []
    assert run.summary["reason"] == "stopped"


@pytest.mark.parametrize("agent", [CLAUDE_CODE, CODEX], ids=str)
def test_out_of_time_in_the_middle_of_a_tool(place: Place, agent: Agent) -> None:
    """Our own deadline: timeout, 124, the tool closed, its process gone."""
    run = place(agent.fixture, "long_tool").run(agent.command, "--timeout", "8")

    assert run.outcome() == agent.cut_off("timeout", 124)
    assert run.problems() == []
    assert run.summary["reason"] == "timeout"
