"""Codex's stream of `exec`, one trap a test. Shapes as its versions 0.98 and 0.171."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import (
    Notice,
    TodoItem,
    TodoUpdated,
)

from .codex_lines import (
    DONE,
    command,
    item,
    run,
    say,
)
from .replays import texts, tools


class TestEnd:
    def test_cached_is_a_part_of_the_input(self) -> None:
        usage = {
            "input_tokens": 6060,
            "cached_input_tokens": 6000,
            "output_tokens": 96,
            "reasoning_output_tokens": 5,
        }
        tokens = run({"type": "turn.completed", "usage": usage}).tokens
        assert (tokens.input, tokens.cached, tokens.total_in) == (60, 6000, 6060)
        assert (tokens.output, tokens.reasoning) == (96, 5)

    def test_totals_are_of_the_thread(self) -> None:
        more = {"type": "turn.completed", "usage": {"input_tokens": 30}}
        ended = run(DONE, {"type": "turn.started"}, more)
        assert ended.tokens.total_in == 30

    def test_failed_turn_with_exit_0(self) -> None:
        failed = {"type": "turn.failed", "error": {"message": "at capacity"}}
        ended = run(say("partial"), {"type": "error", "message": "x"}, failed)
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        assert ended.entries[-1]["message"] == "at capacity"
        assert texts(ended) == ["partial"]

    def test_errors_are_provisional(self) -> None:
        lines = [{"type": "error", "message": f"Reconnecting... {k}/5"} for k in (1, 2)]
        ended = run(*lines, say("OK"), DONE)
        assert ended.outcome.status == "success"
        assert [n.text for n in ended.of_type(Notice)] == [e["message"] for e in lines]

    def test_second_turn_takes_the_end_back(self) -> None:
        ended = run(DONE, {"type": "turn.started"})
        assert ended.outcome.status == "error"

    def test_no_end_at_all(self) -> None:
        assert run({"type": "turn.started"}).outcome.reason == "no_final_event"


RETRY = {"type": "error", "message": "Reconnecting... 1/1"}


class TestRetriedText:
    def test_identical_text_is_dropped(self) -> None:
        ended = run(say("same"), RETRY, say("same"), DONE)
        assert texts(ended) == ["same"]
        assert ended.turns == 1

    def test_other_text_is_kept(self) -> None:
        assert texts(run(say("part"), RETRY, say("whole"), DONE)) == [
            "part",
            "whole",
        ]

    def test_without_a_notice_it_is_said_twice(self) -> None:
        assert texts(run(say("same"), say("same"), DONE)) == ["same", "same"]

    def test_something_else_came_between(self) -> None:
        between = [command("started"), command("completed", "completed", 0)]
        ended = run(say("same"), RETRY, *between, say("same"), DONE)
        assert texts(ended) == ["same", "same"]


class TestItems:
    @pytest.mark.parametrize(
        ("status", "code", "expected"),
        [
            ("completed", 0, "success"),
            ("completed", None, "success"),
            ("completed", 1, "error"),
            ("failed", 1, "error"),
            ("failed", None, "error"),
            ("declined", None, "error"),
        ],
    )
    def test_status(self, status: str, code: int | None, expected: str) -> None:
        ended = run(command("started"), command("completed", status, code), DONE)
        assert [t["status"] for t in tools(ended)] == ["running", expected]
        assert tools(ended)[0]["name"] == "bash"
        assert tools(ended)[0]["args"] == {"command": "ls"}
        assert "out" in tools(ended)[1].values()

    @pytest.mark.parametrize(
        ("status", "code", "error"),
        [("failed", 3, "exit code 3"), ("declined", None, "declined")],
    )
    def test_silent_failure(self, status: str, code: int | None, error: str) -> None:
        more: dict[str, Any] = {"command": "x", "status": status, "exit_code": code}
        ended = run(item("command_execution", **more), DONE)
        assert tools(ended)[1]["error"] == error

    def test_completed_without_started(self) -> None:
        changes = [{"path": "a", "kind": "add"}]
        ended = run(item("file_change", changes=changes, status="completed"), DONE)
        assert [t["status"] for t in tools(ended)] == ["running", "success"]
        assert tools(ended)[0]["name"] == "apply_patch"
        assert tools(ended)[0]["args"] == {"changes": changes}

    def test_mcp(self) -> None:
        call: dict[str, Any] = {"server": "s", "tool": "t", "arguments": {"a": 1}}
        content = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
        good: dict[str, Any] = {"status": "completed", "result": {"content": content}}
        bad: dict[str, Any] = {
            "status": "failed",
            "error": {"message": "broken pipe"},
            "result": None,
        }
        ended = run(
            item("mcp_tool_call", "1", **call, **good),
            item("mcp_tool_call", "2", **call, **bad),
            DONE,
        )
        assert {t["name"] for t in tools(ended)} == {"mcp__s__t"}
        assert tools(ended)[1]["result"] == "x\ny"
        assert tools(ended)[3]["error"] == "broken pipe"

    def test_collab(self) -> None:
        states = {"th": {"status": "completed", "message": "3 files"}}
        more: dict[str, Any] = {"tool": "wait", "prompt": None, "agents_states": states}
        ended = run(item("collab_tool_call", status="completed", **more), DONE)
        assert tools(ended)[1]["name"] == "wait"
        assert tools(ended)[1]["result"] == "completed: 3 files"

    def test_web_search(self) -> None:
        ended = run(item("web_search", query="python"), DONE)
        assert tools(ended)[0]["args"] == {"query": "python"}

    def test_plan_is_written_when_it_changes(self) -> None:
        def plan(ev: str, done: bool) -> Any:
            return item("todo_list", ev=ev, items=[{"text": "a", "completed": done}])

        ended = run(
            plan("started", False),
            plan("updated", True),
            say("kept"),
            plan("completed", True),
            DONE,
        )
        names = [(t["tool_id"], t["name"], t["status"]) for t in tools(ended)]
        assert names == [
            ("item_0", "update_plan", "running"),
            ("item_0", "update_plan", "success"),
            ("item_0#2", "update_plan", "running"),
            ("item_0#2", "update_plan", "success"),
        ]
        assert ended.of_type(TodoUpdated)[-1].items == (TodoItem("a", "completed"),)

    def test_empty_message_is_no_turn(self) -> None:
        ended = run(say(""), say("\n"), DONE)
        assert (ended.turns, texts(ended)) == (0, [])

    def test_reasoning_and_warning(self) -> None:
        ended = run(item("reasoning", text="hm"), item("error", message="beware"), DONE)
        assert ended.entries[2]["type"] == "thinking"
        assert ended.of_type(Notice) == [Notice("beware")]
        assert ended.outcome.status == "success"

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ({"type": "brand.new"}, "brand.new"),
            ({}, "(no type)"),
            (item("hologram"), "item/hologram"),
            ({"type": "item.completed", "item": None}, "item/(no type)"),
        ],
    )
    def test_unknown(self, line: Any, name: str) -> None:
        ended = run(line, DONE)
        assert ended.unknown_types == {name: 1}
        assert not ended.failures

    @pytest.mark.parametrize(
        "line",
        [
            {"type": "turn.completed", "usage": "x"},
            {"type": "turn.failed", "error": None},
            item("todo_list", items=3),
            item("mcp_tool_call", result=[1], error=5, arguments="x"),
            item("command_execution", aggregated_output=3, exit_code="x", command=None),
            item("agent_message", text=None),
            item("reasoning", summary=[1]),
            item("collab_tool_call", agents_states=[1]),
        ],
    )
    def test_wrong_shapes_never_fail(self, line: Any) -> None:
        assert not run(line, DONE).failures
