"""Pi's stream, one trap a test. Shapes as its versions 0.74.2 and 1.6.0."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import (
    Notice,
    Prompt,
    SessionStarted,
    TextDelta,
    ToolProgress,
)
from agent_wrap_adapters.pi import Pi

from .commands import Case, commands
from .replays import play, shown

END: dict[str, Any] = {"type": "agent_end", "messages": []}
SETTLED: dict[str, Any] = {"type": "agent_settled", "aborted": False}
START: dict[str, Any] = {"type": "agent_start"}
BEGUN: dict[str, Any] = {
    "type": "message_start",
    "message": {"role": "assistant", "model": "m", "content": []},
}

run = partial(play, Pi)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(tool_id: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": tool_id, "name": "bash", "arguments": {}}


def whole(*content: Any, reason: str = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(content), "stopReason": reason}
    return {"type": "message_end", "message": message | more}


def piece(kind: str, delta: str, index: int = 0) -> dict[str, Any]:
    told = {"type": kind, "delta": delta, "contentIndex": index}
    return {"type": "message_update", "assistantMessageEvent": told}


def start(tool_id: str) -> dict[str, Any]:
    told = {"toolCallId": tool_id, "toolName": "bash", "args": {"command": "ls"}}
    return {"type": "tool_execution_start", **told}


def end(tool_id: str, failed: bool = False, **result: Any) -> dict[str, Any]:
    result = {"content": [text("out")], **result}
    told = {"toolCallId": tool_id, "isError": failed, "result": result}
    return {"type": "tool_execution_end", **told}


def usage(read: int, wrote: int, cached: int = 0, **more: Any) -> dict[str, Any]:
    figures = {"input": read, "output": wrote, "cacheRead": cached, **more}
    return {"usage": figures | {"cost": {"total": 0.5}}}


class TestEnd:
    @pytest.mark.parametrize(
        ("reason", "more", "status", "message"),
        [
            ("stop", {}, "success", ""),
            ("toolUse", {}, "success", ""),
            ("length", {}, "error", "length limit"),
            ("aborted", {}, "error", "ended with: aborted"),
            ("error", {"errorMessage": "500 no"}, "error", "500 no"),
            ("pending", {}, "error", "ended with: pending"),
            ("", {}, "error", "ended with: no reason"),
        ],
    )
    def test_last_answer_decides_though_the_exit_is_zero(
        self, reason: str, more: dict[str, Any], status: str, message: str
    ) -> None:
        for last in (END, SETTLED):
            ended = run(BEGUN, whole(text("hi"), reason=reason, **more), last)
            assert ended.outcome.status == status
            assert ended.outcome.exit_code == (0 if status == "success" else 1)
            assert message in ended.outcome.message

    def test_no_answer_at_all(self) -> None:
        assert run(START, END).outcome.message == "the agent ended without an answer"

    def test_no_end_is_an_error(self) -> None:
        assert run(BEGUN, whole(text("hi"))).outcome.reason == "no_final_event"

    def test_end_of_an_attempt_is_no_end(self) -> None:
        failed = whole(reason="error", errorMessage="500 no")
        retried = run(BEGUN, failed, END | {"willRetry": True})
        assert retried.outcome.reason == "no_final_event"
        older = run(BEGUN, failed, END, {"type": "auto_retry_start"})
        assert older.outcome.reason == "no_final_event"

    def test_next_prompt_takes_the_end_back(self) -> None:
        first = (START, BEGUN, whole(text("one")), END, SETTLED)
        assert run(*first, START).outcome.reason == "no_final_event"
        second = (START, BEGUN, whole(text("two")), END, SETTLED)
        assert shown(run(*first, *second)) == ["one", "two"]

    def test_last_line_of_a_failure_follows_the_end(self) -> None:
        last = {"type": "auto_retry_end", "success": False, "finalError": "500 no"}
        ended = run(BEGUN, whole(text("hi")), END, last)
        assert (ended.outcome.status, ended.outcome.message) == ("error", "500 no")

    def test_good_end_of_retries(self) -> None:
        last = {"type": "auto_retry_end", "success": True, "attempt": 2}
        assert run(BEGUN, whole(text("hi")), last, END).outcome.status == "success"

    def test_aborted_run(self) -> None:
        ended = run(BEGUN, whole(text("hi")), SETTLED | {"aborted": True})
        assert ended.outcome.message == "the run was aborted"

    def test_compaction_after_the_end(self) -> None:
        good = (BEGUN, whole(text("hi")), END, {"type": "compaction_start"})
        assert run(*good).outcome.status == "error"
        done = {"type": "compaction_end", "result": usage(7, 3)}
        ended = run(*good, done)
        assert ended.outcome.status == "success"
        assert (ended.tokens.total_in, ended.tokens.output) == (7, 3)
        again = run(*good, done | {"willRetry": True})
        assert again.outcome.reason == "no_final_event"


class TestAnswers:
    def test_tokens(self) -> None:
        told = usage(10, 5, 300, cacheWrite=40, reasoning=2)
        ended = run(BEGUN, whole(text("hi"), **told), SETTLED)
        assert (ended.tokens.total_in, ended.tokens.output) == (350, 5)
        assert (ended.tokens.reasoning, ended.tokens.cost) == (2, 0.5)
        assert ended.entries[2]["tokens"] == {"in": 350, "out": 5}

    def test_failed_answer_that_is_asked_for_again(self) -> None:
        failed = whole(text("cut"), reason="error", errorMessage="500 no")
        retry = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3}
        again = (END, retry | {"errorMessage": "500 no"}, START, BEGUN)
        ended = run(BEGUN, failed, *again, whole(text("cut and on")), END)
        assert shown(ended) == ["cut and on"]
        assert ended.turns == 1
        assert ended.of_type(Notice) == [Notice("API retry 1 of 3: 500 no")]
        assert ended.outcome.status == "success"

    @pytest.mark.parametrize("last", [(END,), (END, SETTLED), ()])
    def test_failed_answer_that_is_not(self, last: tuple[Any, ...]) -> None:
        ended = run(BEGUN, whole(text("cut"), reason="error"), *last)
        assert (shown(ended), ended.turns) == (["cut"], 0)

    def test_tool_only_answers_are_turns(self) -> None:
        ended = run(BEGUN, whole(call("a"), reason="toolUse"), start("a"), end("a"))
        assert ended.turns == 1

    def test_empty_answer_is_none(self) -> None:
        ended = run(BEGUN, whole(text(" ")), END)
        assert (ended.turns, ended.outcome.status) == (0, "success")

    def test_order_is_that_of_the_whole_answer(self) -> None:
        thought = {"type": "thinking", "thinking": "hm"}
        hidden = {"type": "thinking", "thinking": "[hidden]", "redacted": True}
        pieces = (piece("text_delta", "I look", 1), piece("thinking_delta", "hm"))
        ended = run(BEGUN, *pieces, whole(thought, hidden, text("I look")), END)
        assert shown(ended) == ["hm", "I look"]
        assert [d.text for d in ended.of_type(TextDelta)] == ["I look"]

    def test_killed_in_the_middle(self) -> None:
        pieces = (piece("thinking_delta", "hm"), piece("text_delta", "I l", 1))
        ended = run(BEGUN, *pieces, piece("text_delta", "ook", 1))
        assert shown(ended) == ["hm", "I look"]
        assert ended.turns == 1

    def test_session_model_and_prompt(self) -> None:
        header = {"type": "session", "version": 3, "id": "s", "cwd": "/src"}
        asked = {"role": "user", "content": [text("do it")]}
        ended = run(header, {"type": "message_end", "message": asked}, BEGUN, BEGUN)
        assert ended.of_type(Prompt) == [Prompt("do it")]
        sessions = ended.of_type(SessionStarted)
        assert sessions == [SessionStarted("s", cwd="/src"), SessionStarted(model="m")]

    def test_other_messages_state_nothing(self) -> None:
        result = {"role": "toolResult", "content": [text("out")]}
        ended = run({"type": "message_end", "message": result}, SETTLED)
        assert shown(ended) == []


class TestTools:
    @pytest.mark.parametrize(
        ("event", "status"),
        [
            (end("a"), "success"),
            (end("a", failed=True), "error"),
            (end("a", structuredContent={"exit_code": 3}), "error"),
            (end("a", structuredContent={"exit_code": 0}), "success"),
        ],
    )
    def test_status(self, event: dict[str, Any], status: str) -> None:
        assert shown(run(start("a"), event, SETTLED))[-1] == f"a {status}"

    def test_results_come_in_order_of_completion(self) -> None:
        ended = run(start("a"), start("b"), end("b"), end("a"), SETTLED)
        assert [s.split()[0] for s in shown(ended)] == ["a", "b", "b", "a"]

    def test_output_so_far(self) -> None:
        def so_far(output: str) -> dict[str, Any]:
            told = {"toolCallId": "a", "partialResult": {"content": [text(output)]}}
            return {"type": "tool_execution_update", **told}

        empty = {"type": "tool_execution_update", "toolCallId": "a"}
        lines = (empty, so_far("one "), so_far("one two"), so_far("cut: two"))
        ended = run(start("a"), *lines, end("a"), SETTLED)
        told = [p.text for p in ended.of_type(ToolProgress)]
        assert told == ["one ", "two", "cut: two"]


def test_known_and_unknown_events() -> None:
    known = [{"type": t} for t in ("turn_start", "queue_update", "entry_appended")]
    assert not run(*known).unknown_types
    ended = run({"type": "new"}, {}, SETTLED)
    assert ended.unknown_types == {"new": 1, "(no type)": 1}
    broken = [{"type": t} for t in ("message_end", "message_update", "agent_settled")]
    assert not run(*broken).failures


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "session", "version": 3, "id": "s", "cwd": "/src"}, True),
        ({"type": "session", "id": "s"}, False),
        ({"type": "agent_start"}, False),
    ],
)
def test_recognises(event: dict[str, Any], expected: bool) -> None:
    assert Pi.recognises(event) is expected


class TestPrepare:
    @commands(
        "command expected asked",
        [
            ("pi -p DO", "pi --mode json -p DO", "DO"),
            ("pi DO", "pi --mode json DO", "DO"),
            ("pi --mode json DO", "pi --mode json DO", "DO"),
            ("pi --mode=rpc", "pi --mode=rpc", None),
            # further messages are said when the agent has answered
            ("pi -p DO MORE", "pi --mode json -p DO MORE", "DO"),
            # a file becomes part of the prompt: the stream tells it whole
            ("pi @notes.md DO", "pi --mode json @notes.md DO", None),
            ("pi --model m -p -- -DO", "pi --mode json --model m -p -- -DO", "-DO"),
            ("pi install x", "pi install x", None),
            ("pi -p install x", "pi --mode json -p install x", "install"),
            ("pi --list-models", "pi --list-models", None),
            (
                "npx @earendil-works/pi-coding-agent@1 DO",
                "npx @earendil-works/pi-coding-agent@1 --mode json DO",
                "DO",
            ),
        ],
    )
    def test_flags(self, case: Case) -> None:
        assert case.prepared(Pi) == case.expected

    def test_given_prompt_goes_in_by_stdin(self) -> None:
        prepared = Pi.prepare(["pi", "--model", "m"], "do it")
        assert (prepared.stdin, prepared.prompt) == (b"do it", "do it")
        assert prepared.added == ["--mode json"]

    def test_given_prompt_and_one_in_the_command(self) -> None:
        # with both, the agent would join them
        prepared = Pi.prepare(["pi", "-p", "DO"], "other")
        assert (prepared.stdin, prepared.prompt) == (None, "other")

    @pytest.mark.parametrize(
        ("command", "model"),
        [("pi --model m -p DO", "m"), ("pi --model=a/m", "a/m"), ("pi DO", "")],
    )
    def test_model(self, command: str, model: str) -> None:
        assert Pi.model_from(command.split()) == model
