"""ACP: requests, answers, the end. Shapes as the recorded agents print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import Brief
from agent_wrap.events import (
    ApprovalAsked,
    InteractionResolved,
    Message,
    Notice,
    RunFinished,
    Send,
    SessionStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.testing import CHUNKS, find_recordings, replay
from agent_wrap_adapters.acp import Acp

from .acp_talk import (
    SESSION,
    Talk,
    ask,
    done,
    hello,
    rpc,
    run,
    said,
    sent,
    update,
)

RECORDINGS = Path(__file__).parent.parent / "recordings"
STREAMS = [r for r in find_recordings(RECORDINGS) if r.name.startswith("acp-")]


class TestStart:
    def test_the_first_bytes(self) -> None:
        (event,) = Talk().events
        assert isinstance(event, Send)
        assert event.data.endswith(b"}\n")
        assert event.data.count(b"\n") == 1
        assert json.loads(event.data) == {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": 1,
                "clientCapabilities": {
                    "fs": {"readTextFile": False, "writeTextFile": False},
                    "terminal": False,
                },
                "clientInfo": {"name": "agent-wrap", "version": "1"},
            },
        }

    def test_from_hello_to_the_prompt(self) -> None:
        """Each request waits for the answer to the one before."""
        talk = Talk(prompt="do é")
        assert [m["method"] for m in talk.sent] == ["initialize"]
        session, prompt = sent(talk.feed(hello())) + sent(talk.feed(SESSION))
        assert (session["id"], session["method"]) == (1, "session/new")
        assert session["params"] == {"cwd": "/w", "mcpServers": []}
        assert (prompt["id"], prompt["method"]) == (2, "session/prompt")
        asked = [{"type": "text", "text": "do é"}]
        assert prompt["params"] == {"sessionId": "s", "prompt": asked}

    def test_who_it_is(self) -> None:
        started = Talk(hello("OpenCode"), SESSION).of(SessionStarted)
        assert started[-1] == SessionStarted(
            "s", model="m/1", agent="OpenCode", agent_version="1.2"
        )

    def test_model_of_older_agents(self) -> None:
        result = {"sessionId": "s", "models": {"currentModelId": "m/2"}}
        started = Talk(hello(), rpc(id=1, result=result)).of(SessionStarted)
        assert isinstance(started[-1], SessionStarted)
        assert started[-1].model == "m/2"

    def test_without_a_prompt_it_is_over(self) -> None:
        (end,) = Talk(prompt="").events
        assert isinstance(end, RunFinished)
        assert not end.ok
        assert "no prompt" in end.message


class TestGoingOn:
    """With an earlier session: what it says of the past is no news."""

    def begin(self, able: bool) -> Talk:
        talk = Talk()
        talk.adapter.brief = Brief("do", "/w", two_way=True, session="old")
        talk.events = list(talk.adapter.start())
        greeting = hello()
        greeting["result"]["agentCapabilities"] = {"loadSession": able}
        talk.feed(greeting)
        return talk

    def test_loaded(self) -> None:
        talk = self.begin(able=True)
        assert talk.sent[1]["method"] == "session/load"
        params = {"sessionId": "old", "cwd": "/w", "mcpServers": []}
        assert talk.sent[1]["params"] == params
        assert talk.feed(said("what was said before")) == []
        talk.feed(rpc(id=talk.sent[1]["id"], result=None))
        assert talk.sent[2]["params"]["sessionId"] == "old"
        talk.feed(said("news"))
        talk.feed(done())
        assert [m.text for m in talk.of(Message) if isinstance(m, Message)] == ["news"]

    def test_it_cannot(self) -> None:
        talk = self.begin(able=False)
        assert talk.sent[1]["method"] == "session/new"
        assert talk.of(Notice)

    def test_the_session_is_gone(self) -> None:
        talk = self.begin(able=True)
        talk.feed(rpc(id=talk.sent[1]["id"], error={"message": "not found"}))
        assert talk.sent[2]["method"] == "session/new"
        assert talk.of(RunFinished) == []
        (notice,) = talk.of(Notice)
        assert isinstance(notice, Notice)
        assert "not found" in notice.text
        talk.feed(SESSION)
        assert talk.sent[3]["params"]["sessionId"] == "s"


class TestIds:
    def test_theirs_and_ours_are_apart(self) -> None:
        """Its first request has our first request's id, and is no answer to it."""
        talk = Talk(hello(), SESSION)
        before = len(talk.sent)
        talk.feed(ask(0))
        talk.feed(ask(1))
        assert len(talk.sent) == before
        assert len(talk.of(ApprovalAsked)) == 2
        assert talk.of(RunFinished) == []

    @pytest.mark.parametrize("number", [0, 7, "0", "a-b"])
    def test_an_answer_has_the_requests_own_id(self, number: Any) -> None:
        talk = Talk(ask(number))
        (asked,) = talk.of(ApprovalAsked)
        assert isinstance(asked, ApprovalAsked)
        (answer,) = sent(talk.adapter.answer(asked.id, "approved"))
        assert answer["id"] == number

    def test_number_and_text_differ(self) -> None:
        asked = Talk(ask(0), ask("0")).of(ApprovalAsked)
        assert len({a.id for a in asked if isinstance(a, ApprovalAsked)}) == 2


