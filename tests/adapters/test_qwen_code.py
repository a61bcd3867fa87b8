"""Qwen Code's stream, one trap a test. Shapes as its versions 0.15.10 and 0.24.4."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from agent_wrap.events import (
    ApprovalAsked,
    Message,
    Notice,
    Retracted,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    ThinkingDelta,
)
from agent_wrap_adapters.qwen_code import QwenCode

from .commands import Case, commands
from .replays import play, shown

OK: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False}
FAILED = {"type": "result", "subtype": "error_during_execution", "is_error": True}
LOST = "[API Error: 401 invalid key]"

run = partial(play, QwenCode)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(tool_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": "agent", "input": {}}


IDS = iter(range(10_000))


def part(*content: Any, used: Any = (0, 0), parent: str = "") -> dict[str, Any]:
    # every line has an id of its own; only the last one of an answer its usage
    usage = {"input_tokens": used[0], "output_tokens": used[1]}
    message = {"id": f"uuid-{next(IDS)}", "content": list(content), "usage": usage}
    told = {"parent_tool_use_id": parent or None, "message": message}
    return {"type": "assistant", **told}


def result_of(tool_id: str, output: str = "out", **more: Any) -> dict[str, Any]:
    failed = more.pop("is_error", False)
    told = {"type": "tool_result", "tool_use_id": tool_id, "is_error": failed}
    return {"type": "user", "message": {"content": [told | {"content": output}]}} | more


def system(subtype: str, **data: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "data": data}


def piece(**delta: Any) -> dict[str, Any]:
    event = {"type": "content_block_delta", "delta": delta}
    return {"type": "stream_event", "event": event}


RETRY = system("retry", preserveText=False, discardedToolCalls=0)


class TestAnswers:
    def test_parts_of_one_answer_are_one_turn(self) -> None:
        thought = {"type": "thinking", "thinking": "hm"}
        ended = run(
            part(thought),
            part(text("I look")),
            part(use("a"), use("b"), used=(10, 5)),
            result_of("b"),
            result_of("a"),
            part(text("done"), used=(20, 6)),
            OK,
        )
        assert ended.turns == 2
        assert shown(ended)[:2] == ["hm", "I look"]
        assert (ended.tokens.total_in, ended.tokens.output) == (30, 11)
        assert ended.entries[-2]["tokens"] == {"in": 20, "out": 6}

    def test_provider_that_reports_no_usage(self) -> None:
        ended = run(part(use("a")), result_of("a"), part(text("done")), OK)
        assert ended.turns == 2

    def test_a_message_has_the_tokens_of_its_answer(self) -> None:
        """They come with the answer's last part."""
        ended = run(
            part(text("I run")), part(use("a"), used=(10, 1)), result_of("a"), OK
        )
        (message,) = [e for e in ended.entries if e["type"] == "message"]
        assert message["tokens"] == {"in": 10, "out": 1}
        assert (ended.tokens.total_in, ended.turns) == (10, 1)

    def test_cached_tokens_are_part_of_the_input(self) -> None:
        figures = {"input_tokens": 100, "output_tokens": 5}
        figures["cache_read_input_tokens"] = 90
        ended = run(part(text("hi")), OK | {"usage": figures})
        assert (ended.tokens.input, ended.tokens.cached) == (10, 90)

    def test_total_is_cumulative_over_results(self) -> None:
        first = {"usage": {"input_tokens": 10, "output_tokens": 1}, "num_turns": 1}
        second = {"usage": {"input_tokens": 30, "output_tokens": 3}, "num_turns": 2}
        ended = run(OK | first, OK | second)
        assert (ended.tokens.total_in, ended.tokens.output) == (30, 3)
        assert ended.final is not None
        assert ended.final.turns == 3

    def test_subagent_is_not_the_main_conversation(self) -> None:
        ended = run(
            part(use("a"), used=(10, 5)),
            part(text("I count"), use("n"), parent="a"),
            result_of("n", parent_tool_use_id="a"),
            result_of("a"),
            part(text("3"), used=(20, 6)),
            OK,
        )
        assert shown(ended) == [
            *("a running", "n running", "n success", "a success"),
            "3",
        ]
        assert ended.turns == 2

    def test_lines_wait_for_the_next_one_only(self) -> None:
        adapter = QwenCode()
        assert list(adapter.feed(part(text("held")))) == []
        assert [type(e).__name__ for e in adapter.pause()] == ["TurnStarted", "Message"]
        assert shown(run(part(text("held")))) == ["held"]


