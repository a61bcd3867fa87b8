"""What agents ask, over real runs: shown to all clients, answered by any of them once.

Each test runs both ways in: `agent-wrap --serve` and `agent-wrap serve`.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import signal
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from ..harness import PATIENCE, child, marked, wait_for, wrapper
from .client import Parser, Stream, get
from .server import Server
from .test_run import ServedRun

UNKNOWN = "11111111-1111-4111-8111-111111111111"


def agent(folder: Path, part: str, *words: str) -> list[str]:
    """Make a program of the name that the adapter knows; give its command."""
    program = folder / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    plays = shlex.join(child("control_agent", part, *words))
    program.write_text(f'#!/bin/sh\nexec {plays} "$@"\n')
    program.chmod(0o700)
    return [str(program), "-p", "--input-format", "stream-json"]


def post(port: int, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, PATIENCE)
    try:
        connection.request("POST", path, raw)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


class Session:
    """A session whose agent asks, and its clients."""

    def __init__(self, port: int, session: str, folder: Path) -> None:
        self.port = port
        self.id = session
        self.folder = folder
        self.path = f"/api/sessions/{session}"

    def open(self, last: str = "") -> Stream:
        mark = int(last.rpartition("-")[2]) if last else None
        path, parser = f"{self.path}/events", Parser(mark)
        stream = Stream(self.port, path, parser=parser, last=last or None)
        return stream if last else stream.until_kind("snapshot")

    def asked(self, kind: str = "approval") -> Stream:
        """Open the stream, and wait for something that waits."""
        stream = self.open()

        def shown() -> bool:
            waiting = stream.frames[0].data["pendingInteractions"]
            told = [f.data for f in stream.frames[1:]]
            return bool(waiting) or any("remainingMs" in event for event in told)

        return stream.until(shown)

    def say(self, name: str, body: Any) -> tuple[int, dict[str, Any]]:
        return post(self.port, f"{self.path}/{name}", body)

    def approve(self, tool: str = "t1") -> tuple[int, dict[str, Any]]:
        return self.say("approve", {"toolCallId": tool})

    def deny(self, tool: str = "t1") -> tuple[int, dict[str, Any]]:
        return self.say("deny", {"toolCallId": tool})


class Begin(Protocol):
    def __call__(
        self, part: str, *, words: tuple[str, ...] = ()
    ) -> AbstractContextManager[Session]: ...


def of_run(folder: Path, *options: str) -> Begin:
    @contextmanager
    def begin(part: str, *, words: tuple[str, ...] = ()) -> Iterator[Session]:
        asks = ("--prompt", "Hi", "--permissions", "ask", *options)
        command = agent(folder, part, *words)
        lingers = (*asks, "--serve-linger", "60")
        with ServedRun(folder, command=command, options=lingers) as served:
            yield Session(served.port, served.session, folder)
            served.process.send_signal(signal.SIGTERM)
            served.end()

    return begin


def of_server(server: Server) -> Begin:
    @contextmanager
    def begin(part: str, *, words: tuple[str, ...] = ()) -> Iterator[Session]:
        session = str(uuid.uuid4())
        assert server.message(session, " ".join((part, *words)))[0] == 202
        yield Session(server.port, session, server.folder)

    return begin


@contextmanager
def asking_server(folder: Path, *options: str) -> Iterator[Server]:
    """Serve an agent that plays what its prompt names."""
    command = agent(folder, "prompted")
    server = Server(folder, command, "--permissions", "ask", *options)
    try:
        yield server
        assert server.end() == 0
        assert "Traceback" not in server.stderr
    finally:
        server.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests that do not end it."""
    with asking_server(tmp_path_factory.mktemp("asking")) as server:
        yield server


@pytest.fixture(params=["run", "server"])
def begin(request: pytest.FixtureRequest, tmp_path: Path, shared: Server) -> Begin:
    return of_run(tmp_path) if request.param == "run" else of_server(shared)


TOO_LATE = (
    409,
    {"error": "Interaction already resolved", "code": "INTERACTION_ALREADY_RESOLVED"},
)


def resolved(stream: Stream) -> list[tuple[str, str]]:
    kind = "interaction_resolved"
    return [(e["id"], e["resolution"]) for e in stream.events if e["type"] == kind]


def text(stream: Stream) -> str:
    return "".join(e["text"] for e in stream.events if e["type"] == "text_delta")


def lifecycle(session: Session) -> str:
    with session.open() as stream:
        return str(stream.frames[0].data["status"]["lifecycle"])


