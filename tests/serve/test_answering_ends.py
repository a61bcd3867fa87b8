"""What agents asked when somebody ends meanwhile, and what is asked of nobody."""

from __future__ import annotations

import os
import signal
import time
import uuid
from pathlib import Path

from ..harness import marked, wait_for, wrapper
from .asking import (
    TOO_LATE,
    Begin,
    Session,
    agent,
    begin,
    lifecycle,
    of_server,
    resolved,
    shared,
    waiting,
)
from .server import Server
from .test_run import ServedRun

__all__ = ["begin", "shared"]  # fixtures


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
