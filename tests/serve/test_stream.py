"""The session's stream over real sockets: snapshot, replay, live, slow readers."""

from __future__ import annotations

import gc
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agent_wrap.events import ApprovalAsked, Message, TextDelta, ToolStarted
from agent_wrap.outcome import Outcome
from agent_wrap.serve.log import Log

from ..harness import wait_for
from .client import Stream, get
from .served import Served, serve


@pytest.fixture
def served() -> Iterator[Served]:
    with serve() as made:
        yield made


@pytest.fixture(scope="module")
def told() -> Iterator[Served]:
    """A session with three events, for tests that only read."""
    with serve() as made:
        say(made, "one", "two")
        yield made


def say(served: Served, *texts: str) -> None:
    served.tell(*(TextDelta(text, "m") for text in texts))


def test_a_session_in_which_nothing_happened(served: Served) -> None:
    with served.open() as stream:
        first = stream.until_kind("snapshot").frames[0]
    assert first.id == ""
    assert first.data["cursor"] == 0
    assert first.data["inProgressTurn"] is None
    assert first.data["messages"] == []
    assert first.data["queuedMessages"] == []
    assert first.data["status"]["lifecycle"] == "idle"


@pytest.mark.parametrize("name", ["abc123", "x" * 36, "%2e%2e", "1" * 32])
def test_what_is_no_session_id(told: Served, name: str) -> None:
    status, headers, body = get(told.port, f"/api/sessions/{name}/events")
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert "x-accel-buffering" not in headers
    known = {"error": "Invalid session ID", "code": "INVALID_SESSION_ID"}
    assert json.loads(body) == known


def test_another_session_is_not_here(served: Served) -> None:
    other = "00000000-0000-4000-8000-000000000000"
    status, _, body = get(served.port, f"/api/sessions/{other}/events")
    assert (status, json.loads(body)["code"]) == (404, "SESSION_NOT_FOUND")


def test_the_headers(served: Served) -> None:
    with served.open() as stream:
        told = {k.lower(): v for k, v in stream.response.getheaders()}
    assert told["content-type"] == "text/event-stream"
    assert told["cache-control"] == "no-cache, no-transform"
    assert told["connection"] == "keep-alive"
    assert told["x-accel-buffering"] == "no"
    assert "content-length" not in told


def test_a_cold_connection_during_a_turn(served: Served) -> None:
    say(served, "one", "two")
    with served.open() as stream:
        stream.until_kind("snapshot")
        say(served, "three")
        stream.until_kind("text_delta")
    turn = stream.frames[0].data["inProgressTurn"]
    assert [event["type"] for event in turn] == ["turn_start", *["text_delta"] * 2]
    assert stream.events[0]["seq"] == stream.frames[0].data["cursor"] + 1
    assert stream.frames[0].data["status"]["lifecycle"] == "streaming"


def test_resuming_gives_what_was_missed_once(served: Served) -> None:
    with served.open() as stream:
        say(served, "one")
        stream.until(lambda: len(stream.events) == 2)
    say(served, *map(str, range(50)))
    with served.open(stream.last_id) as again:
        say(served, "live")
        again.until(lambda: again.events and again.events[-1]["text"] == "live")
    assert "snapshot" not in again.kinds
    assert [event["text"] for event in again.events] == [*map(str, range(50)), "live"]


def test_resuming_with_nothing_missed_gives_bytes_at_once(served: Served) -> None:
    say(served, "one")
    with served.open(served.frame_id(2)) as stream:  # the heartbeat is a minute
        stream.until(lambda: stream.parser.comments)
        say(served, "two")
        stream.until(lambda: stream.events)
    assert stream.kinds == ["text_delta"]


@pytest.mark.parametrize(
    "form",
    [
        "{id}-1-1",
        "{id}-1",
        "{id}",
        "{id}-{epoch}-",
        "{id}-{epoch}-x",
        "{id}-{epoch}-99",
        "{id}-{epoch}--1",
        "{id}-{epoch}-9999999999999999999999",
        "00000000-0000-4000-8000-000000000000-{epoch}-1",
        "2",
        "",
        "\xff",
    ],
)
def test_a_cursor_that_cannot_be_served_gets_a_snapshot(
    told: Served, form: str
) -> None:
    last = form.format(id=told.id, epoch=told.live.session.epoch)
    stream = Stream(told.port, f"{told.path}/events", last=last)
    with stream:
        stream.until_kind("snapshot")
    assert stream.kinds == ["snapshot"]


