"""Droid's lines, one trap a test. Shapes as version 0.215.0."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import Prompt, Usage
from agent_wrap_adapters.droid import Droid

from .replays import play, texts, tools

FORMAT = ["--output-format", "stream-json"]
DONE = {"type": "completion", "finalText": "Done.", "numTurns": 1}
INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}

run = partial(play, Droid)


def say(text: str, answer: str = "m1", role: str = "assistant") -> Any:
    return {"type": "message", "role": role, "id": answer, "text": text}


def call(call_id: str = "c1", answer: str = "m1", **more: Any) -> Any:
    event = {"type": "tool_call", "id": call_id, "messageId": answer}
    return event | {"toolId": "Execute", "toolName": "Execute", "parameters": {}} | more


def result(call_id: str = "c1", **more: Any) -> Any:
    return {"type": "tool_result", "id": call_id, "messageId": "m2"} | more


def error(message: str, source: str) -> Any:
    return {"type": "error", "source": source, "message": message}


def test_thoughts_are_printed_twice() -> None:
    thought = {"type": "reasoning", "id": "m1", "text": "Hm."}
    ended = run(thought, thought, say("Done."), DONE)
    assert texts(ended, "thinking") == ["Hm."]
    assert ended.turns == 1


def test_other_thoughts_of_one_answer_are_kept() -> None:
    first, second = ({"type": "reasoning", "id": "m1", "text": t} for t in "ab")
    assert texts(run(first, second), "thinking") == ["a", "b"]


def test_a_call_alone_is_a_turn() -> None:
    assert run(call(), call("c2"), result(), result("c2"), say("x", "m3")).turns == 2


@pytest.mark.parametrize(
    ("more", "status", "text"),
    [
        ({"isError": False, "value": "out"}, "success", "out"),
        ({"isError": True, "error": {"message": "no"}}, "error", "no"),
        ({"isError": True, "value": "old form"}, "error", "old form"),
    ],
)
def test_results(more: dict[str, Any], status: str, text: str) -> None:
    _, ended = tools(run(call(), result(**more)))
    assert ended["status"] == status
    assert (ended.get("result") or ended.get("error")) == text


def test_cached_is_no_part_of_the_input() -> None:
    usage = {
        "input_tokens": 700,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 5,
        "output_tokens": 20,
        "thinking_tokens": 7,
    }
    final = run(DONE | {"usage": usage}).final
    assert final is not None
    assert final.totals == Usage(700, 300, 5, 20, 7, scope="total")


class TestEnd:
    def test_the_loop_says_what_went_wrong(self) -> None:
        lines = error("401 no", "agent_loop"), error("Exec failed", "cli")
        ended = run(*lines, code=1)
        assert (ended.outcome.status, ended.outcome.message) == ("error", "401 no")

    def test_the_program_alone(self) -> None:
        assert run(error("no model", "cli"), code=1).outcome.message == "no model"

    def test_the_loop_may_recover(self) -> None:
        ended = run(error("429", "agent_loop"), say("Done."), DONE)
        assert ended.outcome.status == "success"

    def test_the_end_is_promised(self) -> None:
        assert run(INIT, say("x")).outcome.reason == "no_final_event"


def test_the_prompt_is_echoed() -> None:
    assert run(say("do it", role="user")).of_type(Prompt) == [Prompt("do it")]


def test_unknown_types_are_counted() -> None:
    ended = run({"type": "new"}, {"type": "system", "subtype": "other"})
    assert ended.unknown_types == {"new": 1, "system/other": 1}


@pytest.mark.parametrize(
    ("command", "prompt", "expected", "stdin"),
    [
        (["exec", "do it"], None, ["exec", *FORMAT, "do it"], None),
        (["exec", "-o", "json", "x"], None, ["exec", "-o", "json", "x"], None),
        (["exec", "--auto", "low"], "a", ["exec", *FORMAT, "--auto", "low"], b"a"),
        (["exec", "-f", "x"], "a", ["exec", *FORMAT, "-f", "x"], None),
        (["exec", "--list-tools"], "a", ["exec", "--list-tools"], None),
        (["do it"], None, ["do it"], None),
    ],
)
def test_prepare(
    command: list[str], prompt: str | None, expected: list[str], stdin: bytes | None
) -> None:
    prepared = Droid.prepare(["droid", *command], prompt)
    assert prepared.command == ["droid", *expected]
    assert prepared.stdin == stdin


def test_model_from() -> None:
    assert Droid.model_from(["droid", "exec", "-m", "x", "do it"]) == "x"
