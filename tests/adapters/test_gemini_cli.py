"""Gemini CLI's stream, one trap a test. Shapes as its version 0.61.0."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from agent_wrap.events import Notice, Prompt, SessionStarted, TextDelta, TodoUpdated
from agent_wrap.testing import Replay, replay
from agent_wrap_adapters.gemini_cli import GeminiCli

from .commands import Case, commands
from .replays import play, texts

OK: dict[str, Any] = {"type": "result", "status": "success"}
FAILED: dict[str, Any] = {"type": "result", "status": "error"}

run = partial(play, GeminiCli)


def delta(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def use(tool_id: str, name: str = "ls", parameters: Any = None) -> dict[str, Any]:
    told = {"tool_id": tool_id, "tool_name": name, "parameters": parameters}
    return {"type": "tool_use", **told}


def result_of(tool_id: str, status: str = "success", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_id": tool_id, "status": status, **fields}


def tools(replayed: Replay) -> list[tuple[str, str]]:
    found = [e for e in replayed.entries if e["type"] == "tool"]
    return [(e["tool_id"], e["status"]) for e in found]


class TestMessages:
    def test_fragments_are_joined(self) -> None:
        ended = run(
            delta("Hel"), delta("lo"), use("a"), result_of("a"), delta("end"), OK
        )
        assert texts(ended) == ["Hello", "end"]
        assert ended.turns == 2
        assert [e.message_id for e in ended.of_type(TextDelta)] == [
            "turn-1",
            "turn-1",
            "turn-2",
        ]

    def test_what_is_not_known_cuts_no_message(self) -> None:
        ended = run(delta("Hel"), {"type": "new"}, delta("lo"), OK)
        assert texts(ended) == ["Hello"]

    def test_end_of_the_stream_gives_the_last_one(self) -> None:
        ended = run(delta("cut "), delta("off"))
        assert texts(ended) == ["cut off"]
        assert ended.outcome.reason == "no_final_event"

    def test_message_that_comes_whole(self) -> None:
        whole = {"type": "message", "role": "assistant", "content": "whole"}
        ended = run(delta("a"), whole, delta("b"), OK)
        assert texts(ended) == ["a", "whole", "b"]

    @pytest.mark.parametrize("text", ["", " \n"])
    def test_blank_answers_are_no_turn(self, text: str) -> None:
        assert run(delta(text), OK).turns == 0

    def test_prompt_and_session(self) -> None:
        init = {"type": "init", "session_id": "s", "model": "m"}
        echo = {"type": "message", "role": "user", "content": "do it"}
        ended = run(init, echo, OK)
        assert ended.of_type(SessionStarted) == [SessionStarted("s", "m")]
        assert ended.of_type(Prompt) == [Prompt("do it")]


class TestTools:
    def test_turns_are_answers_between_results(self) -> None:
        ended = run(use("a"), use("b"), result_of("a"), result_of("b"), use("c"), OK)
        assert ended.turns == 2

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"output": "Error: no match", "error": {"message": "long"}}, "no match"),
            ({"error": {"type": "denied", "message": "not allowed"}}, "not allowed"),
            ({"output": None}, None),
        ],
    )
    def test_failures(self, fields: dict[str, Any], text: str | None) -> None:
        ended = run(use("a"), result_of("a", "error", **fields), OK)
        assert tools(ended)[-1] == ("a", "error")
        if text:
            assert text in ended.entries[-2]["error"]

    def test_output_may_be_absent(self) -> None:
        ended = run(use("a", "write_file"), result_of("a"), OK)
        assert tools(ended)[-1] == ("a", "success")

    def test_parameters_that_are_no_object(self) -> None:
        ended = run(use("a", parameters="ls -l"), result_of("a"), OK)
        assert ended.entries[2]["args"] == {"input": "ls -l"}

    def test_plan(self) -> None:
        todos = [{"description": "look", "status": "in_progress"}]
        ended = run(use("a", "write_todos", {"todos": todos}), result_of("a"), OK)
        (plan,) = ended.of_type(TodoUpdated)
        assert [(i.text, i.status) for i in plan.items] == [("look", "in_progress")]


class TestEnd:
    def test_error_of_the_result(self) -> None:
        error = {"type": "FatalTurnLimitedError", "message": "too many turns"}
        ended = run(delta("hi"), FAILED | {"error": error}, code=53)
        assert (ended.outcome.exit_code, ended.outcome.message) == (
            53,
            error["message"],
        )
        assert ended.final is not None
        assert ended.final.reason == "FatalTurnLimitedError"

    def test_error_event_before_an_error_without_a_message(self) -> None:
        said = {"type": "error", "severity": "error", "message": "stream ended"}
        ended = run(delta("cut"), said, FAILED)
        assert (ended.outcome.exit_code, ended.outcome.message) == (1, "stream ended")

    def test_warning_is_no_error(self) -> None:
        said = {"type": "error", "severity": "warning", "message": "Loop detected"}
        ended = run(delta("again"), said, OK)
        assert ended.outcome.status == "success"
        assert ended.outcome.message == ""
        assert ended.of_type(Notice) == [Notice("Loop detected")]

    @pytest.mark.parametrize(
        ("stats", "tokens"),
        [
            # the thoughts are only in the total
            ({"total_tokens": 35, "input_tokens": 20, "output_tokens": 10}, (20, 15)),
            ({"input_tokens": 20, "output_tokens": 10}, (20, 10)),
            ({"input_tokens": 20, "cached": 15, "output_tokens": 1}, (20, 1)),
            ({"input_tokens": "x"}, (0, 0)),
            (None, (0, 0)),
        ],
    )
    def test_tokens(self, stats: Any, tokens: tuple[int, int]) -> None:
        ended = run(delta("hi"), OK | {"stats": stats})
        assert (ended.tokens.total_in, ended.tokens.output) == tokens

    def test_line_cut_off_by_the_end(self) -> None:
        # large output on a small pipe: exit 0 in the middle of a line
        stream = json.dumps(use("a")).encode() + b'\n{"type":"tool_result","ou'
        ended = replay(stream, GeminiCli())
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        assert tools(ended)[-1] == ("a", "error")

    def test_unknown_events(self) -> None:
        ended = run({"type": "new"}, {}, delta("hi"), OK)
        assert ended.unknown_types == {"new": 1, "(no type)": 1}
        assert not ended.failures


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            {"type": "init", "timestamp": "t", "session_id": "s", "model": "m"},
            True,
        ),
        ({"type": "init", "seq": 0, "data": {}}, False),
        ({"type": "init", "session_id": "s"}, False),
        ({"type": "system", "subtype": "init", "session_id": "s", "model": "m"}, False),
    ],
)
def test_recognises(event: dict[str, Any], expected: bool) -> None:
    assert GeminiCli.recognises(event) is expected


class TestPrepare:
    @commands(
        "command expected asked",
        [
            ("gemini -p DO", "gemini -o stream-json -p DO", "DO"),
            ("gemini DO IT", "gemini -o stream-json DO IT", "DO IT"),
            ("gemini -o stream-json -p DO", "gemini -o stream-json -p DO", "DO"),
            ("gemini --output-format=json -p DO",) * 2 + ("DO",),
            ("gemini -m m --yolo", "gemini -o stream-json -m m --yolo", None),
            (
                "npx @google/gemini-cli@1 --prompt=DO",
                "npx @google/gemini-cli@1 -o stream-json --prompt=DO",
                "DO",
            ),
            ("gemini mcp list", "gemini mcp list", None),
            ("gemini --version", "gemini --version", None),
            ("gemini -i DO", "gemini -i DO", None),
        ],
    )
    def test_flags(self, case: Case) -> None:
        assert case.prepared(GeminiCli) == case.expected

    def test_given_prompt_goes_in_by_stdin(self) -> None:
        prepared = GeminiCli.prepare(["gemini", "--yolo"], "do it")
        assert (prepared.stdin, prepared.prompt) == (b"do it", "do it")
        assert prepared.added == ["-o stream-json"]

    def test_given_prompt_and_one_in_the_command(self) -> None:
        # with both, the agent would join them
        prepared = GeminiCli.prepare(["gemini", "-p", "DO"], "other")
        assert (prepared.stdin, prepared.prompt) == (None, "other")

    @pytest.mark.parametrize(
        ("command", "model"),
        [
            ("gemini -m pro -p DO", "pro"),
            ("gemini --model=pro", "pro"),
            ("gemini -p -m", ""),
        ],
    )
    def test_model(self, command: str, model: str) -> None:
        assert GeminiCli.model_from(command.split()) == model
