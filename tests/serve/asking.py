"""Sessions whose agent asks, by both ways in, and what their clients say."""

from __future__ import annotations

import http.client
import json
import shlex
import signal
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from ..harness import PATIENCE, child
from .client import Parser, Stream
from .server import Server
from .test_run import ServedRun


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


TOO_LATE = (
    409,
    {"error": "Interaction already resolved", "code": "INTERACTION_ALREADY_RESOLVED"},
)


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


def resolved(stream: Stream) -> list[tuple[str, str]]:
    kind = "interaction_resolved"
    return [(e["id"], e["resolution"]) for e in stream.events if e["type"] == kind]


def text(stream: Stream) -> str:
    return "".join(e["text"] for e in stream.events if e["type"] == "text_delta")


def lifecycle(session: Session) -> str:
    with session.open() as stream:
        return str(stream.frames[0].data["status"]["lifecycle"])


def waiting(session: Session) -> list[str]:
    with session.open() as cold:
        return [each["id"] for each in cold.frames[0].data["pendingInteractions"]]
