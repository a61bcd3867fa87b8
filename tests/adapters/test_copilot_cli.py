"""Copilot CLI's events, one trap a test. Shapes as its version 1.0.102."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import (
    Notice,
    Prompt,
    Retracted,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
)
from agent_wrap_adapters.copilot_cli import CopilotCli

from .commands import Case, commands
from .replays import play, texts, tools

FAILED = {"errorType": "query", "message": "no answer"}

run = partial(play, CopilotCli)


def event(kind: str, agent: str = "", **data: Any) -> Any:
    told = {"type": kind, "data": data, "id": "i", "parentId": "p"}
    return {**told, "agentId": agent} if agent else told


def said(text: str, message_id: str = "m1", **more: Any) -> Any:
    return event("assistant.message", content=text, messageId=message_id, **more)


def delta(text: str, message_id: str = "m1") -> Any:
    return event("assistant.message_delta", deltaContent=text, messageId=message_id)


def started(tool_id: str = "t1", agent: str = "", **more: Any) -> Any:
    data = {"toolCallId": tool_id, "toolName": "bash", "arguments": {"command": "ls"}}
    return event("tool.execution_start", agent, **data, **more)


def ended(tool_id: str = "t1", agent: str = "", **more: Any) -> Any:
    data: dict[str, Any] = {"success": True, "result": {"content": "out"}}
    data = {"toolCallId": tool_id, **data, **more}
    return event("tool.execution_complete", agent, **data)


def result(code: int = 0) -> Any:
    return {"type": "result", "sessionId": "s1", "exitCode": code, "usage": {}}


class TestEnd:
    def test_good(self) -> None:
        replayed = run(said("hi"), result())
        assert replayed.outcome.status == "success"
        assert replayed.story.session.session_id == "s1"

    def test_abort_though_the_result_says_0(self) -> None:
        replayed = run(started(), event("abort", reason="user_initiated"), result())
        assert replayed.outcome.status == "error"
        assert replayed.outcome.message == "aborted: user_initiated"
        assert [t["status"] for t in tools(replayed)] == ["running", "error"]

    def test_error_is_the_message(self) -> None:
        replayed = run(event("session.error", **FAILED), result(1), code=1)
        assert replayed.outcome.message == "no answer"
        assert replayed.of_type(Notice) == [Notice("no answer")]

    def test_error_that_was_overcome(self) -> None:
        replayed = run(event("session.error", **FAILED), said("hi"), result())
        assert replayed.outcome.status == "success"

    def test_error_though_the_result_says_0(self) -> None:
        replayed = run(said("hi"), event("session.error", **FAILED), result())
        assert replayed.outcome.status == "error"

    def test_error_of_a_subagent_is_not_the_runs(self) -> None:
        failed = event("session.error", "a1", **FAILED)
        assert run(failed, result()).outcome.status == "success"

    def test_code_without_words(self) -> None:
        assert run(result(4), code=4).outcome.message == "exit code 4"

    def test_no_end_at_all(self) -> None:
        assert run(said("hi")).outcome.reason == "no_final_event"


class TestWords:
    def test_thinking_stands_before_its_message_once(self) -> None:
        again = event("assistant.reasoning", content="why", reasoningId="r")
        replayed = run(said("because", reasoningText="why"), again, result())
        kinds = [e["type"] for e in replayed.entries]
        assert kinds == ["init", "prompt", "thinking", "message", "complete"]
        assert texts(replayed, "thinking") == ["why"]

    def test_deltas_are_for_who_reads_along(self) -> None:
        thought = event("assistant.reasoning_delta", deltaContent="w")
        replayed = run(thought, delta("h"), delta("i"), said("hi"), result())
        assert texts(replayed) == ["hi"]
        assert [d.text for d in replayed.of_type(TextDelta)] == ["h", "i"]
        assert replayed.of_type(ThinkingDelta) == [ThinkingDelta("w")]

    def test_parts_of_one_answer_are_one_turn(self) -> None:
        parts = [said(f"{n}", f"m{n}", apiCallId="call-1") for n in (1, 2)]
        replayed = run(*parts, result())
        assert (replayed.turns, texts(replayed)) == (1, ["1", "2"])

    def test_answer_of_tools_alone_is_a_turn(self) -> None:
        call = said("", toolRequests=[{"toolCallId": "t1"}])
        assert run(call, started(), ended(), result()).turns == 1

    def test_empty_answer_is_none(self) -> None:
        assert run(said("", toolRequests=[]), result()).turns == 0

    @pytest.mark.parametrize("kind", ["assistant.turn_retry", "assistant.turn_end"])
    def test_text_that_never_came_whole_is_taken_back(self, kind: str) -> None:
        """A retry; an answer cut by its length is asked for again without a word."""
        again = [delta("hi", "m2"), said("hi", "m2")]
        replayed = run(delta("h"), event(kind, reason="x"), *again, result())
        assert replayed.of_type(Retracted) == [Retracted(("m1",))]
        assert (replayed.turns, texts(replayed)) == (1, ["hi"])

    def test_killed_while_it_spoke(self) -> None:
        replayed = run(delta("half an "), delta("answer"), signal=9)
        assert (replayed.turns, texts(replayed)) == (1, ["half an answer"])

    def test_interrupted_while_it_spoke(self) -> None:
        stop = [event("agent.interrupted"), event("assistant.turn_end")]
        replayed = run(delta("half"), *stop, event("abort", reason="r"), result())
        assert (texts(replayed), replayed.outcome.status) == (["half"], "error")

    def test_prompt_is_what_the_user_said(self) -> None:
        asked = event("user.message", content="do", transformedContent="<date> do")
        assert run(asked, result()).of_type(Prompt) == [Prompt("do")]

    def test_model_is_told_once(self) -> None:
        """Each retry names it again: that would count as progress."""
        calls = [event("model.call_start", model="m")] * 3
        replayed = run(event("session.tools_updated", model="m"), *calls)
        assert replayed.of_type(SessionStarted) == [SessionStarted(model="m")]


class TestTools:
    @pytest.mark.parametrize(
        ("more", "status", "text"),
        [
            ({}, "success", "out"),
            ({"shellExecution": {"exitCode": 0}}, "success", "out"),
            ({"shellExecution": {"exitCode": 3}}, "error", "out"),
            (
                {"success": False, "result": None, "error": {"message": "no such"}},
                "error",
                "no such",
            ),
        ],
    )
    def test_status(self, more: Any, status: str, text: str) -> None:
        finished = tools(run(started(), ended(**more), result()))[1]
        assert (finished["name"], finished["status"]) == ("bash", status)
        assert text in (finished.get("result"), finished.get("error"))

    def test_progress_is_what_is_new(self) -> None:
        lines = [
            event("tool.shell_output", toolCallId="t1", text="a"),
            event("tool.execution_partial_result", toolCallId="t1", partialOutput="a"),
            event("tool.shell_output", toolCallId="t1", text="b"),
            event("tool.execution_partial_result", toolCallId="t1", partialOutput="ab"),
        ]
        replayed = run(started(), *lines, ended(), result())
        assert [p.text for p in replayed.of_type(ToolProgress)] == ["a", "b"]


class TestSubagents:
    def test_words_are_not_the_main_assistants(self) -> None:
        about = {"toolCallId": "t1", "agentName": "explore"}
        replayed = run(
            event("subagent.started", "a1", **about),
            event("user.message", "a1", content="child, do"),
            event("assistant.message", "a1", content="child", messageId="c"),
            started("t2", agent="a1"),
            ended("t2", agent="a1"),
            event("subagent.completed", "a1", **about),
            result(),
        )
        assert (replayed.turns, texts(replayed)) == (0, [])
        assert replayed.of_type(Prompt) == []
        updates = [(u.id, u.status) for u in replayed.of_type(SubagentUpdated)]
        assert updates == [("t1", "running"), ("t1", "completed")]

    @pytest.mark.parametrize("by", ["agent", "parent"])
    def test_tools_carry_the_name_of_their_parent(self, by: str) -> None:
        task = started("t1")
        task["data"]["toolName"] = "task"
        child = started("t2", agent="a1")
        if by == "parent":
            child = started("t2", parentToolCallId="t1")
        begun = event("subagent.started", "a1", toolCallId="t1", agentName="explore")
        replayed = run(task, begun, child, ended("t2"), ended("t1"), result())
        assert {t["name"] for t in tools(replayed)} == {"task", "task/bash"}

    def test_none_is_at_work_after_the_end(self) -> None:
        begun = event("subagent.started", "a1", toolCallId="t1", agentName="explore")
        assert not run(begun, result()).story.background


@pytest.mark.parametrize("kind", ["session.new_thing", "tool.new", "subagent.new", "x"])
def test_unknown_types(kind: str) -> None:
    assert run(event(kind)).unknown_types == {kind: 1}


@pytest.mark.parametrize("line", [{}, {"type": 5}, {"type": "assistant.message"}])
def test_surprising_shapes(line: Any) -> None:
    assert run(line, started(), ended(success=None), result()).failures == []


class TestCommand:
    @commands(
        "command prompt expected stdin asked",
        [
            (
                "copilot -p do",
                None,
                "copilot --output-format json -p do",
                None,
                "do",
            ),
            (
                "npx @github/copilot --allow-all",
                "do",
                "npx @github/copilot --output-format json --allow-all",
                b"do",
                "do",
            ),
            (
                "copilot -p do --output-format text",
                None,
                "copilot -p do --output-format text",
                None,
                "do",
            ),
            ("copilot", None, "copilot", None, None),
            ("copilot mcp list", None, "copilot mcp list", None, None),
            ("copilot -i do", None, "copilot -i do", None, None),
            ("copilot --acp", "do", "copilot --acp", None, None),
        ],
    )
    def test_prepare(self, case: Case) -> None:
        assert case.prepared(CopilotCli) == case.expected

    def test_told_prompt_stays(self) -> None:
        prepared = CopilotCli.prepare(["copilot", "-p", "told"], "given")
        assert (prepared.stdin, prepared.prompt) == (None, "given")

    def test_model(self) -> None:
        assert CopilotCli.model_from(["copilot", "--model=m", "-p", "do"]) == "m"
        assert CopilotCli.model_from(["copilot", "-p", "do"]) == ""