def test_asked_on_one_client_and_approved_on_another(begin: Begin) -> None:
    with begin("ask") as session, session.asked() as one, session.asked() as other:
        shown = other.frames[0].data
        [waits] = shown["pendingInteractions"]
        assert (waits["type"], waits["id"], waits["toolName"]) == (
            *("approval", "t1"),
            "Bash",
        )
        assert json.loads(waits["input"]) == {"command": "make"}
        assert shown["status"]["lifecycle"] == "blocked"
        assert session.approve() == (200, {"ok": True})
        for stream in (one, other):
            stream.until_kind("turn_end")
            assert resolved(stream) == [("t1", "approved")]
        assert "r-t1: allow" in text(other)
        assert session.approve() == session.deny() == TOO_LATE
        assert lifecycle(session) == "idle"


def test_denied(begin: Begin) -> None:
    with begin("ask") as session, session.asked() as stream:
        assert session.deny() == (200, {"ok": True})
        stream.until_kind("turn_end")
    assert resolved(stream) == [("t1", "denied")]
    assert "r-t1: deny" in text(stream)
    result = next(e for e in stream.events if e["type"] == "tool_result")
    assert result["status"] == "error"


@pytest.mark.parametrize("way", ["run", "server"])
def test_out_of_time(tmp_path: Path, way: str) -> None:
    limit = ("--ask-timeout", "1.5")
    with ExitStack() as stack:
        if way == "run":
            begin = of_run(tmp_path, *limit)
        else:
            begin = of_server(stack.enter_context(asking_server(tmp_path, *limit)))
        session = stack.enter_context(begin("ask"))
        stream = stack.enter_context(session.asked())
        with session.open() as cold:
            waits = cold.frames[0].data["pendingInteractions"]
            assert all(asked["remainingMs"] <= 1500 for asked in waits)
        stream.until_kind("turn_end")
        assert session.approve() == TOO_LATE
        with session.open() as cold:
            assert cold.frames[0].data["pendingInteractions"] == []
    assert resolved(stream) == [("t1", "denied")]
    assert "r-t1: deny" in text(stream)


def test_the_countdown_is_the_servers(begin: Begin) -> None:
    with begin("ask") as session, session.asked() as first:
        with session.open() as cold:
            [waits] = cold.frames[0].data["pendingInteractions"]
            turn = cold.frames[0].data["inProgressTurn"]
        [told] = [event for event in turn if event["type"] == "approval_required"]
        assert told["remainingMs"] == 600_000
        assert waits["startedAt"] == told["startedAt"]
        wait_for(lambda: time.time() * 1000 > waits["startedAt"] + 50, "some time")
        with session.open() as later:
            [again] = later.frames[0].data["pendingInteractions"]
        assert again["startedAt"] == waits["startedAt"]
        assert again["remainingMs"] < 600_000
        # A replay is what was told then, with its own numbers.
        before = f"{session.id}-{epoch(session)}-{told['seq'] - 1}"
        with session.open(before) as replay:
            replay.until(lambda: replay.frames)
        assert replay.frames[0].data == told
        session.deny()
        first.until_kind("turn_end")


def epoch(session: Session) -> str:
    """Give the epoch that ids of this session have."""
    etag = get(session.port, f"{session.path}/messages")[1]["etag"]
    return etag.strip('"').partition("-")[0]


def test_two_clients_at_once(begin: Begin) -> None:
    with begin("pair") as session, session.asked() as stream:
        stream.until(lambda: len(waiting(session)) == 2)
        with ThreadPoolExecutor(8) as pool:
            asks = [pool.submit(session.approve) for _ in range(4)]
            asks += [pool.submit(session.deny) for _ in range(4)]
        codes = sorted(ask.result()[0] for ask in asks)
        assert codes == [200] + [409] * 7
        assert session.deny("t2") == (200, {"ok": True})
        stream.until_kind("turn_end")
    assert [name for name, _ in resolved(stream)] == ["t1", "t2"]


def waiting(session: Session) -> list[str]:
    with session.open() as cold:
        return [each["id"] for each in cold.frames[0].data["pendingInteractions"]]


def test_several_at_once(begin: Begin) -> None:
    with begin("pair") as session, session.asked() as stream:
        wait_for(lambda: len(waiting(session)) == 2, "both")
        told = session.say("batch-approve", {"toolCallIds": ["t1", "t2", "t3"]})
        assert told == (
            200,
            {
                "results": [
                    {"toolCallId": "t1", "ok": True},
                    {"toolCallId": "t2", "ok": True},
                    {"toolCallId": "t3", "ok": False},
                ]
            },
        )
        stream.until_kind("turn_end")
    assert resolved(stream) == [("t1", "approved"), ("t2", "approved")]


def test_answers(begin: Begin) -> None:
    with begin("question") as session, session.asked() as stream:
        with session.open() as cold:
            [asked] = cold.frames[0].data["pendingInteractions"]
        assert (asked["type"], asked["id"]) == ("question", "t1")
        assert [q["question"] for q in asked["questions"]] == [
            "Which colour?",
            "Which size?",
        ]
        body = {"toolCallId": "t1", "answers": {"0": "blue", "1": "M, L"}}
        assert session.say("submit-answers", body) == (200, {"ok": True})
        assert session.say("submit-answers", body) == TOO_LATE
        stream.until_kind("turn_end")
    assert resolved(stream) == [("t1", "answered")]
    answers = {"Which colour?": "blue", "Which size?": "M, L"}
    assert f"answers: {json.dumps(answers)}" in text(stream)


