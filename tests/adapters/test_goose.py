"""Goose's lines by its published source, a trap a test: no run was recorded."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap_adapters.goose import Goose

from .replays import play, texts, tools

DONE = {"type": "complete", "total_tokens": 30}

run = partial(play, Goose)


def test_unknown_types_are_counted() -> None:
    assert run({"type": "new"}).unknown_types == {"new": 1}


def message(*blocks: Any, role: str = "assistant", answer: Any = "m1") -> Any:
    body = {"id": answer, "role": role, "created": 1, "content": list(blocks)}
    return {"type": "message", "message": body}


def text(text: str, answer: Any = "m1") -> Any:
    return message({"type": "text", "text": text}, answer=answer)


def call(call: Any) -> Any:
    return message({"type": "toolRequest", "id": "c1", "toolCall": call})


def finish(result: Any) -> Any:
    block = {"type": "toolResponse", "id": "c1", "toolResult": result}
    return message(block, role="user")


def test_pieces_without_an_id() -> None:
    ended = run(text("He", None), text("llo.", None), DONE)
    assert texts(ended) == ["Hello."]


def test_pieces_of_two_answers() -> None:
    ended = run(text("One."), text("Two.", "m2"), DONE)
    assert texts(ended) == ["One.", "Two."]


def test_an_error_is_followed_by_the_end_and_exit_0() -> None:
    ended = run({"type": "error", "error": "500"}, DONE)
    assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
    assert ended.outcome.message == "500"


def test_errors_in_the_models_name_are_no_messages() -> None:
    ended = run(text("Ran into this error: 401."), DONE)
    assert ended.outcome.status == "error"
    assert texts(ended) == []
    assert ended.turns == 0


@pytest.mark.parametrize(
    ("given", "status", "text"),
    [
        (
            {"status": "success", "value": {"content": [{"text": "a"}]}},
            "success",
            "a",
        ),
        (
            {"status": "success", "value": [{"text": "old form"}]},
            "success",
            "old form",
        ),
        (
            {
                "status": "success",
                "value": {"content": [{"text": "a"}], "isError": True},
            },
            "error",
            "a",
        ),
        (
            {
                "status": "success",
                "value": {"content": "a", "structuredContent": {"exit_code": 3}},
            },
            "error",
            "a",
        ),
        ({"status": "error", "error": "no"}, "error", "no"),
    ],
)
def test_results(given: Any, status: str, text: str) -> None:
    value = {"name": "shell", "arguments": {"command": "ls"}}
    start = call({"status": "success", "value": value})
    first, ended = tools(run(start, finish(given)))
    assert (first["name"], first["args"]) == ("shell", {"command": "ls"})
    assert ended["status"] == status
    assert (ended.get("result") or ended.get("error")) == text


def test_a_call_that_was_not_understood() -> None:
    start = tools(run(call({"status": "error", "error": "bad"})))[0]
    assert (start["name"], start["args"]) == ("tool", {"input": "bad"})


def test_the_total_alone_is_no_split() -> None:
    assert not run(text("a"), DONE).tokens


@pytest.mark.parametrize(
    ("command", "prompt", "expected", "stdin"),
    [
        (["run", "-t", "a"], None, ["-t", "a"], None),
        (["run"], "a", ["-i", "-"], b"a"),
        (["run", "-i", "-"], "a", ["-i", "-"], b"a"),
        (["run", "--recipe", "r"], "a", ["--recipe", "r"], None),
    ],
)
def test_prepare(
    command: list[str],
    prompt: str | None,
    expected: list[str],
    stdin: bytes | None,
) -> None:
    prepared = Goose.prepare(["goose", *command], prompt)
    added = ["--output-format", "stream-json"]
    assert prepared.command == ["goose", "run", *added, *expected]
    assert prepared.stdin == stdin


@pytest.mark.parametrize("command", [["session"], ["run", "-s"], []])
def test_other_jobs_are_left_alone(command: list[str]) -> None:
    assert Goose.prepare(["goose", *command], None).command == ["goose", *command]