class TestPartial:
    def test_pieces_come_before_the_whole(self) -> None:
        ended = run(piece(thinking="hm"), piece(text="hi"), part(text("hi")), OK)
        assert ended.of_type(ThinkingDelta) == [ThinkingDelta("hm", "answer-1")]
        assert ended.of_type(TextDelta) == [TextDelta("hi", "answer-1")]
        assert shown(ended) == ["hi"]

    def test_killed_in_the_middle(self) -> None:
        ended = run(piece(thinking="hm"), piece(text="I l"), piece(text="ook"))
        assert (shown(ended), ended.turns) == (["hm", "I look"], 1)

    def test_other_parts(self) -> None:
        goal = {"type": "stream_event", "event": {"type": "goal_state"}}
        new = {"type": "stream_event", "event": {"type": "new"}}
        nested = {**piece(text="hidden"), "parent_tool_use_id": "a"}
        ended = run(goal, new, nested, OK)
        assert ended.unknown_types == {"stream_event/new": 1}
        assert shown(ended) == []


class TestErrors:
    def test_error_that_is_called_success(self) -> None:
        ended = run(part(text(LOST)), OK | {"result": LOST})
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        assert ended.outcome.message == LOST
        assert (shown(ended), ended.turns) == ([], 0)
        assert ended.of_type(Notice) == [Notice(LOST)]

    def test_error_behind_the_text_that_was_cut_off(self) -> None:
        ended = run(part(text("I was say" + LOST)), OK | {"result": "I was say" + LOST})
        assert (shown(ended), ended.turns) == (["I was say"], 0)
        assert ended.outcome.message == LOST

    def test_error_of_an_answer_that_was_empty(self) -> None:
        ended = run(part(text(LOST), used=(10, 5)), OK | {"result": LOST})
        assert (ended.outcome.status, ended.turns) == ("error", 0)
        assert (ended.tokens.total_in, ended.tokens.output) == (10, 5)

    def test_error_that_the_model_quotes(self) -> None:
        quoted = f"the log says {LOST}"
        ended = run(part(text(quoted), used=(10, 5)), OK | {"result": quoted})
        assert (ended.outcome.status, shown(ended)) == ("success", [quoted])

    def test_error_that_says_more(self) -> None:
        said = "[API Error: 429 too many]\n\nTry again later."
        assert run(part(text(said)), OK).outcome.message == said

    def test_error_of_the_result(self) -> None:
        ended = run(part(text("hi")), FAILED | {"error": {"message": "loop"}}, code=1)
        assert (ended.outcome.exit_code, ended.outcome.message) == (1, "loop")

    def test_result_without_a_message(self) -> None:
        assert run(FAILED, code=1).outcome.message == "error_during_execution"

    def test_turn_limit_has_no_result(self) -> None:
        ended = run(part(text("hi"), used=(10, 5)), code=53)
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 53)


