"""`agent-wrap serve`: turns, and their lock."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ..harness import child, marked
from .client import ListParser, Stream, get
from .server import Server
from .turns import PLAY, Starter, busy


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests that do not end it."""
    server = Server(tmp_path_factory.mktemp("server"), PLAY)
    yield server
    try:
        assert server.end() == 0
        assert "Traceback" not in server.stderr
    finally:
        server.close()


def test_a_turn(shared: Server, session: str) -> None:
    with shared.open(session) as stream:
        assert shared.message(session, "Hi\nthere", unknown=1) == (
            202,
            {"sessionId": session},
        )
        stream.until_kind("turn_end")
        asked, answer = shared.history(session)
    assert stream.events[0]["userMessage"] == "Hi\nthere"
    assert stream.events[-1]["terminalReason"] == "completed"
    assert (asked["content"], answer["content"]) == ("Hi\nthere", "Hello")
    listed = json.loads(get(shared.port, "/api/sessions")[2])["sessions"]
    assert next(s for s in listed if s["id"] == session)["title"] == "Hi"
    assert len(marked(shared.mark)) == 1


def test_a_session_that_nobody_knows_is_empty(shared: Server, session: str) -> None:
    with shared.open(session) as stream:
        assert stream.frames[0].data["cursor"] == 0
    assert shared.interrupt(session) == {"ok": False}
    assert not (shared.folder / "data" / "sessions" / session).exists()
    assert get(shared.port, f"/api/sessions/{session}")[0] == 404


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "VALIDATION_ERROR"),
        ({"content": ""}, 400, "VALIDATION_ERROR"),
        ({"content": 1}, 400, "VALIDATION_ERROR"),
        ({"content": "x", "cwd": 1}, 400, "VALIDATION_ERROR"),
        ({"content": "x", "cwd": "/etc"}, 403, "CWD_NOT_ALLOWED"),
        ({"content": "x", "cwd": "{work}/../../.."}, 403, "CWD_NOT_ALLOWED"),
        ({"content": "x", "cwd": "{work}/out"}, 403, "CWD_NOT_ALLOWED"),
        ({"content": "x", "cwd": "{work}-2"}, 403, "CWD_NOT_ALLOWED"),
        ({"content": "x", "cwd": "{work}/missing"}, 400, "VALIDATION_ERROR"),
        ({"content": "x", "cwd": "a\0b"}, 400, "VALIDATION_ERROR"),
        ({"content": "x" * 1_100_000}, 413, "BODY_TOO_LARGE"),
        ([1], 400, "VALIDATION_ERROR"),
        (b"{", 400, "VALIDATION_ERROR"),
        (b"", 400, "VALIDATION_ERROR"),
        (b"[" * 100_000, 400, "VALIDATION_ERROR"),
        (b"\xff", 400, "VALIDATION_ERROR"),
    ],
    ids=range(16),
)
def test_bad_messages(
    shared: Server, session: str, body: Any, status: int, code: str
) -> None:
    link = shared.work / "out"
    if not link.is_symlink():
        link.symlink_to("/etc")
    if isinstance(body, dict) and isinstance(body.get("cwd"), str):
        body = {**body, "cwd": body["cwd"].replace("{work}", str(shared.work))}
    answer = shared.post(f"/api/sessions/{session}/messages", body)
    assert (answer[0], answer[1]["code"]) == (status, code)
    assert shared.history(session) == []


def test_a_folder_below_the_root(shared: Server, session: str) -> None:
    (shared.work / "inner").mkdir(exist_ok=True)
    with shared.open(session) as stream:
        shared.message(session, "x", cwd=str(shared.work / "inner"))
        stream.until_kind("turn_end")
    told = json.loads(get(shared.port, f"/api/sessions/{session}")[2])
    assert told["cwd"] == str(shared.work / "inner")


def test_others_may_not_post(shared: Server, session: str) -> None:
    path = f"/api/sessions/{session}/messages"
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        assert shared.post(path, {"content": "x"}, **headers)[0] == 403
    assert shared.post("/api/sessions/abc/messages", {"content": "x"})[0] == 400


