"""`agent-wrap serve`: turns, their lock, and sessions that outlive the server."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ..harness import PATIENCE, WRAPPER, child, environment, marked, wait_for, wrapper
from .client import ListParser, Parser, Stream, get

PLAY = child("scripted", "init", "text=Hello", "result")


class Server:
    """A server process; what it kept is there for the next one."""

    def __init__(self, folder: Path, command: list[str], *options: str) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.variables = environment(folder / "unused")
        self.mark = next(v for k, v in self.variables.items() if k.endswith("MARK"))
        self.said = folder / f"said-{uuid.uuid4().hex[:8]}"
        with self.said.open("wb") as err:
            self.process = subprocess.Popen(
                [
                    *(WRAPPER, "serve", "--listen", "127.0.0.1:0"),
                    *("--data", str(folder / "data"), "--root", str(self.work)),
                    *("--adapter", "claude-code", *options, "--", *command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                env=self.variables,
            )
        wait_for(lambda: " at http://" in self.stderr or self.ended, "a server")
        assert not self.ended, self.stderr
        address = self.stderr.partition(" at http://")[2].partition(",")[0]
        self.port = int(address.rpartition(":")[2])

    @property
    def stderr(self) -> str:
        return self.said.read_text()

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def post(
        self, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, PATIENCE)
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request("POST", path, raw, named)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def message(
        self, session: str, content: Any, **more: Any
    ) -> tuple[int, dict[str, Any]]:
        path = f"/api/sessions/{session}/messages"
        return self.post(path, {"content": content, **more})

    def interrupt(self, session: str) -> dict[str, Any]:
        return self.post(f"/api/sessions/{session}/interrupt")[1]

    def open(self, session: str, last: str | None = None) -> Stream:
        mark = int(last.rpartition("-")[2]) if last else None
        path = f"/api/sessions/{session}/events"
        stream = Stream(self.port, path, parser=Parser(mark), last=last)
        return stream if last else stream.until_kind("snapshot")

    def history(self, session: str) -> list[dict[str, Any]]:
        path = f"/api/sessions/{session}/messages"
        return list(json.loads(get(self.port, path)[2])["messages"])

    def end(self, number: int = signal.SIGTERM) -> int:
        if not self.ended:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """Leave nothing running, whatever the test found."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for pid in marked(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


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


@pytest.fixture
def session() -> str:
    return str(uuid.uuid4())


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
def slow(tmp_path: Path) -> Iterator[Server]:
    """A server whose agent ends when a file is there."""
    steps = (
        "init",
        "tool=t1",
        f"until={tmp_path}/go",
        "done=t1",
        "text=Hello",
        "result",
    )
    server = Server(tmp_path, child("scripted", *steps))
    yield server
    server.close()


def busy(server: Server, session: str) -> Stream:
    stream = server.open(session)
    path = f"/api/sessions/{session}/messages"
    answer = server.post(path, {"content": "x"}, X_Client_Id="me")
    assert answer == (202, {"sessionId": session})
    return stream.until_kind("tool_call")


def test_a_busy_session_is_locked(slow: Server, session: str) -> None:
    with busy(slow, session) as stream:
        for client in ("me", "another"):  # for whoever has it, too
            path = f"/api/sessions/{session}/messages"
            status, told = slow.post(path, {"content": "y"}, X_Client_Id=client)
            assert (status, told["error"]) == (409, "Session locked")
            assert (told["code"], told["lockedBy"]) == ("SESSION_LOCKED", "me")
            assert datetime.fromisoformat(told["lockedAt"]).tzinfo is not None
        other = str(uuid.uuid4())
        assert slow.message(other, "y")[0] == 202
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


def test_bad_ends_free_the_session(tmp_path: Path, session: str) -> None:
    server = Server(tmp_path, ["{prompt}"])
    try:
        with server.open(session) as stream:
            for number, program in enumerate(("/no/such/program", "false", "true"), 1):
                assert server.message(session, program)[0] == 202
                stream.until_count("turn_end", number)
        ends = [e["terminalReason"] for e in stream.events if e["type"] == "turn_end"]
        assert ends == ["error"] * 3
        codes = [e["code"] for e in stream.events if e["type"] == "error"]
        assert codes == ["spawn_failed", "agent_exit", "no_final_event"]
    finally:
        server.close()


def test_later_turns_know_the_agents_session(tmp_path: Path, session: str) -> None:
    again = " ".join(
        child("scripted", "init", "text=resumes {agent_session}", "result")
    )
    server = Server(
        tmp_path,
        PLAY,
        "--next-command",
        again.replace("text=", "'text=").replace("session}", "session}'"),
    )
    try:
        with server.open(session) as stream:
            for number in (1, 2):
                server.message(session, "x")
                stream.until_count("turn_end", number)
        assert [m["content"] for m in server.history(session)][1::2] == [
            "Hello",
            "resumes s-1",
        ]
    finally:
        server.close()


# Outliving the server


