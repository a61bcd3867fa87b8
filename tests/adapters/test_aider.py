"""Aider's text, one trap a test. As version 0.86.2 prints it."""

from __future__ import annotations

import pytest

from agent_wrap.events import Notice, SessionStarted
from agent_wrap.testing import Replay, replay
from agent_wrap_adapters.aider import Aider

from .replays import texts

BANNER = "warning\n\nAider v0.86.2\nModel: a/b with whole edit format\nGit repo: x\n\n"
TOKENS = "\nTokens: 598 sent, 22 received.\n"
ERROR = "litellm.AuthenticationError: no \nkey.\nCheck your API key.\n"


def run(*texts: str, code: int = 0) -> Replay:
    return replay("".join((BANNER, *texts)).encode(), Aider(), code=code)


class TestAnswers:
    def test_the_banner_is_no_answer(self) -> None:
        ended = run("https://aider.chat/HISTORY.html#release-notes\n\nHi.\n", TOKENS)
        assert texts(ended) == ["Hi."]
        started = SessionStarted(model="a/b", agent_version="0.86.2")
        assert ended.of_type(SessionStarted) == [started]

    def test_cut_off_in_the_banner(self) -> None:
        banner = BANNER.rstrip("\n").encode()
        ended = replay(banner, Aider(), code=None, signal=9)
        assert texts(ended) == []
        assert ended.turns == 0

    def test_an_error_ends_the_banner(self) -> None:
        ended = replay((BANNER.rstrip("\n") + "\n" + ERROR).encode(), Aider(), code=0)
        assert texts(ended) == []
        assert ended.outcome.status == "error"
        assert "AuthenticationError" in ended.outcome.message

    def test_each_count_ends_an_answer(self) -> None:
        ended = run("One.\n\nStill one.\n", TOKENS, "Two.\n", TOKENS)
        assert texts(ended) == ["One.\n\nStill one.", "Two."]
        assert ended.turns == 2
        assert (ended.tokens.total_in, ended.tokens.output) == (1196, 44)

    def test_what_it_does_is_not_said(self) -> None:
        ended = run("I add.\n", TOKENS, "\nn.txt\nApplied edit to n.txt\n")
        assert texts(ended) == ["I add."]
        assert ended.of_type(Notice) == [Notice("Applied edit to n.txt")]

    def test_an_answer_may_speak_of_edits(self) -> None:
        said = "Look:\nApplied edit to n.txt\nCommit 1234567 x"
        assert texts(run(said, TOKENS)) == [said]

    def test_an_answer_without_a_count(self) -> None:
        assert texts(run("Hal")) == ["Hal"]
        assert run("Hal").turns == 1

    @pytest.mark.parametrize(
        ("line", "tokens", "cost"),
        [
            ("Tokens: 1.2k sent, 22 received.", (1200, 0, 0, 22), None),
            ("Tokens: 12k sent, 1.0M received.", (12000, 0, 0, 1000000), None),
            (
                "Tokens: 5.0k sent, 1.0k cache write, 3.0k cache hit, 9 received.",
                (1000, 3000, 1000, 9),
                None,
            ),
            (
                "Tokens: 10 sent, 2 received. Cost: $0.0012 message, $0.01 session.",
                (10, 0, 0, 2),
                0.0012,
            ),
        ],
    )
    def test_counts(
        self, line: str, tokens: tuple[int, int, int, int], cost: float | None
    ) -> None:
        used = run("x\n", line).tokens
        parts = (used.input, used.cached, used.cache_written, used.output)
        assert parts == tokens
        assert used.cost == cost


class TestEnd:
    def test_error_with_exit_0(self) -> None:
        ended = run(ERROR)
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        expected = "litellm.AuthenticationError: no key. Check your API key."
        assert ended.outcome.message == expected
        assert texts(ended) == []

    def test_a_retry_throws_the_first_try_away(self) -> None:
        retry = "Retrying in 0.2 seconds...\n"
        ended = run("Hal\n", ERROR, retry, "Hallo.\n", TOKENS)
        assert texts(ended) == ["Hallo."]
        assert ended.outcome.status == "success"

    def test_the_last_try_failed(self) -> None:
        ended = run(ERROR, "Retrying in 0.2 seconds...\n", ERROR)
        assert ended.outcome.status == "error"

    def test_an_earlier_answer_does_not_help(self) -> None:
        ended = run("Hi.\n", TOKENS, "Model a/b has hit a token limit!\n")
        assert ended.outcome.status == "error"
        assert texts(ended) == ["Hi."]

    def test_it_did_not_start(self) -> None:
        ended = replay(b"Unable to read git repository\n", Aider(), code=1)
        assert ended.outcome.status == "error"
        assert ended.of_type(Notice) == [Notice("Unable to read git repository")]


@pytest.mark.parametrize(
    ("command", "prompt", "expected", "asked"),
    [
        (["-m", "do it"], None, ["--no-pretty", "-m", "do it"], "do it"),
        (["--model", "x"], "do it", None, "do it"),
        (["--pretty", "--message=a"], None, ["--pretty", "--message=a"], "a"),
        (["-f", "task.md"], None, ["--no-pretty", "-f", "task.md"], None),
        (["notes.txt"], None, ["notes.txt"], None),
        (["--version"], "do it", ["--version"], None),
    ],
)
def test_prepare(
    command: list[str],
    prompt: str | None,
    expected: list[str] | None,
    asked: str | None,
) -> None:
    prepared = Aider.prepare(["aider", *command], prompt)
    expected = expected or ["--no-pretty", "--message", "do it", *command]
    assert prepared.command == ["aider", *expected]
    assert prepared.prompt == asked


def test_model_from() -> None:
    assert Aider.model_from(["aider", "--model", "a/b", "-m", "x"]) == "a/b"
    assert Aider.model_from(["aider", "-m", "--model"]) == ""
