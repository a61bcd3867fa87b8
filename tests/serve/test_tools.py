"""Tools in a session: a call, its progress, its result, ids that repeat."""

from __future__ import annotations

from agent_wrap.events import ToolFinished, ToolProgress, ToolStarted

from .telling import bare, end, session, since, told


def test_a_tool() -> None:
    events = told(
        ToolStarted("t1", "Bash", {"command": "make"}),
        ToolProgress("t1", "cc"),
        ToolProgress("t9", "of no tool"),
        ToolFinished("t1", "done"),
        ToolStarted("t2", "Read"),
        ToolFinished("t2", "no file", ok=False),
        ToolFinished("t2", "twice"),
    )
    call = {"toolCallId": "t1", "toolName": "Bash"}
    assert list(map(bare, events[1:])) == [
        {
            "type": "tool_call",
            **call,
            "input": '{"command":"make"}',
            "status": "running",
        },
        {"type": "tool_progress", "toolCallId": "t1", "content": "cc"},
        {"type": "tool_result", **call, "result": "done", "status": "complete"},
        {
            "type": "tool_call",
            "toolCallId": "t2",
            "toolName": "Read",
            "status": "running",
        },
        {
            "type": "tool_result",
            "toolCallId": "t2",
            "toolName": "Read",
            "result": "no file",
            "status": "error",
        },
    ]


def test_a_repeated_id_is_another_call() -> None:
    events = told(
        ToolStarted("t", "A"),
        ToolFinished("t", "1"),
        ToolStarted("t", "B"),
        ToolStarted("", "C"),
    )
    ids = [event["toolCallId"] for event in events[1:]]
    assert ids == ["t", "t", "t#2", "tool-3"]


def test_a_subagents_tool_has_its_parents_name() -> None:
    events = told(ToolStarted("t", "Agent"), ToolStarted("u", "Bash", None, "t"))
    assert events[-1]["toolName"] == "Agent/Bash"


def test_tools_that_are_open_at_the_end_are_closed() -> None:
    made = session()
    told(ToolStarted("t", "Bash"), made=made)
    end(made, "stopped")
    *_, result, error, last = since(made, 0)
    assert (result["toolCallId"], result["status"]) == ("t", "error")
    assert error["type"] == "error"
    assert last["terminalReason"] == "aborted_tools"
