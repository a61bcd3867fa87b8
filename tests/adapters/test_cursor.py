"""Cursor's lines by its documentation, a trap a test: no run was recorded."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap_adapters.cursor import Cursor

from .commands import Case, commands
from .replays import play, texts, tools

run = partial(play, Cursor)


def test_unknown_types_are_counted() -> None:
    assert run({"type": "new"}).unknown_types == {"new": 1}


def say(text: str, **more: Any) -> Any:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"content": content}} | more


def tool(subtype: str, body: dict[str, Any], key: str = "shellToolCall") -> Any:
    event = {"type": "tool_call", "subtype": subtype, "call_id": "c1"}
    return event | {"tool_call": {"toolCallId": "c1", key: body}}


def finish(result: Any) -> dict[str, Any]:
    started = tool("started", {"args": {"command": "ls"}})
    return tools(run(started, tool("completed", {"result": result})))[1]


def test_pieces_that_come_again_as_a_whole() -> None:
    started = tool("started", {"args": {}})
    ended = run(
        *(say("He", timestamp_ms=1), say("llo.", timestamp_ms=2)),
        say("Hello.", model_call_id="m"),
        *(started, tool("completed", {"result": {"success": {}}})),
        *(say("Bye."), say("Hello.Bye.")),
    )
    assert texts(ended) == ["Hello.", "Bye."]
    assert ended.turns == 2


@pytest.mark.parametrize(
    ("given", "status", "text"),
    [
        ({"success": {"stdout": "a", "stderr": "b"}}, "success", "ab"),
        ({"success": {"exitCode": 3, "stdout": "a"}}, "error", "a"),
        ({"success": {"content": "x"}}, "success", "x"),
        ({"success": {"files": []}}, "success", '{"files": []}'),
        ({"failure": {"exitCode": 1, "stderr": "no"}}, "error", "no"),
        ({"rejected": {"reason": "policy"}}, "error", "policy"),
        ({"error": {"errorMessage": "gone"}}, "error", "gone"),
        ({"timeout": None}, "error", "timeout"),
    ],
)
def test_results(given: Any, status: str, text: str) -> None:
    ended = finish(given)
    assert ended["status"] == status
    assert (ended.get("result") or ended.get("error")) == text


def test_tools_of_other_shapes() -> None:
    function = {"name": "search", "arguments": '{"q": "x"}'}
    start = tools(run(tool("started", function, "function")))[0]
    assert (start["name"], start["args"]) == ("search", {"q": "x"})


@commands(
    "command prompt expected asked",
    [
        (
            ["do it"],
            None,
            ["do it", "-p", "--output-format", "stream-json"],
            "do it",
        ),
        (["-p", "--output-format", "text", "a"], None, None, "a"),
        (["-f"], "b", ["-f", "-p", "--output-format", "stream-json", "b"], "b"),
        (["status"], None, None, None),
        ([], None, None, None),
    ],
    program="cursor-agent",
)
def test_prepare(case: Case) -> None:
    assert case.prepared(Cursor) == case.expected