class TestRetries:
    def test_discarded_text_is_not_written(self) -> None:
        cut = part(text("I was say"))
        ended = run(cut, RETRY, RETRY, cut, RETRY, part(text("I say"), used=(1, 1)), OK)
        assert (shown(ended), ended.turns) == (["I say"], 1)

    def test_other_lines_before_the_retry(self) -> None:
        cut, told = part(text("I was say")), system("model_fallback")
        ended = run(
            cut, told, {"type": "new"}, RETRY, part(text("I say"), used=(1, 1)), OK
        )
        assert (shown(ended), ended.turns) == (["I say"], 1)

    def test_a_whole_answer_may_be_thrown_away(self) -> None:
        """It was too short: its tokens were spent, but it is no turn."""
        short = part(text("trunc"), used=(1000, 100))
        keep = system("retry", preserveText=True)
        whole = part(text("trunctrunc"), used=(1003, 103))
        ended = run(short, RETRY, keep, whole, OK)
        assert (shown(ended), ended.turns) == (["trunctrunc"], 1)
        assert ended.tokens.total_in == 2003

    def test_a_whole_answer_that_was_written_in_a_pause(self) -> None:
        adapter = QwenCode()
        list(adapter.feed(part(text("trunc"), used=(1, 1))))
        assert [type(e).__name__ for e in adapter.pause()][-1] == "Message"
        assert Retracted(("answer-1",)) in list(adapter.feed(RETRY))

    def test_text_that_stays(self) -> None:
        keep = system("retry", preserveText=True)
        ended = run(part(text("one")), keep, part(text("two"), used=(1, 1)), OK)
        assert (shown(ended), ended.turns) == (["one", "two"], 1)

    def test_retry_without_an_attempt_takes_nothing_back(self) -> None:
        ended = run(part(use("a"), used=(1, 1)), result_of("a"), RETRY, OK)
        assert (ended.turns, ended.of_type(Retracted)) == (1, [])

    @pytest.mark.parametrize("used", [(0, 0), (1, 1)])
    def test_what_had_results_is_not_taken_back(self, used: tuple[int, int]) -> None:
        lines = [part(text("one")), part(use("a"), used=used), result_of("a")]
        ended = run(*lines, RETRY, part(text("two"), used=(1, 1)), OK)
        assert ended.of_type(Retracted) == []
        assert ended.turns == 2

    def test_discarded_tool_calls(self) -> None:
        retry = system("retry", preserveText=False, discardedToolCalls=1)
        skipped = result_of("a", "Skipped", is_error=True)
        again = (part(use("a"), used=(10, 1)), result_of("a"))
        ended = run(part(use("a"), used=(10, 1)), skipped, retry, *again, OK)
        assert shown(ended) == [
            *("a running", "a error", "a#2 running", "a#2 success"),
        ]
        assert ended.turns == 1
        assert ended.tokens.total_in == 20

    def test_discarded_text_that_was_written_in_a_pause(self) -> None:
        adapter = QwenCode()
        list(adapter.feed(part(text("cut"))))
        list(adapter.pause())
        assert Retracted(("answer-1",)) in list(adapter.feed(RETRY))
        last = part(text("cut"), text("on"), used=(1, 1))
        whole = [*adapter.feed(last), *adapter.pause()]
        said = [fact.text for fact in whole if isinstance(fact, Message)]
        assert said == ["on"]


class TestTools:
    @pytest.mark.parametrize(
        ("output", "is_error", "status"),
        [
            ("out", False, "success"),
            ("out", True, "error"),
            ("Command: x\nOutput: \nExit Code: 3\nSignal: (none)", False, "error"),
            ("Command: x\nOutput: \nExit Code: 0\nSignal: 0", False, "success"),
            ("Command: x\nOutput: \nExit Code: (none)", False, "success"),
            ("log:\nExit Code: 3", False, "success"),
        ],
    )
    def test_status(self, output: str, is_error: bool, status: str) -> None:
        done = result_of("a", output, is_error=is_error)
        ended = run(part(use("a"), used=(1, 1)), done, OK)
        assert shown(ended)[-1] == f"a {status}"

    def test_one_id_twice_in_one_answer(self) -> None:
        twice = part(use("a"), use("a"), used=(1, 1))
        ended = run(twice, result_of("a"), result_of("a"), OK)
        assert shown(ended)[1::2] == ["a#2 running", "a#2 success"]

    def test_permission(self) -> None:
        request = {"subtype": "can_use_tool", "tool_name": "sh", "tool_use_id": "a"}
        asked = {"type": "control_request", "request_id": "r", "request": request}
        ended = run(asked, {"type": "control_response"}, OK)
        assert ended.of_type(ApprovalAsked) == [ApprovalAsked("r", "sh", {}, "a")]
        other = asked | {"request": {"subtype": "new"}}
        assert run(other).unknown_types == {"control_request/new": 1}


