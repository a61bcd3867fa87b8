"""What agents ask, over real runs: shown to all clients, answered by any of them once.

Each test runs both ways in: `agent-wrap --serve` and `agent-wrap serve`.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ..harness import wait_for
from .asking import (
    TOO_LATE,
    Begin,
    Session,
    asking_server,
    begin,
    lifecycle,
    of_run,
    of_server,
    resolved,
    shared,
    text,
    waiting,
)
from .client import get

UNKNOWN = "11111111-1111-4111-8111-111111111111"

__all__ = ["begin", "shared"]  # fixtures


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
