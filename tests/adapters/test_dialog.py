"""Agents that print the dialog protocol themselves: well, and not so well."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import Prompt, RunFinished, SessionStarted, Unparsed
from agent_wrap.testing import Replay
from agent_wrap_adapters.dialog import Dialog

from .replays import play

TS = "2025-01-15T10:30:00+00:00"
DATA = {"task": "t", "cwd": "/src", "model": "m", "agent": "a"}
INIT: dict[str, Any] = {"type": "init", "data": DATA}
END: dict[str, Any] = {
    "type": "complete",
    "status": "success",
    "turns": 8,
    "duration_ms": 5,
    "total_tokens": {"in": 45, "out": 12},
}


def message(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content, **more}


def tool(status: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool", "tool_id": "x", "name": "bash", "status": status, **more}


def run(*entries: dict[str, Any], code: int = 0) -> Replay:
    numbered = [{"seq": i, "ts": TS, **entry} for i, entry in enumerate(entries)]
    return play(Dialog, *numbered, code=code)


def breaches(replayed: Replay) -> list[str]:
    return [
        e.reason.removeprefix("dialog protocol: ") for e in replayed.of_type(Unparsed)
    ]


def test_whole_dialog_comes_through() -> None:
    ended = run(
        INIT,
        {"type": "prompt", "content": "fix it"},
        {"type": "thinking", "content": "hm"},
        message("I look", tokens={"in": 15, "out": 4}),
        tool("running", args={"command": "ls"}),
        tool("success", result="a b"),
        tool("running"),
        tool("error", error="no"),
        message("done"),
        END,
    )
    assert breaches(ended) == []
    assert ended.of_type(SessionStarted) == [
        SessionStarted("", "m", "/src", "a", task="t")
    ]
    assert ended.of_type(Prompt) == [Prompt("fix it")]
    kinds = [e["type"] for e in ended.entries]
    assert kinds[:4] == ["init", "prompt", "thinking", "message"]
    assert kinds[4:] == ["tool"] * 4 + ["message", "complete"]
    assert ended.entries[3]["tokens"] == {"in": 15, "out": 4}
    assert "tokens" not in ended.entries[8]
    assert [e.get("result") for e in ended.entries[4:6]] == [None, "a b"]
    assert ended.entries[7]["error"] == "no"
    assert ended.entries[-1]["total_tokens"] == {"in": 45, "out": 12}
    assert ended.turns == 2
    assert ended.final is not None
    assert ended.final.turns == 8


@pytest.mark.parametrize("status", ["error", "timeout"])
def test_bad_end(status: str) -> None:
    ended = run(INIT, END | {"status": status}, code=0)
    assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
    assert ended.of_type(RunFinished)[0].reason == status
    assert ended.entries[-1]["message"] == f"the agent ended with status {status}"


def test_message_of_the_end() -> None:
    ended = run(INIT, END | {"status": "error", "message": "disk full"})
    assert ended.entries[-1]["message"] == "disk full"


def test_no_complete_is_an_error() -> None:
    assert run(INIT, message("hi")).outcome.reason == "no_final_event"


@pytest.mark.parametrize(
    ("entry", "breach"),
    [
        ({"type": "message", "content": "hi"}, "message.role: missing"),
        (message("hi", ts=3), "message.ts: is not a string"),
        (message("hi", seq=7), "seq: 7 where 1 should stand"),
        (message("hi", seq=True), "seq: True where 1 should stand"),
        (
            message("hi", tokens={"in": "x", "out": 1}),
            "message.tokens.in: is not a whole number",
        ),
        (message("hi", tokens=3), "message.tokens.in: missing"),
        ({"type": "thinking", "content": None}, "thinking.content: is not a string"),
        (tool("success"), "pairing: a result of 'x', which is not running"),
        (tool("done"), "tool.status: 'done' is none of running, success, error"),
        (INIT, "order: init is the first entry, and only the first"),
        (END | {"status": "ok"}, "complete.status: 'ok' is no status"),
        (END | {"turns": -1}, "complete.turns: is not a whole number"),
    ],
)
def test_breaches_are_named(entry: dict[str, Any], breach: str) -> None:
    ended = run(INIT, entry)
    assert breach in breaches(ended)
    assert ended.counts["unparsable"] == 1
    assert not ended.failures


def test_what_can_be_used_is_used() -> None:
    ended = run(INIT, {"type": "message", "content": "hi", "tokens": {"in": 3}}, END)
    assert ended.entries[2]["content"] == "hi"
    assert ended.entries[2]["tokens"] == {"in": 3, "out": 0}
    assert ended.outcome.status == "success"


def test_entries_after_complete() -> None:
    ended = run(INIT, END, message("late"))
    assert breaches(ended) == ["order: nothing follows complete"]


def test_incomplete_init() -> None:
    data = {"task": "t", "cwd": "unknown", "model": 3}
    ended = run({"type": "init", "data": data}, END)
    expected = ["init.data.model: is not a string", "init.data.agent: missing"]
    assert breaches(ended) == expected
    assert ended.of_type(SessionStarted) == [SessionStarted(task="t")]


def test_unknown_types() -> None:
    ended = run(INIT, {"type": "banner"}, {}, message("hi"), END)
    assert ended.unknown_types == {"banner": 1, "(no type)": 1}
    assert breaches(ended) == ["seq: 3 where 1 should stand"]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "init", "seq": 0, "data": {}}, True),
        ({"type": "init", "seq": 1, "data": {}}, False),
        ({"type": "init", "session_id": "s", "model": "m"}, False),
        ({"type": "system", "subtype": "init"}, False),
    ],
)
def test_recognises(event: dict[str, Any], expected: bool) -> None:
    assert Dialog.recognises(event) is expected