def test_the_next_message_may_come_with_the_end(shared: Server, session: str) -> None:
    with shared.open(session) as stream:
        for number in range(1, 6):
            assert shared.message(session, str(number))[0] == 202
            stream.until_count("turn_end", number)
            assert len(shared.history(session)) == 2 * number
    assert stream.kinds.count("turn_start") == 5


def test_the_list_is_told(shared: Server, session: str) -> None:
    with Stream(shared.port, "/api/events", parser=ListParser()) as stream:
        stream.until_kind("connected")
        with shared.open(session) as own:
            shared.message(session, "x")
            own.until_kind("turn_end")
        stream.until(lambda: stream.kinds.count("session_upserted") >= 2)
    states = [f.data for f in stream.frames if f.event == "session_status"]
    assert [s["status"]["lifecycle"] for s in states if s["sessionId"] == session] == [
        "streaming",
        "idle",
    ]


# The lock


@pytest.fixture
def slow(start: Starter, tmp_path: Path) -> Server:
    """A server whose agent ends when a file is there."""
    wait = f"until={tmp_path}/go"
    return start(
        child("scripted", "init", "tool=t1", wait, "done=t1", "text=Hello", "result")
    )


def test_a_busy_session_is_locked(slow: Server, session: str) -> None:
    with busy(slow, session) as stream:
        for client in ("me", "another"):  # for whoever has it, too
            path = f"/api/sessions/{session}/messages"
            status, told = slow.post(path, {"content": "y"}, X_Client_Id=client)
            assert (status, told["error"]) == (409, "Session locked")
            assert (told["code"], told["lockedBy"]) == ("SESSION_LOCKED", "me")
            assert datetime.fromisoformat(told["lockedAt"]).tzinfo is not None
        # Clients without a name are different ones.
        others = [str(uuid.uuid4()) for _ in range(2)]
        names = set()
        for other in others:
            assert slow.message(other, "y")[0] == 202
            names.add(str(uuid.UUID(slow.message(other, "y")[1]["lockedBy"])))
        assert len(names) == 2
        (slow.folder / "go").touch()
        stream.until_kind("turn_end")
        assert slow.message(session, "y")[0] == 202
        stream.until(lambda: stream.kinds.count("turn_end") == 2)
    assert slow.end() == 0


def test_interrupting(slow: Server, session: str) -> None:
    with busy(slow, session) as stream:
        assert slow.interrupt(session) == {"ok": True}
        stream.until_kind("turn_end")
        assert slow.interrupt(session) == {"ok": False}
        (slow.folder / "go").touch()
        slow.message(session, "again")
        stream.until(lambda: stream.kinds.count("turn_end") == 2)
    first, second = (e for e in stream.events if e["type"] == "turn_end")
    assert first["terminalReason"] == "aborted_tools"
    assert second["terminalReason"] == "completed"


def test_a_stop_signal_ends_turns_and_server(slow: Server, session: str) -> None:
    with busy(slow, session) as stream:
        assert slow.end() == 0
        stream.to_end()
    assert stream.events[-1]["terminalReason"] == "aborted_tools"
    assert marked(slow.mark) == {}


def test_bad_ends_free_the_session(start: Starter, session: str) -> None:
    server = start(["{prompt}"])
    with server.open(session) as stream:
        for number, program in enumerate(("/no/such/program", "false", "true"), 1):
            assert server.message(session, program)[0] == 202
            stream.until_count("turn_end", number)
    ends = [e["terminalReason"] for e in stream.events if e["type"] == "turn_end"]
    assert ends == ["error"] * 3
    codes = [e["code"] for e in stream.events if e["type"] == "error"]
    assert codes == ["spawn_failed", "agent_exit", "no_final_event"]


def test_later_turns_know_the_agents_session(start: Starter, session: str) -> None:
    again = " ".join(
        child("scripted", "init", "text=resumes {agent_session}", "result")
    )
    server = start(
        PLAY,
        "--next-command",
        again.replace("text=", "'text=").replace("session}", "session}'"),
    )
    with server.open(session) as stream:
        for number in (1, 2):
            server.message(session, "x")
            stream.until_count("turn_end", number)
    assert [m["content"] for m in server.history(session)][1::2] == [
        "Hello",
        "resumes s-1",
    ]