FORMS = {
    "accept": ("answered", {"action": "accept", "content": {"name": "me"}}),
    "decline": ("denied", {"action": "decline"}),
    "cancel": ("cancelled", {"action": "cancel"}),
}


@pytest.mark.parametrize("action", FORMS)
def test_forms(begin: Begin, action: str) -> None:
    resolution, reaches = FORMS[action]
    with begin("form") as session, session.asked() as stream:
        with session.open() as cold:
            [asked] = cold.frames[0].data["pendingInteractions"]
        assert (asked["type"], asked["serverName"]) == ("elicitation", "crm")
        assert asked["requestedSchema"]["type"] == "object"
        body = {"interactionId": asked["id"], "action": action}
        body |= {"content": {"name": "me"}}
        assert session.say("submit-elicitation", body) == (200, {"ok": True})
        assert session.say("submit-elicitation", body) == TOO_LATE
        stream.until_kind("turn_end")
    assert resolved(stream) == [(asked["id"], resolution)]
    assert f"form: {json.dumps(reaches, sort_keys=True)}" in text(stream)


def test_a_page_to_visit(begin: Begin) -> None:
    with begin("link") as session, session.asked() as stream:
        with session.open() as cold:
            [asked] = cold.frames[0].data["pendingInteractions"]
        assert (asked["mode"], asked["url"]) == ("url", "https://example.org/allow")
        body = {"interactionId": asked["id"], "action": "accept"}
        assert session.say("submit-elicitation", body) == (200, {"ok": True})
        stream.until_kind("turn_end")


def test_a_background_task_asks_after_the_end(begin: Begin) -> None:
    """However long the person takes, the agent is not cut off."""
    with begin("late") as session, session.asked() as stream:
        [name] = waiting(session)
        assert session.approve(name) == (200, {"ok": True})
        stream.until_kind("turn_end")
    assert resolved(stream) == [(name, "approved")]
    assert "late: allow" in text(stream)


BAD: list[tuple[str, Any]] = [
    ("approve", {}),
    ("approve", {"toolCallId": ""}),
    ("approve", {"toolCallId": 1}),
    ("approve", b"{"),
    ("deny", []),
    ("batch-approve", {"toolCallIds": []}),
    ("batch-deny", {"toolCallIds": [1]}),
    ("submit-answers", {"toolCallId": "t1"}),
    ("submit-answers", {"toolCallId": "t1", "answers": ["a"]}),
    ("submit-answers", {"toolCallId": "t1", "answers": {"0": 1}}),
    ("submit-elicitation", {"interactionId": "e"}),
    ("submit-elicitation", {"interactionId": "e", "action": "maybe"}),
    ("submit-elicitation", {"interactionId": "e", "action": "accept", "content": 1}),
]


def test_what_is_refused(begin: Begin) -> None:
    with begin("ask") as session, session.asked() as stream:
        for name, body in BAD:
            status, told = session.say(name, body)
            assert (status, told["code"]) == (400, "VALIDATION_ERROR"), name
        unknown = Session(session.port, UNKNOWN, session.folder)
        answers = {"toolCallId": "t1", "answers": {}}
        form = {"interactionId": "t1", "action": "cancel"}
        for (status, told), code in (
            (unknown.approve(), "NO_PENDING_APPROVAL"),
            (unknown.say("submit-answers", answers), "NO_PENDING_QUESTION"),
            (unknown.say("submit-elicitation", form), "NO_PENDING_ELICITATION"),
        ):
            assert (status, told["code"]) == (404, code)
        bad = Session(session.port, "abc", session.folder)
        assert bad.approve()[1]["code"] == "INVALID_SESSION_ID"
        # Another kind of answer than the one that was asked for.
        assert session.say("submit-answers", answers) == TOO_LATE
        assert session.say("submit-elicitation", form) == TOO_LATE
        assert session.approve("never asked") == TOO_LATE
        assert session.approve() == (200, {"ok": True})
        stream.until_kind("turn_end")
    assert resolved(stream) == [("t1", "approved")]


