"""Amp's lines by its documentation, a trap a test: no run was recorded."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import SessionStarted
from agent_wrap_adapters.amp import Amp
from agent_wrap_adapters.claude_code import ClaudeCode

from .commands import Case, commands
from .replays import play

INIT = {"type": "system", "subtype": "init", "tools": [], "mcp_servers": []}

run = partial(play, Amp)


def test_unknown_types_are_counted() -> None:
    assert run({"type": "new"}).unknown_types == {"new": 1}


def answer(text: str, **more: Any) -> Any:
    message = {"content": [{"type": "text", "text": text}]} | more
    return {"type": "assistant", "message": message}


def test_it_is_not_taken_for_its_model() -> None:
    assert Amp.recognises(INIT)
    assert not ClaudeCode.recognises(INIT | {"session_id": "T-1"})
    assert not Amp.recognises(INIT | {"model": "x"})


def test_answers_have_no_id() -> None:
    assert run(answer("a"), answer("a")).turns == 2


def test_an_answer_names_the_model() -> None:
    ended = run(answer("a", model="x"), answer("b", model="y"))
    assert ended.of_type(SessionStarted) == [SessionStarted(model="x")]


def test_the_cache_is_a_part_of_the_input() -> None:
    usage = {
        "input_tokens": 12783,
        "cache_creation_input_tokens": 367,
        "cache_read_input_tokens": 12416,
        "output_tokens": 8,
    }
    tokens = run(answer("a", usage=usage)).tokens
    assert (tokens.input, tokens.total_in, tokens.output) == (0, 12783, 8)


def test_usage_of_the_end_only_where_answers_have_none() -> None:
    usage = {"input_tokens": 10, "output_tokens": 1}
    end = {"type": "result", "subtype": "success", "usage": usage}
    assert run(answer("a"), end).tokens.total_in == 10
    told = answer("a", usage={"input_tokens": 30, "output_tokens": 1})
    assert run(told, end).tokens.total_in == 30


@pytest.mark.parametrize(
    "end",
    [
        {"subtype": "error_max_turns", "is_error": True, "error": "no"},
        {"subtype": "success", "is_error": True, "result": "no"},
    ],
)
def test_errors(end: dict[str, Any]) -> None:
    ended = run({"type": "result"} | end)
    assert (ended.outcome.status, ended.outcome.message) == ("error", "no")


@commands(
    "command prompt expected stdin asked",
    [
        (["-x", "do it"], None, ["-x", "do it", "--stream-json"], None, "do it"),
        (["-x"], "do it", ["-x", "--stream-json"], b"do it", "do it"),
        ([], "do it", ["-x", "--stream-json"], b"do it", "do it"),
        (["-x", "a", "--stream-json"], None, ["-x", "a", "--stream-json"], None, "a"),
        (
            ["threads", "continue", "-x", "a"],
            None,
            ["threads", "continue", "-x", "a", "--stream-json"],
            None,
            "a",
        ),
        (["login"], None, ["login"], None, None),
        ([], None, [], None, None),
    ],
    program="amp",
)
def test_prepare(case: Case) -> None:
    assert case.prepared(Amp) == case.expected
