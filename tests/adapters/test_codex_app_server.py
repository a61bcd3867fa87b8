"""Codex's app-server: what it tells, what it asks, what it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from agent_wrap import Brief
from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    Event,
    InteractionResolved,
    Notice,
    Prompt,
    QuestionAsked,
    RunFinished,
    Send,
    SessionStarted,
    TextDelta,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
    ToolProgress,
    Usage,
)
from agent_wrap_adapters.codex import Codex

from .codex_lines import (
    run,
)
from .replays import texts, tools


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "th", **params}}


def app_item(ev: str, kind: str, **more: Any) -> dict[str, Any]:
    return note(f"item/{ev}", item={"id": "i", "type": kind, **more})


THREAD = {"id": "th", "cwd": "/src", "cliVersion": "0.171.0", "model": "m0"}
STARTED = {"id": 2, "result": {"thread": THREAD, "model": "m"}}
COMPLETED = note("turn/completed", turn={"status": "completed"})


class TestAppServer:
    def test_session(self) -> None:
        ended = run(STARTED, note("thread/started", thread=THREAD), COMPLETED)
        expected = SessionStarted("th", "m", "/src", "", "0.171.0")
        assert ended.of_type(SessionStarted) == [expected]

    def test_deltas_then_the_whole(self) -> None:
        ended = run(
            note("item/agentMessage/delta", itemId="i", delta="he"),
            note("item/reasoning/textDelta", itemId="r", delta="hm"),
            app_item("completed", "agentMessage", text="hey"),
            COMPLETED,
        )
        assert ended.of_type(TextDelta) == [TextDelta("he", "i")]
        assert ended.of_type(ThinkingDelta) == [ThinkingDelta("hm", "r")]
        assert texts(ended) == ["hey"]

    def test_command(self) -> None:
        fields = {"command": "ls", "aggregatedOutput": "a\n", "exitCode": 2}
        ended = run(
            app_item("started", "commandExecution", command="ls", status="inProgress"),
            note("item/commandExecution/outputDelta", itemId="i", delta="a"),
            app_item("completed", "commandExecution", status="completed", **fields),
            COMPLETED,
        )
        assert [t["status"] for t in tools(ended)] == ["running", "error"]
        assert ended.of_type(ToolProgress) == [ToolProgress("i", "a")]

    def test_usage_is_the_threads(self) -> None:
        figures = {"inputTokens": 50, "cachedInputTokens": 20, "outputTokens": 5}
        usage = note("thread/tokenUsage/updated", tokenUsage={"total": figures})
        ended = run(usage, COMPLETED)
        expected = Usage(input=30, cached=20, output=5, scope="total")
        assert ended.of_type(Usage) == [expected]
        assert ended.of_type(RunFinished)[0].totals == expected

    @pytest.mark.parametrize(
        ("turn", "message"),
        [
            ({"status": "failed", "error": {"message": "no key"}}, "no key"),
            ({"status": "interrupted", "error": None}, "the turn ended as interrupted"),
        ],
    )
    def test_bad_end(self, turn: Any, message: str) -> None:
        ended = run(note("turn/completed", turn=turn))
        assert ended.outcome.status == "error"
        assert ended.entries[-1]["message"] == message

    def test_approval(self) -> None:
        params = {"threadId": "th", "itemId": "i", "command": "ls"}
        method = "item/commandExecution/requestApproval"
        ended = run(
            {"id": 0, "method": method, "params": params},
            note("serverRequest/resolved", requestId=0),
            app_item("completed", "commandExecution", command="ls", status="declined"),
            COMPLETED,
        )
        expected = ApprovalAsked("0", "bash", {"command": "ls"}, "i")
        assert ended.of_type(ApprovalAsked) == [expected]
        resolved = [InteractionResolved("0", "answered")]
        assert ended.of_type(InteractionResolved) == resolved
        assert tools(ended)[-1]["status"] == "error"

    def test_other_requests(self) -> None:
        ended = run(
            {"id": 1, "method": "item/fileChange/requestApproval", "params": {}},
            {"id": 2, "method": "item/permissions/requestApproval", "params": {}},
            {
                "id": 3,
                "method": "item/tool/requestUserInput",
                "params": {"questions": [{"q": 1}]},
            },
            {
                "id": 4,
                "method": "mcpServer/elicitation/request",
                "params": {"message": "m"},
            },
            COMPLETED,
        )
        names = [a.tool_name for a in ended.of_type(ApprovalAsked)]
        assert names == ["apply_patch", "permissions"]
        assert ended.of_type(QuestionAsked) == [QuestionAsked("3", ({"q": 1},))]
        assert ended.of_type(ElicitationAsked) == [ElicitationAsked("4", "", "m", {})]

    def test_prompt_and_plan(self) -> None:
        content = [{"type": "text", "text": "do it"}]
        plan = [{"step": "a", "status": "inProgress"}]
        ended = run(
            app_item("completed", "userMessage", content=content),
            note("turn/plan/updated", plan=plan),
            COMPLETED,
        )
        assert ended.of_type(Prompt) == [Prompt("do it")]
        expected = TodoUpdated((TodoItem("a", "in_progress"),))
        assert ended.of_type(TodoUpdated) == [expected]

    def test_other_threads_are_left_out(self) -> None:
        other = app_item("completed", "agentMessage", text="sub-agent's")
        other["params"]["threadId"] = "other"
        assert texts(run(STARTED, other, COMPLETED)) == []

    def test_notices(self) -> None:
        ended = run(
            note("configWarning", summary="beware"),
            note("error", error={"message": "Reconnecting"}, willRetry=True),
            {"id": 9, "error": {"code": -1, "message": "bad request"}},
            COMPLETED,
        )
        said = [n.text for n in ended.of_type(Notice)]
        assert said == ["beware", "Reconnecting", "bad request"]

    def test_second_turn_takes_the_end_back(self) -> None:
        ended = run(COMPLETED, note("turn/started", turn={}))
        assert ended.outcome.status == "error"

    def test_unknown(self) -> None:
        ended = run(note("brand/new"), note("turn/brandNew"), COMPLETED)
        assert ended.unknown_types == {"brand/new": 1, "turn/brandNew": 1}


def sent(events: Iterable[Event]) -> list[Any]:
    return [json.loads(e.data) for e in events if isinstance(e, Send)]


def talk(*lines: Any, prompt: str = "do") -> tuple[Codex, list[Any]]:
    """Start a conversation, read lines; give what was sent meanwhile."""
    adapter = Codex()
    adapter.brief = Brief(prompt, "/w", two_way=True)
    events = [*adapter.start(), *(e for line in lines for e in adapter.feed(line))]
    return adapter, sent(events)


def going_on(*lines: Any) -> tuple[Codex, list[Any]]:
    """Begin with a thread to go on with."""
    adapter = Codex()
    adapter.brief = Brief("do", "/w", two_way=True, session="th")
    events = [*adapter.start(), *(e for line in lines for e in adapter.feed(line))]
    return adapter, sent(events)


HELLO = {"id": 1, "result": {"codexHome": "/h"}}
TURN = note("turn/started", threadId="th", turn={"id": "tu"})


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"id": number, "method": method, "params": params}


COMMAND = request(0, "item/commandExecution/requestApproval", command="ls", itemId="i")


class TestTwoWay:
    def test_from_hello_to_the_turn(self) -> None:
        _, messages = talk(HELLO, STARTED, TURN)
        assert [(m.get("id"), m["method"]) for m in messages] == [
            (1, "initialize"),
            (None, "initialized"),
            (2, "thread/start"),
            (3, "turn/start"),
        ]
        assert messages[0]["params"]["clientInfo"]["name"] == "agent-wrap"
        assert messages[2]["params"] == {"cwd": "/w"}
        asked = [{"type": "text", "text": "do"}]
        assert messages[3]["params"] == {"threadId": "th", "input": asked}

    @pytest.mark.parametrize(
        ("policy", "sandbox", "asks"),
        [
            ("on-request", "readOnly", "untrusted"),
            ("on-request", "workspaceWrite", None),
            ("never", "readOnly", None),
            ({"granular": {}}, "readOnly", None),
        ],
    )
    def test_only_the_default_is_changed(
        self, policy: Any, sandbox: str, asks: str | None
    ) -> None:
        told = {"approvalPolicy": policy, "sandbox": {"type": sandbox}}
        result = {"thread": THREAD, **told}
        _, messages = talk(HELLO, {"id": 2, "result": result})
        assert messages[-1]["params"].get("approvalPolicy") == asks

    def test_one_way_says_nothing(self) -> None:
        adapter = Codex()
        lines = (HELLO, STARTED, TURN, request(0, "item/tool/call"), COMPLETED)
        events = [*adapter.start(), *(e for line in lines for e in adapter.feed(line))]
        assert sent(events) == []

    def test_without_a_prompt_it_is_over(self) -> None:
        adapter = Codex()
        adapter.brief = Brief(two_way=True)
        (end,) = adapter.start()
        assert isinstance(end, RunFinished)
        assert not end.ok
        assert "no prompt" in end.message

    @pytest.mark.parametrize(
        ("method", "params", "resolution", "result"),
        [
            ("commandExecution", {}, "approved", {"decision": "accept"}),
            ("commandExecution", {}, "denied", {"decision": "decline"}),
            ("fileChange", {}, "cancelled", {"decision": "cancel"}),
            (
                "permissions",
                {"permissions": {"network": {"enabled": True}}},
                "approved",
                {"permissions": {"network": {"enabled": True}}},
            ),
            ("permissions", {"permissions": {"x": 1}}, "denied", {"permissions": {}}),
        ],
    )
    def test_approval(
        self, method: str, params: Any, resolution: Any, result: Any
    ) -> None:
        """The id of the answer is the request's own, number or text."""
        adapter, _ = talk(request(0, f"item/{method}/requestApproval", **params))
        events = list(adapter.answer("0", resolution))
        assert sent(events) == [{"id": 0, "result": result}]
        assert events[-1] == InteractionResolved("0", resolution)
        assert list(adapter.answer("0", resolution)) == []
        assert list(adapter.feed(note("serverRequest/resolved", requestId=0))) == []

    @pytest.mark.parametrize(
        ("method", "result"),
        [
            ("item/tool/requestUserInput", {"answers": {}}),
            ("mcpServer/elicitation/request", {"action": "cancel", "content": None}),
        ],
    )
    def test_nobody_answers(self, method: str, result: Any) -> None:
        adapter, _ = talk(request(7, method))
        assert sent(adapter.answer("7", "cancelled")) == [{"id": 7, "result": result}]

    def test_somebody_answers(self) -> None:
        questions = [{"id": "tea", "question": "Tea?"}, {"id": "milk"}]
        params = {"itemId": "i", "questions": questions}
        adapter, _ = talk(request(7, "item/tool/requestUserInput", **params))
        events = list(adapter.answer("7", "answered", {"0": "yes"}))
        answers = {"tea": {"answers": ["yes"]}}
        assert sent(events) == [{"id": 7, "result": {"answers": answers}}]
        assert events[-1] == InteractionResolved("7", "answered")

    def test_a_form_that_is_filled_in(self) -> None:
        adapter, _ = talk(request(7, "mcpServer/elicitation/request"))
        result = {"action": "accept", "content": {"key": "k"}}
        events = list(adapter.answer("7", "answered", {"key": "k"}))
        assert sent(events) == [{"id": 7, "result": result}]

    def test_an_earlier_thread_is_gone_on_with(self) -> None:
        adapter, messages = going_on(HELLO, {**STARTED, "id": 5}, TURN)
        assert [m["method"] for m in messages[2:]] == ["thread/resume", "turn/start"]
        assert messages[2]["params"] == {"threadId": "th", "cwd": "/w"}
        assert messages[3]["params"]["threadId"] == "th"
        assert list(adapter.cancel()) != []

    def test_a_thread_that_is_gone_begins_anew(self) -> None:
        """And it is said."""
        gone = {"id": 5, "error": {"message": "no rollout found"}}
        adapter, messages = going_on(HELLO, gone, STARTED)
        methods = [m["method"] for m in messages[2:]]
        assert methods == ["thread/resume", "thread/start", "turn/start"]
        (notice,) = (e for e in adapter.feed(gone) if isinstance(e, Notice))
        assert "no rollout found" in notice.text

    @pytest.mark.parametrize(
        "method", ["item/tool/call", "execCommandApproval", "brand/new"]
    )
    def test_other_requests_are_refused(self, method: str) -> None:
        adapter, messages = talk(request(5, method))
        assert messages[-1]["id"] == 5
        assert messages[-1]["error"]["code"] == -32601
        assert list(adapter.cancel()) == []

    def test_a_sub_agents_request_is_answered(self) -> None:
        params = {"threadId": "other", "itemId": "i", "command": "ls"}
        method = "item/commandExecution/requestApproval"
        adapter, _ = talk(HELLO, STARTED, request(0, method, **params))
        assert sent(adapter.answer("0", "denied")) == [
            {"id": 0, "result": {"decision": "decline"}}
        ]

    def test_cancel(self) -> None:
        adapter, _ = talk(HELLO, STARTED, TURN, COMMAND)
        events = list(adapter.cancel())
        assert sent(events) == [
            {"id": 0, "result": {"decision": "cancel"}},
            {
                "id": 4,
                "method": "turn/interrupt",
                "params": {"threadId": "th", "turnId": "tu"},
            },
        ]
        assert InteractionResolved("0", "cancelled") in events
        late = {"id": 4, "error": {"code": -1, "message": "no turn"}}
        assert list(adapter.feed(late)) == [Notice("no turn")]

    def test_cancel_before_there_is_a_turn(self) -> None:
        adapter, _ = talk(HELLO)
        assert list(adapter.cancel()) == []

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_a_refused_request_is_the_end(self, number: int) -> None:
        adapter, _ = talk()
        line = {"id": number, "error": {"code": -1, "message": "bad"}}
        assert list(adapter.feed(line)) == [RunFinished(False, "bad", "error")]

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            ("codex app-server", True),
            ("codex -c model=m app-server --listen stdio://", True),
            ("npx @openai/codex@0.171.0 app-server", True),
            ("codex app-server --listen ws://127.0.0.1:1", False),
            ("codex app-server generate-ts", False),
            ("codex exec app-server", False),
            ("codex exec --json DO", False),
            ("codex", False),
        ],
    )
    def test_who_is_spoken_to(self, command: str, expected: bool) -> None:
        assert Codex.speaks_two_way(command.split()) is expected