def test_the_agent_dies_meanwhile(begin: Begin, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with begin("die", words=(str(go),)) as session, session.asked() as stream:
        go.touch()
        stream.until_kind("turn_end")
        assert session.approve() == TOO_LATE
    assert resolved(stream) == [("t1", "cancelled")]
    assert stream.kinds.index("interaction_resolved") < stream.kinds.index("turn_end")


def test_a_run_that_is_stopped_meanwhile(tmp_path: Path) -> None:
    with ServedRun(
        tmp_path,
        command=agent(tmp_path, "ask"),
        options=("--prompt", "Hi", "--permissions", "ask"),
    ) as served:
        session = Session(served.port, served.session, tmp_path)
        with session.asked() as stream:
            assert served.stop() == 143
            stream.to_end()
        served.end()
    assert resolved(stream) == [("t1", "cancelled")]
    assert stream.events[-1]["terminalReason"] == "aborted_tools"


def test_a_turn_that_is_interrupted_meanwhile(shared: Server) -> None:
    with of_server(shared)("ask") as session, session.asked() as stream:
        assert session.say("interrupt", {}) == (200, {"ok": True})
        stream.until_kind("turn_end")
        assert session.approve() == TOO_LATE
        assert lifecycle(session) == "interrupted"
    assert resolved(stream) == [("t1", "cancelled")]
    assert stream.events[-1]["terminalReason"] == "aborted_tools"


def test_a_server_that_is_killed_meanwhile(tmp_path: Path) -> None:
    """Nobody could answer any more: the run ends, and the next server tells it."""
    command = agent(tmp_path, "ask")
    first = Server(tmp_path, command, "--permissions", "ask")
    second = None
    session = str(uuid.uuid4())
    try:
        first.message(session, "Hi")
        with Session(first.port, session, tmp_path).asked() as stream:
            last = stream.until(lambda: any(f.id for f in stream.frames)).last_id
            first.end(signal.SIGKILL)
        dialog = tmp_path / "data/sessions" / session / "turns/0001/dialog.jsonl"
        wait_for(lambda: b'"complete"' in dialog.read_bytes(), "the run's end")
        second = Server(tmp_path, command, "--permissions", "ask")
        again = Session(second.port, session, tmp_path)
        with again.open(last) as stream:
            stream.until_kind("turn_end")
            assert "snapshot" not in stream.kinds
        assert resolved(stream) == [("t1", "cancelled")]
        assert again.approve() == TOO_LATE
        assert waiting(again) == []
    finally:
        first.close()
        if second is not None:
            second.close()


def test_a_run_that_is_killed_meanwhile(tmp_path: Path) -> None:
    """Both of its processes, which takes the agent with them."""
    server = Server(tmp_path, agent(tmp_path, "ask"), "--permissions", "ask")
    session = Session(server.port, str(uuid.uuid4()), tmp_path)
    try:
        server.message(session.id, "Hi")
        with session.asked() as stream:
            for pid, command in marked(server.mark).items():
                if "--answers-fd" in command:
                    os.kill(pid, signal.SIGKILL)
            stream.until_kind("turn_end")
            assert session.approve() == TOO_LATE
            assert waiting(session) == []
        assert resolved(stream) == [("t1", "cancelled")]
        assert stream.events[-1]["terminalReason"] == "error"
        assert server.message(session.id, "again")[0] == 202
    finally:
        server.close()


def test_by_default_nobody_is_asked(tmp_path: Path) -> None:
    server = Server(tmp_path, agent(tmp_path, "ask"))
    session = Session(server.port, str(uuid.uuid4()), tmp_path)
    try:
        with session.open() as stream:
            server.message(session.id, "Hi")
            stream.until_kind("turn_end")
            assert session.approve() == TOO_LATE
        assert resolved(stream) == [("t1", "denied")]
    finally:
        server.close()


def test_nothing_is_asked_of_nobody(tmp_path: Path) -> None:
    """Before anything has run: what was wanted could not be had."""
    two_way = agent(tmp_path, "ask")
    serve = ("--serve", "127.0.0.1:0")
    for words, said in (
        (("--permissions", "ask", "--", *two_way), "nobody could answer"),
        (("--permissions", "ask", *serve, "--", "true"), "does not ask"),
        (("serve", "--permissions", "ask", "--", "true"), "does not ask"),
    ):
        done = wrapper(*words, env={"HOME": str(tmp_path)})
        assert (done.returncode, said in done.stderr.decode()) == (2, True), done


def test_idle_time_stands_still_while_a_person_is_asked(tmp_path: Path) -> None:
    """Also where no tool is open."""
    options = ("--prompt", "Hi", "--permissions", "ask", "--idle-timeout", "2")
    command = agent(tmp_path, "form")
    with ServedRun(tmp_path, command=command, options=options) as served:
        session = Session(served.port, served.session, tmp_path)
        with session.asked() as stream:
            since = time.monotonic()
            wait_for(lambda: time.monotonic() > since + 2.5, "more than the limit")
            name = waiting(session)[0]
            body = {"interactionId": name, "action": "cancel"}
            assert session.say("submit-elicitation", body) == (200, {"ok": True})
            stream.until_kind("turn_end")
        served.end()
    assert served.code == 0