class TestPermission:
    @pytest.mark.parametrize(
        ("kinds", "resolution", "chosen", "resolved"),
        [
            ("allow_once allow_always reject_once", "approved", 0, "approved"),
            ("allow_always allow_once reject_once", "approved", 1, "approved"),
            ("allow_always reject_once", "approved", 0, "approved"),
            ("allow_once reject_once", "denied", 1, "denied"),
            ("allow_once reject_always", "denied", 1, "denied"),
            ("reject_always reject_once", "denied", 1, "denied"),
            ("allow_once", "denied", None, "cancelled"),
            ("reject_once", "approved", None, "cancelled"),
            ("", "approved", None, "cancelled"),
            ("allow_once reject_once", "cancelled", None, "cancelled"),
        ],
    )
    def test_by_kind(
        self, kinds: str, resolution: str, chosen: int | None, resolved: Any
    ) -> None:
        """The ids say nothing: `once`, `allow_once`, `approve_once` all exist."""
        options = [
            {"optionId": f"id-{n}", "kind": kind}
            for n, kind in enumerate(kinds.split())
        ]
        talk = Talk(ask(3, options))
        events = list(talk.adapter.answer("permission-3", resolution))
        outcome: dict[str, Any] = {"outcome": "cancelled"}
        if chosen is not None:
            outcome = {"outcome": "selected", "optionId": f"id-{chosen}"}
        assert sent(events) == [rpc(id=3, result={"outcome": outcome})]
        assert events[-1] == InteractionResolved("permission-3", resolved)
        assert list(talk.adapter.answer("permission-3", resolution)) == []

    def test_an_unknown_question_has_no_answer(self) -> None:
        assert list(Talk().adapter.answer("permission-9", "approved")) == []

    def test_the_request_may_be_the_tools_first_sign(self) -> None:
        """Gemini sends no `tool_call` before it asks."""
        talk = Talk(ask(0, title="ls -l", kind="execute", rawInput={"command": "ls"}))
        assert talk.of(TurnStarted, ToolStarted, ApprovalAsked) == [
            TurnStarted("answer-1"),
            ToolStarted("t", "execute", {"command": "ls"}),
            ApprovalAsked("permission-0", "execute", {"command": "ls"}, "t"),
        ]

    def test_text_before_it_is_whole(self) -> None:
        talk = Talk(said("I will "), said("ask."), ask(0))
        kinds = [type(e) for e in talk.of(Message, ApprovalAsked)]
        assert kinds == [Message, ApprovalAsked]
        assert talk.of(Message) == [Message("I will ask.")]

    def test_rejected_without_any_update(self) -> None:
        """Gemini and Qwen Code send nothing about a call that was refused."""
        ended = run(ask(0, title="ls", kind="execute"), done())
        (finished,) = ended.of_type(ToolFinished)
        assert not finished.ok
        assert ended.outcome.status == "success"


class TestRequests:
    @pytest.mark.parametrize(
        "method",
        ["fs/read_text_file", "fs/write_text_file", "terminal/create", "x/brand_new"],
    )
    def test_what_is_not_offered_is_refused(self, method: str) -> None:
        """Files and terminals: Kimi Code asks for them all the same."""
        talk = Talk(hello(), SESSION)
        (answer,) = sent(talk.feed(rpc(id=0, method=method, params={"path": "/x"})))
        assert answer["id"] == 0
        assert answer["error"]["code"] == -32601
        assert talk.of(RunFinished) == []

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            (rpc(method="brand/new", params={}), "brand/new"),
            (update("brand_new"), "session/update/brand_new"),
            (rpc(), "message"),
        ],
    )
    def test_unknown(self, line: dict[str, Any], name: str) -> None:
        assert Talk().feed(line) == [Unknown(name)]

    @pytest.mark.parametrize("method", ["_x/told", "qwen/notify/session/suggestion"])
    def test_what_an_agent_adds_for_its_own_client(self, method: str) -> None:
        assert Talk().feed(rpc(method=method, params={})) == []