def test_a_client_resumes_across_a_restart(tmp_path: Path, session: str) -> None:
    first = Server(tmp_path, PLAY)
    second = None
    try:
        with first.open(session) as stream:
            first.message(session, "one")
            stream.until_kind("turn_end")
        assert first.end() == 0
        second = Server(tmp_path, PLAY)
        with second.open(session, stream.frames[2].id) as again:
            second.message(session, "two")
            again.until(lambda: again.kinds.count("turn_end") == 2)
        assert "snapshot" not in again.kinds
        old = [frame.raw for frame in stream.frames[3:]]
        assert [frame.raw for frame in again.frames[: len(old)]] == old
        assert [m["content"] for m in second.history(session)] == [
            *("one", "Hello"),
            *("two", "Hello"),
        ]
    finally:
        first.close()
        if second is not None:
            second.close()


def test_a_server_that_is_killed_in_a_turn(tmp_path: Path, session: str) -> None:
    command = child("scripted", "init", "tool=t1", "sleep=600")
    first = Server(tmp_path, command)
    second = None
    try:
        with busy(first, session) as stream:
            first.end(signal.SIGKILL)
        assert len(marked(first.mark)) > 1  # the run has outlived its server
        second = Server(tmp_path, command)
        wait_for(lambda: marked(first.mark) == {}, "the end of the run")
        with second.open(session, stream.last_id) as again:
            again.until_kind("turn_end")
            assert "snapshot" not in again.kinds
            result = next(e for e in again.events if e["type"] == "tool_result")
            assert (result["toolCallId"], result["status"]) == ("t1", "error")
            error = next(e for e in again.events if e["type"] == "error")
            assert "server ended" in error["message"]
            second.message(session, "again")
            again.until(lambda: again.kinds.count("tool_call") == 1)
        [archive, _] = sorted(
            (tmp_path / "data/sessions" / session / "turns").iterdir()
        )
        assert b'"complete"' in (archive / "dialog.jsonl").read_bytes()
    finally:
        first.close()
        if second is not None:
            second.close()


def test_a_torn_line_is_cut_off(tmp_path: Path, session: str) -> None:
    first = Server(tmp_path, PLAY)
    second = None
    try:
        with first.open(session) as stream:
            first.message(session, "one")
            stream.until_kind("turn_end")
        first.end()
        events = tmp_path / "data/sessions" / session / "events.jsonl"
        whole = events.read_bytes()
        events.write_bytes(whole + b'{"at":1,"event":{"seq":')
        second = Server(tmp_path, PLAY)
        with second.open(session) as again:
            assert len(again.frames[0].data["messages"]) == 2
            second.message(session, "two")
            again.until_kind("turn_end")
        lines = events.read_bytes().split(b"\n")[:-1]
        seqs = [json.loads(line)["event"]["seq"] for line in lines]
        assert seqs == list(range(1, len(seqs) + 1))
    finally:
        first.close()
        if second is not None:
            second.close()


# Keys, and what is refused


def serve(*words: str) -> tuple[int, str]:
    done = wrapper("serve", *words)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_keys(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    assert serve("keys", "list", "--data", data) == (0, "")
    code, key = serve("keys", "add", "me", "--data", data)
    assert (code, len(key.strip())) == (0, 43)
    assert key.strip() not in (tmp_path / "data" / "keys.json").read_text()
    assert serve("keys", "add", "me", "--data", data)[0] == 2
    assert serve("keys", "remove", "you", "--data", data)[0] == 2
    assert serve("keys", "add", "--data", data)[0] == 2
    server = Server(tmp_path, PLAY)
    try:
        path = f"/api/sessions/{uuid.uuid4()}/messages"
        assert server.post(path, {"content": "x"})[1]["code"] == "AUTH_REQUIRED"
        good = {"Authorization": f"Bearer {key.strip()}"}
        assert server.post(path, {"content": "x"}, **good)[0] == 202
        assert serve("keys", "remove", "me", "--data", data) == (0, "")
        assert server.post(path, {"content": "x"}, **good)[0] == 401
    finally:
        server.close()


def test_what_is_refused(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    for words, said in (
        (("--listen", "0.0.0.0:0", "--", "true"), "serve keys add"),
        (("--listen", "nonsense", "--", "true"), "HOST:PORT"),
        (("--archive", "x", "--", "true"), "--archive is not for serve"),
        (("--no-such-option", "--", "true"), "unknown option"),
        (("--timeout", "x", "--", "true"), "--timeout"),
        (("--root", "/no/such", "--", "true"), "no such folder"),
        (("--next-command", "'", "--", "true"), "--next-command"),
        ((), "no command"),
    ):
        code, text = serve(*data, *words)
        assert (code, said in text) == (2, True), text


def test_one_data_folder_is_for_one_server(tmp_path: Path) -> None:
    server = Server(tmp_path, PLAY)
    try:
        code, text = serve(
            *("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"), "--", "true")
        )
        assert (code, "another server has it" in text) == (125, True)
    finally:
        server.close()


def test_options_of_a_run_apply_to_each_turn(tmp_path: Path, session: str) -> None:
    slow = child("scripted", "init", "sleep=600")
    server = Server(tmp_path, slow, "--timeout", "1")
    try:
        with server.open(session) as stream:
            server.message(session, "x")
            stream.until_kind("turn_end")
        assert [e["code"] for e in stream.events if e["type"] == "error"] == ["timeout"]
    finally:
        server.close()
