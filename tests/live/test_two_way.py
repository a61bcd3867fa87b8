"""Agents that are spoken to over their stdin: real programs, scripted model.

What the model wants to do needs permission here; `--permissions` answers.
"""

from __future__ import annotations

import signal

import pytest

from .agents import PROMPT
from .conftest import Place, Prepare
from .harness import Bench, Outcome
from .scripted_model import Model

pytestmark = pytest.mark.live

ASKED = ("--prompt", PROMPT)
CLAUDE = (
    "claude",
    "-p",
    "--input-format",
    "stream-json",
    "--model",
    "claude-sonnet-4-5",
)
CODEX = ("codex", "app-server")
COPILOT = ("copilot", "--acp", "--disable-builtin-mcps")

TEXT = Outcome("success", 0, 1, (1000, 100), ["The answer is 42."])
BOTH = ["I need permission.", "I was answered."]


def made(bench: Bench) -> list[str]:
    """What the model's commands left in the folder they ran in."""
    return sorted(path.name for path in bench.work.iterdir())


class TestClaudeCode:
    @pytest.mark.parametrize(
        ("command", "options"),
        [
            (CLAUDE, ASKED),
            (CLAUDE, (*ASKED, "--prompt-via", "stdin")),
            # Claude Code itself does not read a prompt in the command then.
            ((*CLAUDE, PROMPT), ()),
        ],
        ids=["prompt", "via-stdin", "operand"],
    )
    def test_the_prompt_goes_in_as_a_message(
        self,
        claude_code: Prepare,
        model: Model,
        command: tuple[str, ...],
        options: tuple[str, ...],
    ) -> None:
        run = claude_code("text").run(command, *options)

        assert run.outcome() == TEXT, run.stderr
        assert run.entries[1]["content"] == PROMPT
        assert model.calls[0].asked.count(PROMPT) == 1
        assert run.problems() == []

    @pytest.mark.parametrize(
        ("permissions", "status", "files"),
        [("allow", "success", ["made.txt"]), ("deny", "error", [])],
    )
    def test_what_needs_permission(
        self, claude_code: Prepare, permissions: str, status: str, files: list[str]
    ) -> None:
        bench = claude_code("asks")
        run = bench.run(CLAUDE, *ASKED, "--permissions", permissions)

        expected = Outcome("success", 0, 2, (2001, 201), BOTH, [("Bash", status)])
        assert run.outcome() == expected, run.stderr
        assert made(bench) == files
        assert run.problems() == []

    def test_two_at_once(self, claude_code: Prepare) -> None:
        bench = claude_code("asks_twice")
        run = bench.run(CLAUDE, *ASKED, "--permissions", "allow")

        assert run.tool_states() == ["success", "success"], run.stderr
        assert made(bench) == ["first.txt", "second.txt"]
        assert run.problems() == []

    def test_permission_ends_the_run(self, claude_code: Prepare) -> None:
        bench = claude_code("asks")
        run = bench.run(CLAUDE, *ASKED, "--permissions", "fail")

        assert run.outcome() == Outcome(
            "error", 1, 1, (1000, 100), BOTH[:1], [("Bash", "error")]
        )
        assert run.summary["reason"] == "permission"
        assert "permission: Bash" in run.summary["message"]
        assert made(bench) == []
        assert run.problems() == []

    def test_nobody_answers_questions(self, claude_code: Prepare) -> None:
        run = claude_code("question").run(CLAUDE, *ASKED, "--permissions", "allow")

        assert run.outcome() == Outcome(
            "success",
            0,
            2,
            (2001, 201),
            ["Nobody answered."],
            [("AskUserQuestion", "error")],
        ), run.stderr
        assert run.problems() == []

    def test_background_tasks_may_ask_after_the_first_result(
        self, claude_code: Prepare
    ) -> None:
        """The agent wakes up when one ends: its input must still be open then."""
        bench = claude_code("background")
        run = bench.run(CLAUDE, *ASKED, "--permissions", "allow")

        assert run.outcome() == Outcome(
            "success",
            0,
            4,
            (4006, 406),
            ["It runs on.", "It has ended."],
            [("Bash", "success"), ("Bash", "success")],
        ), run.stderr
        assert made(bench) == ["early.txt", "woken.txt"]
        assert run.problems() == []

    def test_a_background_task_without_end_holds_nothing_up(
        self, claude_code: Prepare
    ) -> None:
        run = claude_code("server").run(CLAUDE, *ASKED, "--permissions", "allow")

        assert run.outcome() == Outcome(
            "success", 0, 2, (2001, 201), ["It serves."], [("Bash", "success")]
        ), run.stderr
        assert run.problems() == []

    def test_without_a_prompt(self, claude_code: Prepare, model: Model) -> None:
        """There is nothing to ask: the run ends at once, and says why."""
        run = claude_code("text").run(CLAUDE)

        assert (run.outcome().status, run.outcome().code) == ("error", 1)
        assert "no prompt" in run.summary["message"]
        assert model.calls == []
        assert run.problems() == []


