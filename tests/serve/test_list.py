"""The stream of the list of sessions, the list itself, and who may ask."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agent_wrap.events import ApprovalAsked, InteractionResolved, TextDelta
from agent_wrap.serve.feed import MAX_WAITING

from ..harness import wait_for
from .client import Stream, get
from .served import Served, serve
from .shapes import SESSION

KEY = "a-key-of-some-length"


@pytest.fixture
def served() -> Iterator[Served]:
    with serve(prompt="Hi") as made:
        yield made


@pytest.fixture(scope="module")
def quiet() -> Iterator[Served]:
    """A session for tests that only read."""
    with serve(prompt="Hi") as made:
        yield made


def lifecycles(stream: Stream) -> list[str]:
    return [
        frame.data["status"]["lifecycle"]
        for frame in stream.frames
        if frame.event == "session_status"
    ]


def test_the_first_frame_says_that_it_is_connected(quiet: Served) -> None:
    with quiet.open_list() as stream:
        stream.until(lambda: stream.frames)
    assert stream.kinds[0] == "connected"


def test_a_session_that_works_is_told_at_once(quiet: Served) -> None:
    with quiet.open_list() as stream:
        stream.until_kind("session_status")
    assert lifecycles(stream) == ["streaming"]
    assert stream.frames[-1].data["sessionId"] == quiet.id


def test_a_session_that_waits_is_told_at_once(served: Served) -> None:
    served.tell(ApprovalAsked("r1", "Bash"))
    with served.open_list() as stream:
        stream.until_kind("session_status")
    assert lifecycles(stream) == ["blocked"]


def test_only_changes_of_the_lifecycle_are_told(served: Served) -> None:
    with served.open_list() as stream:
        stream.until_kind("session_status")
        served.tell(*(TextDelta("x", "m") for _ in range(1000)))
        served.tell(ApprovalAsked("r1", "Bash"), InteractionResolved("r1", "denied"))
        served.finish()
        stream.until_kind("session_upserted")
    assert lifecycles(stream) == ["streaming", "blocked", "streaming", "idle"]


def test_a_reader_that_takes_nothing_is_sent_away(served: Served) -> None:
    hub = served.live.hub
    with served.open_list() as stream, served.open_list():
        stream.until_kind("session_status")
        wait_for(lambda: len(hub.mailboxes) == 2, "two readers")
        one = next(iter(hub.mailboxes))
        served.portal.call(one.put, b"x" * (MAX_WAITING + 1))
        wait_for(lambda: len(hub.mailboxes) == 1, "one reader to be sent away")


def test_the_list_and_one_of_it(quiet: Served) -> None:
    _, _, body = get(quiet.port, "/api/sessions")
    [session] = json.loads(body)["sessions"]
    assert SESSION(session)
    assert session["id"] == quiet.id
    _, _, body = get(quiet.port, quiet.path)
    assert json.loads(body) == session


@pytest.mark.parametrize("path", ["/nowhere", "/api/sessions/x/y", "/api/../etc"])
def test_unknown_paths_are_errors_in_json(quiet: Served, path: str) -> None:
    status, headers, body = get(quiet.port, path)
    assert (status, headers["content-type"]) == (404, "application/json")
    assert set(json.loads(body)) == {"error", "code"}


def test_nothing_can_be_posted_to_a_run(quiet: Served) -> None:
    for path in (f"{quiet.path}/messages", f"{quiet.path}/events", "/api/events"):
        status, _, body = get(quiet.port, path, "POST")
        assert (status, json.loads(body)["code"]) == (405, "METHOD_NOT_ALLOWED")


def test_head_does_not_open_a_stream(served: Served) -> None:
    status, headers, body = get(served.port, f"{served.path}/events", "HEAD")
    assert (status, body) == (200, b"")
    assert headers["content-type"] == "text/event-stream"
    assert served.readers == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:1234"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Host": "localhost", "Origin": "http://evil.example"}, 403),
        ({"Host": "localhost", "Origin": "null"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403),
    ],
)
def test_hosts_and_origins(quiet: Served, headers: dict[str, str], status: int) -> None:
    for path in ("/api/sessions", "/health", f"{quiet.path}/messages"):
        assert get(quiet.port, path, **headers)[0] == status


def test_a_key_is_asked_for() -> None:
    with serve(key=KEY) as served:
        for given in (None, "", KEY, f"Basic {KEY}", f"Bearer {KEY}x", "Bearer é"):
            headers = {} if given is None else {"Authorization": given}
            status, _, body = get(served.port, f"{served.path}/events", **headers)
            assert (status, json.loads(body)["code"]) == (401, "AUTH_REQUIRED")
        good = {"Authorization": f"Bearer {KEY}"}
        assert get(served.port, "/api/sessions", **good)[0] == 200
        named = {**good, "Host": "my.machine.example"}
        assert get(served.port, "/api/sessions", **named)[0] == 200