def test_a_cursor_below_the_log_gets_a_snapshot() -> None:
    with serve(log=Log(max_events=10)) as served:
        say(served, *map(str, range(40)))
        with served.open(served.frame_id(3)) as stream:
            stream.until_kind("snapshot")
        with served.open(served.frame_id(39)) as near:
            near.until(lambda: len(near.events) == 2)
    assert stream.frames[0].data["cursor"] == 41


@pytest.mark.parametrize(
    ("query", "header", "cold"),
    [
        ("?after=2", None, False),
        ("?after=-1", None, True),
        ("?after=x", None, True),
        ("?after=99", None, True),
        ("?after=2", "{0}", False),
        ("?after=2", "nonsense", True),
    ],
)
def test_after(told: Served, query: str, header: str | None, cold: bool) -> None:
    last = header.format(told.frame_id(2)) if header else None
    stream = Stream(told.port, f"{told.path}/events{query}", last=last)
    stream.parser.mark = 2
    with stream:
        stream.until(lambda: stream.frames)
    assert stream.kinds == (["snapshot"] if cold else ["text_delta"])


def test_heartbeats_are_comments() -> None:
    with serve(heartbeat=0.05) as served:
        say(served, "one")
        with served.open() as stream:
            stream.until(lambda: stream.parser.comments >= 4)
    assert stream.kinds == ["snapshot"]
    assert stream.parser.mark == 2


NASTY = [
    "line\nfeed\r\nand\rreturn",
    "\n\nevent: turn_end\ndata: {}\n\n",
    "\u2028 and \u2029",
    "\U0001f600 é",
    "a lone \ud800 surrogate",
    "NUL \x00 \x1b[31m",
    "x" * 2_000_000,
]


def test_texts_that_break_frames(served: Served) -> None:
    with served.open() as stream:
        stream.until_kind("snapshot")
        say(served, *NASTY, "after")
        stream.until(lambda: len(stream.events) == len(NASTY) + 2)
        for frame in stream.frames[1:]:
            assert b"\n" not in frame.raw.rpartition(b"data: ")[2]
    clean = [t.replace("\ud800", "\ufffd").replace("\0", "\ufffd") for t in NASTY]
    assert [event["text"] for event in stream.events[1:]] == [*clean, "after"]
    with served.open() as cold:
        turn = cold.until_kind("snapshot").frames[0].data["inProgressTurn"]
    assert [event["text"] for event in turn[1:]] == [*clean, "after"]


def test_fifty_readers_get_the_same_bytes(served: Served) -> None:
    streams = [served.open().until_kind("snapshot") for _ in range(50)]
    say(served, *map(str, range(300)))
    served.finish()

    def rest(stream: Stream) -> list[bytes]:
        with stream:
            stream.until_kind("turn_end")
        return [frame.raw for frame in stream.frames]

    with ThreadPoolExecutor(10) as pool:
        first, *others = pool.map(rest, streams)
    assert len(first) == 303
    assert all(other == first for other in others)


def test_a_reader_that_sleeps_gets_everything(served: Served) -> None:
    with served.open(buffer=1 << 16) as stream:
        stream.until_kind("snapshot")
        for _ in range(200):  # far beyond what sockets hold
            say(served, *("x" * 1000 for _ in range(50)))
        served.finish()
        assert served.readers == 1
        stream.until_kind("turn_end")
    assert len(stream.events) == 10_002
    assert stream.kinds.count("snapshot") == 1


def test_a_reader_that_sleeps_too_long_gets_a_snapshot_and_no_gap() -> None:
    with serve(log=Log(max_events=100)) as served:
        with served.open(buffer=1 << 16) as stream:
            stream.until_kind("snapshot")
            for _ in range(200):
                say(served, *("x" * 1000 for _ in range(50)))
            served.finish()
            stream.until(
                lambda: (
                    stream.frames[-1].event == "turn_end"
                    or stream.frames[-1].data.get("cursor") == 10_002
                )
            )
        assert stream.kinds.count("snapshot") >= 2  # its parser has seen no gap


def test_one_reader_leaves_and_the_other_is_not_disturbed(served: Served) -> None:
    with served.open() as stays:
        stays.until_kind("snapshot")
        with served.open() as leaves:
            leaves.until_kind("snapshot")
            say(served, "one")
        wait_for(lambda: served.readers == 1, "the reader's end")
        say(served, "two")
        stays.until(lambda: len(stays.events) == 3)


