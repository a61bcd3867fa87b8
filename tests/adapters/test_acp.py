"""ACP, one trap a test. Shapes as OpenCode, Copilot, Kimi Code and Vibe print them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import Brief
from agent_wrap.events import (
    ApprovalAsked,
    Event,
    InteractionResolved,
    Message,
    Notice,
    RunFinished,
    Send,
    SessionStarted,
    TextDelta,
    Thinking,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Unknown,
    Usage,
)
from agent_wrap.testing import CHUNKS, Replay, find_recordings, replay
from agent_wrap_adapters.acp import Acp

RECORDINGS = Path(__file__).parent.parent / "recordings"
STREAMS = [r for r in find_recordings(RECORDINGS) if r.name.startswith("acp-")]

OPTIONS = [
    {"optionId": "always", "kind": "allow_always"},
    {"optionId": "once", "kind": "allow_once"},
    {"optionId": "no", "kind": "reject_once"},
]


def rpc(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **fields}


def hello(name: str = "Agent") -> dict[str, Any]:
    info = {"name": name, "version": "1.2"}
    return rpc(id=0, result={"protocolVersion": 1, "agentInfo": info})


MODEL = {"id": "model", "currentValue": "m/1"}
SESSION = rpc(id=1, result={"sessionId": "s", "configOptions": [MODEL]})


def done(reason: str = "end_turn", /, **usage: int) -> dict[str, Any]:
    more = {"usage": usage} if usage else {}
    return rpc(id=2, result={"stopReason": reason, **more})


def update(kind: str, /, **fields: Any) -> dict[str, Any]:
    told = {"sessionUpdate": kind, **fields}
    return rpc(method="session/update", params={"sessionId": "s", "update": told})


def said(text: str, message_id: str = "", kind: str = "message") -> dict[str, Any]:
    more = {"messageId": message_id} if message_id else {}
    content = {"type": "text", "text": text}
    return update(f"agent_{kind}_chunk", content=content, **more)


def call(kind: str = "tool_call_update", /, **fields: Any) -> dict[str, Any]:
    return update(kind, toolCallId="t", **fields)


def content(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def ask(number: Any = 0, options: Any = OPTIONS, **tool: Any) -> dict[str, Any]:
    params = {"toolCall": {"toolCallId": "t", **tool}, "options": options}
    return rpc(id=number, method="session/request_permission", params=params)


def sent(events: Iterable[Event]) -> list[Any]:
    return [json.loads(event.data) for event in events if isinstance(event, Send)]


class Talk:
    """One conversation: what was said to the agent and what it said."""

    def __init__(self, *lines: dict[str, Any], prompt: str = "do") -> None:
        self.adapter = Acp()
        self.adapter.brief = Brief(prompt, "/w", two_way=True)
        self.events: list[Event] = list(self.adapter.start())
        for line in lines:
            self.feed(line)

    def feed(self, line: dict[str, Any]) -> list[Event]:
        new = list(self.adapter.feed(line))
        self.events += new
        return new

    @property
    def sent(self) -> list[Any]:
        return sent(self.events)

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]


def run(*lines: dict[str, Any], code: int = 0) -> Replay:
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return replay(stream, Acp(), code=code)


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


class TestChunks:
    def test_joined_until_another_kind_comes(self) -> None:
        talk = Talk(
            said("I ", kind="thought"), said("think.", kind="thought"), said("I say.")
        )
        talk.feed(call("tool_call", title="bash", kind="execute"))
        assert talk.of(Thinking, Message) == [Thinking("I think."), Message("I say.")]
        assert len(talk.of(TextDelta)) == 1

    def test_joined_until_another_message_comes(self) -> None:
        talk = Talk(said("a", "m1"), said("b", "m1"), said("c", "m2"), done())
        assert talk.of(Message) == [Message("ab", "m1"), Message("c", "m2")]

    def test_the_end_of_the_stream_gives_the_rest(self) -> None:
        ended = run(hello(), SESSION, said("half a sen"))
        assert ended.of_type(Message) == [Message("half a sen")]
        assert ended.outcome.status == "error"

    def test_silent_updates_do_not_cut(self) -> None:
        talk = Talk(said("a"), update("usage_update", used=1), said("b"), done())
        assert talk.of(Message) == [Message("ab")]

    def test_empty_chunks_make_no_turn(self) -> None:
        assert Talk(said(""), done()).of(TurnStarted, Message) == []

    def test_turns_are_answers_between_tools(self) -> None:
        talk = Talk(
            said("hm", kind="thought"),
            said("One."),
            call("tool_call", title="bash"),
            call(status="completed"),
            said("Two."),
            done(),
        )
        turns = talk.of(TurnStarted)
        assert turns == [TurnStarted("answer-1"), TurnStarted("answer-2")]

    def test_plan(self) -> None:
        entries = [{"content": "a", "status": "in_progress"}, {"content": "b"}]
        expected = TodoUpdated((TodoItem("a", "in_progress"), TodoItem("b")))
        assert Talk(update("plan", entries=entries)).of(TodoUpdated) == [expected]


class TestTools:
    def test_the_start_waits_for_its_arguments(self) -> None:
        """OpenCode: no command in the first `rawInput`, the name in the first title."""
        talk = Talk(
            call("tool_call", title="bash", kind="execute", rawInput={"cwd": "/"})
        )
        assert talk.of(ToolStarted) == []
        args = {"command": "ls", "cwd": "/"}
        talk.feed(call(status="in_progress", title="ls", rawInput=args))
        talk.feed(call(status="in_progress", title="ls", rawInput=args))
        assert talk.of(ToolStarted) == [ToolStarted("t", "bash", args)]

    def test_arguments_streamed_as_text(self) -> None:
        """Kimi Code: `content` holds them until `rawInput` comes; it is no output."""
        talk = Talk(
            call("tool_call", title="Bash", kind="execute", content=content('{"comm')),
            call(status="in_progress", content=content('{"command":"ls"}')),
        )
        assert talk.of(ToolStarted, ToolProgress) == []
        text = content('{"command":"ls"}')
        talk.feed(ask(0, title="Bash", content=content("May I?")))
        talk.feed(call(status="in_progress", rawInput={"command": "ls"}, content=text))
        talk.feed(call(status="completed"))
        assert talk.of(ToolStarted, ToolProgress, ToolFinished) == [
            ToolStarted("t", "Bash", {"command": "ls"}),
            ToolFinished("t", ""),
        ]

    def test_never_announced_before_its_end(self) -> None:
        talk = Talk(call(status="completed", kind="read", content=content("x")))
        assert talk.of(ToolStarted, ToolFinished) == [
            ToolStarted("t", "read"),
            ToolFinished("t", "x"),
        ]

    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            ({"title": "bash", "kind": "execute"}, "bash"),
            ({"title": "List the files", "kind": "execute"}, "execute"),
            ({"title": "bash: ls", "_meta": {"tool_name": "bash"}}, "bash"),
            ({"title": "mcp__a__b"}, "mcp__a__b"),
            ({"title": "two words"}, "tool"),
            ({}, "tool"),
        ],
    )
    def test_names(self, fields: Any, name: str) -> None:
        """There is none in the protocol: the first title if one word, else the kind."""
        talk = Talk(call("tool_call", **fields), call(status="completed"))
        (started,) = talk.of(ToolStarted)
        assert isinstance(started, ToolStarted)
        assert started.name == name

    @pytest.mark.parametrize(
        ("fields", "ok"),
        [
            ({"status": "completed"}, True),
            ({"status": "failed"}, False),
            ({"status": "completed", "rawOutput": {"metadata": {"exit": 3}}}, False),
            ({"status": "completed", "rawOutput": {"metadata": {"exit": 0}}}, True),
            (
                {"status": "completed", "rawOutput": {"contents": [{"exitCode": 3}]}},
                False,
            ),
            ({"status": "completed", "rawOutput": {"metadata": {"exit": None}}}, True),
            ({"status": "completed", "rawOutput": "exit code 3"}, True),
        ],
    )
    def test_completed_is_not_yet_good(self, fields: Any, ok: bool) -> None:
        (finished,) = Talk(call(**fields)).of(ToolFinished)
        assert isinstance(finished, ToolFinished)
        assert finished.ok is ok

    @pytest.mark.parametrize(
        ("fields", "output"),
        [
            ({"content": content("a"), "rawOutput": "b"}, "a"),
            ({"rawOutput": "b"}, "b"),
            ({"rawOutput": {"output": "c", "metadata": {}}}, "c"),
            ({"rawOutput": {"error": "d"}}, "d"),
            ({"rawOutput": {"n": 1}}, '{"n": 1}'),
            ({"content": [{"type": "diff", "path": "/f"}]}, "[diff /f]"),
            ({}, ""),
        ],
    )
    def test_output(self, fields: Any, output: str) -> None:
        (finished,) = Talk(call(status="completed", **fields)).of(ToolFinished)
        assert isinstance(finished, ToolFinished)
        assert finished.output == output

    def test_output_is_cumulative(self) -> None:
        talk = Talk(
            call(status="in_progress", rawInput={"command": "ls"}),
            call(status="in_progress", content=content("a")),
            call(status="in_progress", content=content("ab")),
            call(status="completed"),
        )
        assert talk.of(ToolProgress, ToolFinished) == [
            ToolProgress("t", "a"),
            ToolProgress("t", "ab"),
            ToolFinished("t", "ab"),
        ]

    def test_no_end_after_cancelling(self) -> None:
        """Copilot: the dialog closes what the agent leaves open."""
        started = call(status="in_progress", rawInput={"command": "sleep"})
        ended = run(hello(), SESSION, started, done("cancelled"))
        states = [e["status"] for e in ended.entries if e["type"] == "tool"]
        assert states == ["running", "error"]


class TestUsage:
    @pytest.mark.parametrize(
        ("name", "figures", "expected"),
        [
            (  # the cache is a part of the input, the total is of the whole prompt
                "Vibe",
                {
                    "inputTokens": 2100,
                    "outputTokens": 41,
                    "totalTokens": 2141,
                    "cachedReadTokens": 601,
                },
                Usage(1499, 601, 0, 41, message_id="answer-0", scope="total"),
            ),
            (  # the cache comes on top, and the figures are of the last answer alone
                "OpenCode",
                {
                    "inputTokens": 799,
                    "outputTokens": 21,
                    "totalTokens": 1121,
                    "cachedReadTokens": 301,
                },
                Usage(799, 301, 0, 21, message_id="answer-0", scope="message"),
            ),
            (  # reasoning comes on top
                "Agent",
                {
                    "inputTokens": 100,
                    "outputTokens": 10,
                    "thoughtTokens": 5,
                    "totalTokens": 115,
                    "cachedReadTokens": 20,
                },
                Usage(80, 20, 0, 15, 5, message_id="answer-0", scope="total"),
            ),
        ],
        ids=["total", "last-answer", "reasoning"],
    )
    def test_forms(self, name: str, figures: dict[str, int], expected: Usage) -> None:
        assert Talk(hello(name), done(**figures)).of(Usage) == [expected]

    def test_none(self) -> None:
        """Kimi Code reports none; the size of its context is none either."""
        late = update("usage_update", used=1121, size=200000)
        ended = run(hello(), SESSION, said("hi"), done(), late)
        assert ended.of_type(Usage) == []
        assert ended.outcome.status == "success"

    def test_of_the_last_answer_only_is_said(self) -> None:
        ended = run(hello("OpenCode"), done(inputTokens=1, totalTokens=1))
        assert "last answer" in ended.of_type(Notice)[0].text


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
