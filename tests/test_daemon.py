"""Asking the daemon: what it answers is taken, and nothing that it does can hurt."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_wrap import daemon
from agent_wrap.daemon import parse, project

from .harness import PATIENCE, Run, child, run, scripted

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
BODY = b'{"id": "CVE-1", "source": "/src/app", "language": "c"}'
SIZED = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BODY)


over = threading.Event()
"""Set when the serving ends: an answer that is slow need not go on."""


@contextmanager
def serving(
    path: Path, answer: Callable[[socket.socket], None]
) -> Iterator[list[bytes]]:
    """Serve one path in a thread; gives the requests that came."""
    requests: list[bytes] = []
    over.clear()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                try:
                    requests.append(connection.recv(65536))
                    answer(connection)
                except OSError:
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield requests
    finally:
        over.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


def sends(
    *parts: bytes, pause: float = 0.0, stay: float = 0.0
) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        over.wait(stay)

    return answer


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (OK + BODY, {"id": "CVE-1", "source": "/src/app", "language": "c"}),
        (
            OK + b"\n" + BODY + b"\n\n",
            {"id": "CVE-1", "source": "/src/app", "language": "c"},
        ),
        (b"HTTP/1.0 404 Not Found\r\n\r\n" + BODY, {}),
        (b"HTTP/1.0 500 200 OK\r\n\r\n" + BODY, {}),
        (OK, {}),
        (OK + b"null", {}),
        (OK + b"[1]", {}),
        (OK + b'{"id": ', {}),
        (OK + b"\xff\x00garbage", {}),
        (b"", {}),
        (b"\xff" * 1000, {}),
        (BODY, {}),
    ],
)
def test_parse(answer: bytes, found: dict[str, object]) -> None:
    assert parse(answer) == found


async def test_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with serving(path, sends(OK + BODY)) as requests:
        assert (await project(str(path)))["id"] == "CVE-1"
    assert requests[0].startswith(b"GET /project HTTP/1.")
    assert b"\r\nHost: " in requests[0]
    assert requests[0].endswith(b"\r\n\r\n")


async def test_an_answer_in_pieces_over_a_line_that_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s"
    parts = [SIZED[:20], SIZED[20:], BODY[:5], BODY[5:]]
    monkeypatch.setattr(daemon, "PATIENCE", 2 * PATIENCE)
    begun = time.monotonic()
    with serving(path, sends(*parts, pause=0.02, stay=2 * PATIENCE)):
        found = await project(str(path))
        assert time.monotonic() - begun < PATIENCE
    assert found["id"] == "CVE-1"


async def test_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "PATIENCE", 0.1)
    path = tmp_path / "s"
    with serving(path, sends(stay=2 * PATIENCE)):
        begun = time.monotonic()
        assert await project(str(path)) == {}
        assert time.monotonic() - begun < PATIENCE


async def test_an_endless_answer_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "LIMIT", 100_000)
    path = tmp_path / "s"
    with serving(path, sends(OK, *[b"x" * 10_000] * 100)):
        assert await project(str(path)) == {}


async def test_no_daemon(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    closed = tmp_path / "closed"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(closed))
    for path in (tmp_path / "none", file, closed, tmp_path, tmp_path / ("x" * 200)):
        assert await project(str(path)) == {}
    for odd in ("a\0b", ""):
        assert await project(odd) == {}


# In a run


def test_a_run_takes_the_daemons_word(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    env = {"SSE_DAEMON_SOCKET": path}
    claude = ("--adapter", "claude-code", "--model", "m")
    with serving(Path(path), sends(OK + BODY)):
        # `source` is recorded, and never changed into.
        with Run(tmp_path, child("inside"), "--model", "m", env=env) as started:
            started.end()
        data = started.entries[0]["data"]
        assert (data["task"], data["cwd"]) == ("CVE-1", "/src/app")
        assert started.told["cwd"] == str(started.folder)
        assert (started.summary["task"], started.summary["cwd"]) == (
            "CVE-1",
            "/src/app",
        )
        options = ("--task", "mine", "--cwd", str(tmp_path))
        done = run(tmp_path, scripted("init", "result"), *claude, *options, env=env)
        data = done.entries[0]["data"]
        assert (data["task"], data["cwd"]) == ("mine", str(tmp_path))
        done = run(
            tmp_path, scripted("init", "result"), *claude, "--task", "mine", env=env
        )
        data = done.entries[0]["data"]
        assert (data["task"], data["cwd"]) == ("mine", "/src/app")


def test_a_run_does_not_wait_for_the_daemon(tmp_path: Path) -> None:
    """What the agent says first must not wait for a daemon that is slow."""
    path = str(tmp_path / "s")
    env = {"SSE_DAEMON_SOCKET": path}
    steps = ("init", "text=Hi", "result")
    with serving(Path(path), sends(stay=2 * PATIENCE)):
        done = run(tmp_path, scripted(*steps), "--adapter", "claude-code", env=env)
    assert done.messages == ["Hi"]
    assert done.entries[0]["data"]["task"] == "unknown"
    for answer in (b"garbage", OK + b'{"id": 17, "source": 3}', OK + b'{"id": null}'):
        Path(path).unlink()
        with serving(Path(path), sends(answer)):
            done = run(tmp_path, child("inside"), env=env)
        assert done.stderr == ""
        assert done.entries[0]["data"]["task"] in ("unknown", "17")
        assert done.entries[0]["data"]["cwd"] == str(done.folder)
    Path(path).unlink()
    done = run(tmp_path, scripted(*steps), "--adapter", "claude-code", env=env)
    assert (done.code, done.stderr) == (0, "")