def reset(served: Served) -> None:
    """Ask for the stream and break the connection off."""
    with socket.create_connection(("127.0.0.1", served.port)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request = f"GET {served.path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        sock.sendall(request.encode())


def test_a_thousand_connections_leave_nothing(served: Served) -> None:
    def left() -> tuple[int, int, int]:
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count(), tasks()

    def tasks() -> int:
        import asyncio

        return served.portal.call(lambda: len(asyncio.all_tasks()))

    say(served, "one")
    with served.open() as stream:  # what is made once, is made now
        stream.until_kind("snapshot")
    wait_for(lambda: served.readers == 0, "the first reader's end")
    get(served.port, "/health")
    before = left()
    for number in range(1000):
        if number % 10:
            reset(served)
        else:
            with served.open(served.frame_id(1)) as stream:
                stream.until(lambda: stream.parser.comments)
        say(served, "more")
    wait_for(lambda: served.readers == 0, "the readers' ends")
    wait_for(lambda: left() <= before, f"{left()} to be {before} again")


def test_all_places_taken(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_wrap.serve.web.MAX_READERS", 1)
    with served.open() as stream:
        stream.until_kind("snapshot")
        status, headers, body = get(served.port, f"{served.path}/events")
        assert (status, headers["content-type"]) == (503, "application/json")
        assert json.loads(body)["error"] == "Too many SSE clients"
    wait_for(lambda: served.readers == 0, "the reader's end")
    with served.open() as stream:
        stream.until_kind("snapshot")


def test_the_turn_is_in_the_history_when_its_end_is_read(served: Served) -> None:
    with served.open() as stream:
        served.tell(Message("the answer"))
        served.finish()
        stream.until_kind("turn_end")
        status, headers, body = get(served.port, f"{served.path}/messages")
        assert status == 200
        assert [m["content"] for m in json.loads(body)["messages"]] == ["the answer"]
        again = get(
            served.port, f"{served.path}/messages", If_None_Match=headers["etag"]
        )
    assert again[0] == 304


def test_a_turn_is_in_one_place_whenever_a_client_comes() -> None:
    """In the history or under way, never in both and never in neither."""
    for _ in range(3):
        with serve(prompt="Hi") as served, ThreadPoolExecutor(12) as pool:
            served.tell(Message("the answer"))
            shown = [pool.submit(cold, served) for _ in range(6)]
            served.finish()
            shown += [pool.submit(cold, served) for _ in range(6)]
            for each in shown:
                snapshot = each.result()
                under_way = json.dumps(snapshot["inProgressTurn"]).count("the answer")
                contents = [m["content"] for m in snapshot["messages"]]
                assert contents.count("the answer") + under_way == 1


def cold(served: Served) -> dict[str, Any]:
    with served.open() as stream:
        return dict(stream.until_kind("snapshot").frames[0].data)


def test_after_the_end(served: Served) -> None:
    served.tell(Message("the answer"))
    served.finish()
    with served.open() as stream:
        shown = stream.until_kind("snapshot").frames[0].data
    assert [message["content"] for message in shown["messages"]] == ["the answer"]
    assert shown["inProgressTurn"] is None
    last = served.frame_id(shown["cursor"])
    assert get(served.port, f"{served.path}/events", Last_Event_ID=last)[0] == 204


def test_the_end_of_the_server_is_the_end_of_the_streams() -> None:
    with serve() as served:
        stream = served.open().until_kind("snapshot")
        say(served, "one")
        served.finish(Outcome("error", 143, "stopped"), "stopped by SIGTERM")
    with stream:
        stream.to_end()
    assert stream.kinds[-1] == "turn_end"
    assert stream.events[-1]["terminalReason"] == "aborted_streaming"


def test_a_question_that_waits_is_shown_with_the_time_left(served: Served) -> None:
    served.tell(ToolStarted("t1", "Bash"), ApprovalAsked("r1", "Bash", {}, "t1"))
    with served.open() as stream:
        shown = stream.until_kind("snapshot").frames[0].data
    [asked] = shown["pendingInteractions"]
    [told] = [e for e in shown["inProgressTurn"] if e["type"] == "approval_required"]
    assert asked["id"] == told["id"] == "t1"
    assert asked["startedAt"] == told["startedAt"]
    assert asked["remainingMs"] <= told["remainingMs"] == 600_000
    assert shown["status"]["lifecycle"] == "blocked"