class TestEnd:
    @pytest.mark.parametrize(
        ("reason", "status", "message"),
        [
            ("end_turn", "success", ""),
            ("max_tokens", "error", "stopped: max_tokens"),
            ("max_turn_requests", "error", "stopped: max_turn_requests"),
            ("refusal", "error", "stopped: refusal"),
            ("cancelled", "error", "stopped: cancelled"),
            ("", "error", "stopped: unknown"),
        ],
    )
    def test_stop_reasons(self, reason: str, status: str, message: str) -> None:
        ended = run(hello(), SESSION, done(reason))
        assert ended.outcome.status == status
        assert ended.outcome.message == message

    @pytest.mark.parametrize(
        ("number", "code"), [(0, -32600), (1, -32000), (2, -32603), (2, -31002)]
    )
    def test_rpc_errors(self, number: int, code: int) -> None:
        ended = run(rpc(id=number, error={"code": code, "message": "no key"}))
        assert ended.outcome.status == "error"
        assert ended.outcome.message == "no key"

    def test_an_error_that_is_spoken(self) -> None:
        """Copilot: as if the model had said it, and then all is well."""
        texts = ("Info: Retrying...", "Error: Authentication failed")
        ended = run(hello("Copilot"), SESSION, *map(said, texts), done())
        assert ended.of_type(Message) == []
        assert [n.text for n in ended.of_type(Notice)] == list(texts)
        assert ended.outcome.status == "error"
        assert ended.outcome.message == "Error: Authentication failed"

    def test_a_model_may_begin_with_that_word(self) -> None:
        """It used tokens, so it was the model that spoke at the end."""
        used = done(inputTokens=1, outputTokens=1, totalTokens=2)
        ended = run(hello(), SESSION, said("Error: is what it says."), used)
        assert ended.outcome.status == "success"

    def test_in_the_middle_of_a_message_it_is_text(self) -> None:
        ended = run(hello(), SESSION, said("It says "), said("Error: no"), done())
        assert ended.of_type(Message) == [Message("It says Error: no")]


class TestCancel:
    def test_what_is_asked_and_the_prompt(self) -> None:
        talk = Talk(hello(), SESSION, ask(4))
        events = list(talk.adapter.cancel())
        assert sent(events) == [
            rpc(id=4, result={"outcome": {"outcome": "cancelled"}}),
            rpc(method="session/cancel", params={"sessionId": "s"}),
        ]
        assert InteractionResolved("permission-4", "cancelled") in events
        talk.feed(done("cancelled"))
        assert talk.of(RunFinished) == [
            RunFinished(False, "stopped: cancelled", "cancelled")
        ]

    def test_before_there_is_a_session(self) -> None:
        assert list(Talk(hello()).adapter.cancel()) == []


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("recording", STREAMS, ids=lambda r: r.name)
def test_what_is_sent_does_not_depend_on_chunks(recording: Any, chunk: int) -> None:
    """Our own requests and answers are among the events of a replay."""
    whole = replay(recording.stream, Acp())
    cut = replay(recording.stream, Acp(), chunk=chunk)
    assert cut.events == whole.events
    assert sent(whole.events)[0]["method"] == "initialize"


@pytest.mark.parametrize(
    "line",
    [
        rpc(id=0, result=None),
        rpc(id=2, result={"stopReason": 1, "usage": [1]}),
        rpc(id=[1], method="session/request_permission", params=None),
        rpc(method="session/update", params=[]),
        rpc(error="no"),
        update("tool_call", content={"a": 1}, rawInput="x", rawOutput=[1]),
        update("plan", entries=["a", {"content": 1, "status": []}]),
        ask(0, [{"kind": ["allow_once"]}, "x"], title=5),
    ],
)
def test_wrong_shapes_never_fail(line: dict[str, Any]) -> None:
    ended = run(line)
    assert ended.failures == []
    talk = Talk(line)
    for asked in talk.of(ApprovalAsked):
        assert isinstance(asked, ApprovalAsked)
        assert list(talk.adapter.answer(asked.id, "approved"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (hello(), True),
        (update("usage_update"), True),
        (rpc(id=1, result={"sessionId": "s"}), False),
        ({"id": 1, "result": {"codexHome": "/"}}, False),
        ({"method": "session/update", "params": {}}, False),
    ],
)
def test_recognises(event: dict[str, Any], expected: bool) -> None:
    assert Acp.recognises(event) is expected
