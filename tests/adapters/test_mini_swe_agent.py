"""mini-swe-agent's text, one trap a test. As version 2.4.6 prints it."""

from __future__ import annotations

import pytest

from agent_wrap.events import Message, Notice, ToolStarted
from agent_wrap.testing import Replay, replay
from agent_wrap_adapters.mini_swe_agent import MiniSweAgent, split

from .commands import Case, commands
from .replays import tools

RULE = "─" * 80
STEP = "\nmini-swe-agent (step {}, ${}):\n{}\n\n```\n{}\n```\n"
RESULT = "\nTool:\n<returncode>\n{}\n<output>\n{}\n\n"
SAVED = "\nSaved trajectory to 'x.json'\n"


def run(*texts: str, code: int = 0) -> Replay:
    return replay("".join(texts).encode(), MiniSweAgent(), code=code)


def step(number: int, said: str, command: str, cost: str = "0.00") -> str:
    return RULE + "\n" + STEP.format(number, cost, said, command)


class TestEnd:
    @pytest.mark.parametrize(
        "reason", ["LimitsExceeded", "TimeExceeded", "RepeatedFormatError"]
    )
    def test_only_a_submission_is_good(self, reason: str) -> None:
        ended = run(f"\nExit:\n{reason}\n", SAVED)
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        assert ended.outcome.message == f"the agent stopped: {reason}"

    @pytest.mark.parametrize("submission", ["", "patch\n", "a\n\nb\n"])
    def test_a_submission(self, submission: str) -> None:
        assert run(f"\nExit:\n{submission}", SAVED).outcome.status == "success"

    def test_an_exception_saves_nothing(self) -> None:
        ended = run("\nExit:\nlitellm.Timeout: it took\ntoo long\n", code=1)
        assert ended.outcome.status == "error"
        assert ended.outcome.message == "litellm.Timeout: it took too long"

    def test_the_end_is_promised(self) -> None:
        assert run(step(1, "a", "ls")).outcome.reason == "no_final_event"


class TestSteps:
    def test_the_command_that_submits_has_run(self) -> None:
        command = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
        text = "\n<exception_info>\naction was not executed"
        ended = run(step(1, "Done.", command), RESULT.format(-1, text))
        assert [t["status"] for t in tools(ended)] == ["running", "success"]

    @pytest.mark.parametrize(("code", "status"), [(0, "success"), (3, "error")])
    def test_status(self, code: int, status: str) -> None:
        _, result = tools(run(step(1, "a", "ls"), RESULT.format(code, "x\n\ny")))
        assert result["status"] == status
        assert (result.get("result") or result.get("error")) == "x\n\ny"

    def test_an_action_that_was_not_executed(self) -> None:
        text = "\n<exception_info>\naction was not executed"
        _, result = tools(run(step(1, "a", "ls"), RESULT.format(-1, text)))
        assert result["status"] == "error"

    def test_parallel_calls(self) -> None:
        two = step(1, "Two.", "sleep 1") + "\n```\necho b\n```\n"
        ended = run(two, RESULT.format(0, "slow"), RESULT.format(0, "fast"))
        assert [t["tool_id"] for t in tools(ended)] == [
            *("step-1-1", "step-1-2"),
            *("step-1-1", "step-1-2"),
        ]
        assert [t.get("result") for t in tools(ended)][2:] == ["slow", "fast"]
        assert ended.turns == 1

    def test_noise_between(self) -> None:
        noise = "\n\x1b[1;31mProvider List: https://x\x1b[0m\n\n"
        ended = run(RULE, "\n", noise, step(1, "Say.", "ls"), RULE, noise)
        assert ended.of_type(Message) == [Message("Say.", "step-1")]

    def test_cost(self) -> None:
        ended = run(step(1, "a", "ls", "0.02"), step(2, "b", "ls", "0.05"))
        assert ended.tokens.cost == 0.05
        assert run(step(1, "a", "ls")).tokens.cost is None

    def test_a_refused_answer_is_no_turn(self) -> None:
        task, no = "\nUser:\nPlease solve this\n", "\nUser:\nTool call error:\n\nnone\n"
        ended = run("\nSystem:\nYou are\n", task, RULE, "\n", no, RULE, "\n")
        assert ended.of_type(Notice) == [Notice("Tool call error: none")]
        assert ended.turns == 0

    def test_a_pause_shows_the_command_that_runs(self) -> None:
        mini = MiniSweAgent()
        for line in step(1, "Wait.", "sleep 45").split("\n")[:-1]:
            assert list(mini.feed_text(line)) == []
        shown = list(mini.pause())
        assert shown[-1] == ToolStarted("step-1-1", "bash", {"command": "sleep 45"})
        assert list(mini.pause()) == []
        assert list(mini.close()) == []


@pytest.mark.parametrize(
    ("text", "said", "commands"),
    [
        ("Say.\n\n```\nls\n```", "Say.", ["ls"]),
        ("```\nls\n```", "", ["ls"]),
        ("Say.\n\n```\na\nb\n```\n\n```\nc\n```", "Say.", ["a\nb", "c"]),
        ("```python\nx\n```\nSay.\n\n```\nls\n```", "```python\nx\n```\nSay.", ["ls"]),
        ("Only text.", "Only text.", []),
        ("```", "```", []),
        ("", "", []),
    ],
)
def test_split(text: str, said: str, commands: list[str]) -> None:
    assert split(text) == (said, commands)


@commands(
    "command prompt expected asked",
    [
        (["-t", "do it"], None, ["--exit-immediately", "-t", "do it"], "do it"),
        (["-y"], "do it", ["--exit-immediately", "-t", "do it", "-y"], "do it"),
        (
            ["--exit-immediately", "-t", "x"],
            None,
            ["--exit-immediately", "-t", "x"],
            "x",
        ),
        ([], None, [], None),
        (["--help"], None, ["--help"], None),
    ],
    program="mini",
)
def test_prepare(case: Case) -> None:
    assert case.prepared(MiniSweAgent) == case.expected


def test_model_from() -> None:
    assert MiniSweAgent.model_from(["mini", "-m", "openai/x", "-t", "a"]) == "openai/x"
    assert MiniSweAgent.model_from(["uvx", "mini-swe-agent", "--model=y"]) == "y"
