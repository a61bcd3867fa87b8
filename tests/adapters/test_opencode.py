"""OpenCode's stream, one trap a test. Shapes as its version 1.18.33."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import Notice, SessionStarted, TodoUpdated
from agent_wrap_adapters.opencode import OpenCode

from .commands import Case, commands
from .replays import play, shown

run = partial(play, OpenCode)


def line(kind: str, **part: Any) -> dict[str, Any]:
    # the id is the same for all answers, as where one message has several
    return {"type": kind, "sessionID": "ses_1", "part": {"messageID": "m", **part}}


def at(start: int) -> dict[str, Any]:
    return {"time": {"start": start, "end": start + 1}}


def text(said: str, **more: Any) -> dict[str, Any]:
    return line("text", text=said, **more)


def tool(call: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    name = state.pop("name", "bash")
    told = {"status": status, "input": {"command": "ls"}, **state}
    return line("tool_use", callID=call, tool=name, state=told)


def finish(reason: str, read: int = 10, wrote: int = 5, **more: Any) -> dict[str, Any]:
    tokens = {"input": read, "output": wrote, "reasoning": 0, "cache": {}} | more
    return line("step_finish", reason=reason, tokens=tokens, cost=0.5)


def error(message: str, name: str = "APIError") -> dict[str, Any]:
    told = {"name": name, "data": {"message": message}}
    return {"type": "error", "sessionID": "ses_1", "error": told}


START = line("step_start")
STOP = finish("stop")
CUT = finish("unknown", 0, 0)


class TestEnd:
    @pytest.mark.parametrize(
        ("reason", "status", "message"),
        [
            ("stop", "success", ""),
            ("length", "success", ""),
            ("tool-calls", "error", "without the final event"),
            ("unknown", "error", "without the final event"),
            ("content-filter", "error", "ended with: content-filter"),
            ("error", "error", "ended with: error"),
            ("", "error", "ended with: no reason"),
        ],
    )
    def test_reason_of_the_last_answer(
        self, reason: str, status: str, message: str
    ) -> None:
        ended = run(START, text("hi"), finish(reason))
        assert ended.outcome.status == status
        assert ended.outcome.exit_code == (0 if status == "success" else 1)
        assert message in ended.outcome.message

    def test_error_event(self) -> None:
        ended = run(START, text("hi"), finish("tool-calls"), error("no credit"))
        assert (ended.outcome.status, ended.outcome.message) == ("error", "no credit")

    def test_error_stands_above_exit_zero(self) -> None:
        nameless = {"type": "error", "sessionID": "s", "error": {"name": "Aborted"}}
        ended = run(nameless)
        assert (ended.outcome.exit_code, ended.outcome.message) == (1, "Aborted")

    def test_too_long_a_conversation_is_made_shorter(self) -> None:
        overflow = error("too long", "ContextOverflowError")
        assert run(START, overflow, START, text("on"), STOP).outcome.status == "success"
        assert run(START, overflow).outcome.status == "error"

    def test_another_answer_takes_the_end_back(self) -> None:
        ended = run(START, text("one"), STOP, START, text("two"), finish("tool-calls"))
        assert ended.outcome.status == "error"

    def test_rejected_permission_says_why(self) -> None:
        said = "The user rejected permission to use this specific tool call."
        ended = run(START, tool("a", "error", error=said), finish("tool-calls"))
        assert ended.of_type(Notice) == [Notice(said)]
        assert ended.outcome.status == "error"


class TestOrder:
    def test_text_that_comes_after_its_tool(self) -> None:
        ended = run(START, tool("a", **at(20)), text("I look", **at(10)), STOP)
        assert shown(ended) == ["I look", "a running", "a success"]

    def test_text_that_was_said_after_the_tool(self) -> None:
        ended = run(START, tool("a", **at(10)), text("seen", **at(20)), STOP)
        assert shown(ended) == ["a running", "a success", "seen"]

    def test_parts_without_a_time_stay_in_place(self) -> None:
        ended = run(START, tool("a"), text("seen"), tool("b"), STOP)
        assert shown(ended)[2] == "seen"

    def test_parallel_tools_stay_in_the_order_of_the_stream(self) -> None:
        ended = run(START, tool("b", **at(20)), tool("a", **at(10)), STOP)
        assert [s.split()[0] for s in shown(ended)] == ["b", "b", "a", "a"]

    def test_pause_gives_the_parts(self) -> None:
        adapter = OpenCode()
        for event in (START, text("waiting for a tool")):
            list(adapter.feed(event))
        assert [type(e).__name__ for e in adapter.pause()] == ["TurnStarted", "Message"]
        assert list(adapter.pause()) == []

    def test_answer_without_an_end(self) -> None:
        assert shown(run(START, text("cut"))) == ["cut"]
        assert shown(run(START, text("cut"), START, text("next"), STOP))[0] == "cut"


class TestUsage:
    def test_answers_of_one_message_count_each(self) -> None:
        ended = run(START, text("a"), finish("tool-calls"), START, text("b"), STOP)
        assert ended.turns == 2
        assert (ended.tokens.total_in, ended.tokens.output) == (20, 10)
        assert ended.tokens.cost == 1.0

    def test_cached_tokens_and_reasoning_stand_apart(self) -> None:
        cache = {"read": 300, "write": 40}
        ended = run(START, text("a"), finish("stop", 10, 5, reasoning=7, cache=cache))
        assert (ended.tokens.total_in, ended.tokens.output) == (350, 12)
        assert ended.entries[2]["tokens"] == {"in": 350, "out": 12}

    def test_empty_answer_is_no_turn(self) -> None:
        ended = run(START, text(" "), STOP)
        assert (ended.turns, ended.tokens.total_in) == (0, 10)


class TestRetries:
    def test_text_that_is_said_again(self) -> None:
        again = (START, text("cut off"), CUT)
        ended = run(*again, *again, *again, START, text("cut off and on"), STOP)
        assert shown(ended) == ["cut off", "cut off and on"]
        assert ended.turns == 1
        assert len(ended.of_type(Notice)) == 3

    def test_only_directly_after_a_retry(self) -> None:
        step = (START, text("next"), finish("tool-calls"))
        assert shown(run(*step, *step, START, text("next"), STOP)) == ["next"] * 3

    def test_answer_with_tokens_was_not_cut_off(self) -> None:
        ended = run(START, text("a"), finish("unknown"), START, text("a"), STOP)
        assert (shown(ended), ended.turns) == (["a", "a"], 2)


class TestTools:
    @pytest.mark.parametrize(
        ("event", "status", "output"),
        [
            (tool("a", output="x", metadata={"exit": 0}), "success", "x"),
            (tool("a", output="x", metadata={"exit": 3}), "error", "x"),
            (tool("a", output="x", metadata={"exit": None}), "success", "x"),
            (tool("a", "error", error="not found"), "error", "not found"),
            (tool("a", output="no such", name="invalid"), "error", "no such"),
            (tool("a", output=None), "success", ""),
        ],
    )
    def test_status(self, event: dict[str, Any], status: str, output: str) -> None:
        ended = run(START, event, STOP)
        result = ended.entries[3]
        assert result["status"] == status
        assert result.get("result", result.get("error", "")) == output

    def test_plan(self) -> None:
        todos = [{"content": "look", "status": "completed", "priority": "high"}]
        ended = run(START, tool("a", name="todowrite", input={"todos": todos}), STOP)
        (plan,) = ended.of_type(TodoUpdated)
        assert [(i.text, i.status) for i in plan.items] == [("look", "completed")]


def test_session_and_unknown_events() -> None:
    ended = run(START, {"type": "new", "sessionID": "ses_1"}, {}, text("hi"), STOP)
    assert ended.of_type(SessionStarted) == [SessionStarted("ses_1")]
    assert ended.unknown_types == {"new": 1, "(no type)": 1}
    assert not run({"type": "text", "part": 3}, {"type": "error"}).failures


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (START, True),
        (error("no"), True),
        ({"type": "text", "sessionID": "ses_1"}, False),
        ({"type": "text", "sessionId": "s", "part": {}}, False),
        ({"type": "message", "sessionID": "s", "part": {}}, False),
        ({"type": "error", "message": "no"}, False),
    ],
)
def test_recognises(event: dict[str, Any], expected: bool) -> None:
    assert OpenCode.recognises(event) is expected


class TestPrepare:
    @commands(
        "command expected asked",
        [
            ("opencode run DO", "opencode run --format json --thinking DO", "DO"),
            (
                "opencode run -m a/b DO IT",
                "opencode run --format json --thinking -m a/b DO IT",
                "DO IT",
            ),
            (
                "opencode run --format json DO",
                "opencode run --thinking --format json DO",
                "DO",
            ),
            ("opencode run --format=default DO",) * 2 + ("DO",),
            (
                "opencode run --command c arg",
                "opencode run --format json --thinking --command c arg",
                None,
            ),
            (
                "npx opencode-ai@1 --print-logs run DO",
                "npx opencode-ai@1 --print-logs run --format json --thinking DO",
                "DO",
            ),
            ("opencode serve", "opencode serve", None),
            ("opencode", "opencode", None),
            ("opencode run --help", "opencode run --help", None),
        ],
    )
    def test_flags(self, case: Case) -> None:
        assert case.prepared(OpenCode) == case.expected

    def test_given_prompt_goes_in_by_stdin(self) -> None:
        prepared = OpenCode.prepare(["opencode", "run"], "do it")
        assert (prepared.stdin, prepared.prompt) == (b"do it", "do it")
        assert prepared.added == ["--format json", "--thinking"]

    @pytest.mark.parametrize(
        ("command", "model"),
        [("opencode run -m a/b DO", "a/b"), ("opencode run --model=a/b", "a/b")],
    )
    def test_model(self, command: str, model: str) -> None:
        assert OpenCode.model_from(command.split()) == model