class TestCodex:
    @pytest.mark.parametrize(
        "options", [ASKED, (*ASKED, "--prompt-via", "stdin")], ids=["prompt", "stdin"]
    )
    def test_text(self, codex: Prepare, model: Model, options: tuple[str, ...]) -> None:
        bench = codex("text")
        run = bench.run(CODEX, *options)

        assert run.outcome() == TEXT, run.stderr
        init, prompt = run.entries[:2]
        # Slow to start, it may name its model after `init` is written.
        assert init["data"]["model"] in ("gpt-5.5", "unknown")
        assert init["data"]["cwd"] == str(bench.work)
        assert prompt["content"] == PROMPT
        assert model.calls[0].asked.count(PROMPT) == 1
        assert run.summary["model"] == "gpt-5.5"
        assert run.summary["agent_version"]
        assert run.problems() == []

    @pytest.mark.parametrize(
        ("permissions", "status"), [("allow", "success"), ("deny", "error")]
    )
    def test_what_needs_permission(
        self, codex: Prepare, permissions: str, status: str
    ) -> None:
        """Its default sandbox writes nothing: there it is to ask, by our request."""
        run = codex("asks_to_compute").run(CODEX, *ASKED, "--permissions", permissions)

        expected = Outcome("success", 0, 2, (2001, 201), BOTH, [("bash", status)])
        assert run.outcome() == expected, run.stderr
        assert run.problems() == []

    def test_the_configuration_decides_when_to_ask(self, codex: Prepare) -> None:
        """With full access it asks for nothing, and nothing is denied."""
        bench = codex("asks")
        command = (*CODEX, "-c", "sandbox_mode=danger-full-access")
        run = bench.run(command, *ASKED, "--permissions", "deny")

        expected = Outcome("success", 0, 2, (2001, 201), BOTH, [("bash", "success")])
        assert run.outcome() == expected, run.stderr
        assert made(bench) == ["made.txt"]
        assert run.problems() == []

    def test_permission_ends_the_run(self, codex: Prepare) -> None:
        bench = codex("asks")
        run = bench.run(CODEX, *ASKED, "--permissions", "fail")

        outcome = run.outcome()
        assert (outcome.status, outcome.code) == ("error", 1)
        assert outcome.tools == [("bash", "error")]
        assert run.summary["reason"] == "permission"
        assert made(bench) == []
        assert run.problems() == []


class TestCopilotOverAcp:
    """Its tokens are the prompt's, its tools have no name: the kind stands for it."""

    def test_text(self, copilot: Prepare, model: Model) -> None:
        run = copilot("text").run(COPILOT, *ASKED)

        assert run.outcome() == TEXT, run.stderr
        # Slow to start, it may say its name after `init` is written.
        assert run.entries[0]["data"]["agent"] in ("Copilot", "acp")
        assert run.summary["agent_version"]
        assert run.summary["adapter"]["name"] == "acp"
        assert PROMPT in model.calls[0].asked
        assert run.problems() == []

    def test_allowed(self, copilot: Prepare) -> None:
        bench = copilot("asks")
        run = bench.run(COPILOT, *ASKED, "--permissions", "allow")

        assert run.outcome() == Outcome(
            "success", 0, 2, (2001, 201), BOTH, [("execute", "success")]
        ), run.stderr
        assert made(bench) == ["made.txt"]
        assert run.problems() == []

    def test_denied(self, copilot: Prepare) -> None:
        """It ends the turn then, and calls that a good end."""
        bench = copilot("asks")
        run = bench.run(COPILOT, *ASKED)

        assert run.outcome() == Outcome(
            "success", 0, 1, (1000, 100), BOTH[:1], [("execute", "error")]
        ), run.stderr
        assert made(bench) == []
        assert run.problems() == []


@pytest.mark.parametrize(
    ("fixture", "command", "shell", "said"),
    [
        ("claude_code", CLAUDE, "Bash", b"error_during_execution"),
        ("codex", CODEX, "bash", b'"interrupted"'),
        ("copilot", COPILOT, "execute", b'"cancelled"'),
    ],
    ids=["claude", "codex", "copilot"],
)
def test_stopped_in_the_middle_of_a_tool(
    place: Place, fixture: str, command: tuple[str, ...], shell: str, said: bytes
) -> None:
    """It is interrupted by its own protocol, and says so before it ends."""
    run = place(fixture, "long_tool").start(command, *ASKED, "--permissions", "allow")
    run.wait_for_tool("sleep 60")
    run.stop(signal.SIGTERM)

    assert run.outcome() == Outcome(
        "error", 143, 1, (1000, 100), ["A long command now."], [(shell, "error")]
    )
    assert said in run.stdout
    assert run.summary["reason"] == "stopped"
    assert run.summary["agent_exit"]["signal"] is None
    assert run.problems() == []


@pytest.mark.parametrize(
    ("fixture", "command", "message"),
    [
        ("codex", CODEX, "401"),
        # It is spoken, as if the model had said it, and the end called a good one.
        ("copilot", COPILOT, "Authentication failed"),
    ],
    ids=["codex", "copilot"],
)
def test_an_api_error(
    place: Place, fixture: str, command: tuple[str, ...], message: str
) -> None:
    run = place(fixture, "err401").run(command, *ASKED)

    outcome = run.outcome()
    assert (outcome.status, outcome.code, outcome.messages) == ("error", 1, [])
    assert message in run.entries[-1]["message"]
    assert run.problems() == []