class TestSystem:
    def test_session(self) -> None:
        init = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
        ended = run(init | {"cwd": "/src", "qwen_code_version": "0.24.4"}, OK)
        started = SessionStarted("s", "m", "/src", agent_version="0.24.4")
        assert ended.of_type(SessionStarted) == [started]

    def test_tasks_that_are_open_end_with_the_result(self) -> None:
        begun = [system("task_started", task_id=t) for t in ("t1", "t2")]
        usage = {"tool_uses": 2}
        done = system("task_notification", task_id="t1", status="failed", usage=usage)
        ended = run(*begun, done, OK)
        assert ended.of_type(SubagentUpdated)[2:] == [
            SubagentUpdated("t1", "failed", tool_uses=2),
            SubagentUpdated("t2", "completed"),
        ]
        assert not ended.story.background

    def test_other_lines(self) -> None:
        lines = (system("session_start"), system("vision_bridge", notice="image"))
        ended = run(*lines, system("model_fallback"), system("new"), OK)
        said = [n.text for n in ended.of_type(Notice)]
        assert said == ["vision_bridge: image", "model_fallback"]
        assert ended.unknown_types == {"system/new": 1}

    def test_broken_lines(self) -> None:
        kinds = ("assistant", "user", "system", "stream_event", "result", "new")
        ended = run(*({"type": kind, "message": 3} for kind in kinds))
        assert not ended.failures


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "system", "subtype": "init", "qwen_code_version": "1"}, True),
        ({"type": "system", "subtype": "init", "session_id": "s"}, False),
        ({"type": "assistant"}, False),
    ],
)
def test_recognises(event: dict[str, Any], expected: bool) -> None:
    assert QwenCode.recognises(event) is expected


class TestPrepare:
    @commands(
        "command expected asked",
        [
            ("qwen DO IT", "qwen -o stream-json DO IT", "DO IT"),
            ("qwen --yolo -p DO", "qwen -o stream-json --yolo -p DO", "DO"),
            ("qwen -o stream-json DO", "qwen -o stream-json DO", "DO"),
            ("qwen --output-format json DO",) * 2 + ("DO",),
            (
                "npx @qwen-code/qwen-code DO",
                "npx @qwen-code/qwen-code -o stream-json DO",
                "DO",
            ),
            ("qwen serve", "qwen serve", None),
            ("qwen -i DO", "qwen -i DO", None),
            ("qwen --help", "qwen --help", None),
        ],
    )
    def test_flags(self, case: Case) -> None:
        assert case.prepared(QwenCode) == case.expected

    def test_given_prompt_goes_in_by_stdin(self) -> None:
        prepared = QwenCode.prepare(["qwen", "--yolo"], "do it")
        assert (prepared.stdin, prepared.prompt) == (b"do it", "do it")
        assert prepared.added == ["-o stream-json"]

    def test_given_prompt_as_a_message_of_the_stream(self) -> None:
        command = ["qwen", "--input-format", "stream-json"]
        line = json.loads(QwenCode.prepare(command, "do it").stdin or b"")
        assert line["message"]["content"] == [text("do it")]

    def test_given_prompt_and_one_in_the_command(self) -> None:
        # with both, the agent would join them
        prepared = QwenCode.prepare(["qwen", "DO"], "other")
        assert (prepared.stdin, prepared.prompt) == (None, "other")

    @pytest.mark.parametrize(
        ("command", "model"),
        [("qwen -m q DO", "q"), ("qwen --model=q", "q"), ("qwen DO", "")],
    )
    def test_model(self, command: str, model: str) -> None:
        assert QwenCode.model_from(command.split()) == model
