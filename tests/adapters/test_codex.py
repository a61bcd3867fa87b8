"""Codex's two streams, one trap a test. Shapes as its versions 0.98.0 and 0.171.0."""

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
from agent_wrap.testing import Replay, replay
from agent_wrap_adapters.codex import Codex

DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}


def run(*lines: Any, code: int = 0) -> Replay:
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return replay(stream, Codex(), code=code)


def item(kind: str, item_id: str = "item_0", ev: str = "completed", **more: Any) -> Any:
    return {"type": f"item.{ev}", "item": {"id": item_id, "type": kind, **more}}


def say(text: str) -> Any:
    return item("agent_message", text=text)


def command(ev: str, status: str = "in_progress", code: int | None = None) -> Any:
    more: dict[str, Any] = {
        "command": "ls",
        "aggregated_output": "out",
        "exit_code": code,
    }
    return item("command_execution", ev=ev, status=status, **more)


def tools(replayed: Replay) -> list[dict[str, Any]]:
    return [e for e in replayed.entries if e["type"] == "tool"]


def texts(replayed: Replay) -> list[str]:
    return [e["content"] for e in replayed.entries if e["type"] == "message"]


class TestEnd:
    def test_cached_is_a_part_of_the_input(self) -> None:
        usage = {
            "input_tokens": 6060,
            "cached_input_tokens": 6000,
            "output_tokens": 96,
            "reasoning_output_tokens": 5,
        }
        tokens = run({"type": "turn.completed", "usage": usage}).tokens
        assert (tokens.input, tokens.cached, tokens.total_in) == (60, 6000, 6060)
        assert (tokens.output, tokens.reasoning) == (96, 5)

    def test_totals_are_of_the_thread(self) -> None:
        more = {"type": "turn.completed", "usage": {"input_tokens": 30}}
        ended = run(DONE, {"type": "turn.started"}, more)
        assert ended.tokens.total_in == 30

    def test_failed_turn_with_exit_0(self) -> None:
        failed = {"type": "turn.failed", "error": {"message": "at capacity"}}
        ended = run(say("partial"), {"type": "error", "message": "x"}, failed)
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        assert ended.entries[-1]["message"] == "at capacity"
        assert texts(ended) == ["partial"]

    def test_errors_are_provisional(self) -> None:
        lines = [{"type": "error", "message": f"Reconnecting... {k}/5"} for k in (1, 2)]
        ended = run(*lines, say("OK"), DONE)
        assert ended.outcome.status == "success"
        assert [n.text for n in ended.of_type(Notice)] == [e["message"] for e in lines]

    def test_second_turn_takes_the_end_back(self) -> None:
        ended = run(DONE, {"type": "turn.started"})
        assert ended.outcome.status == "error"

    def test_no_end_at_all(self) -> None:
        assert run({"type": "turn.started"}).outcome.reason == "no_final_event"


RETRY = {"type": "error", "message": "Reconnecting... 1/1"}


class TestRetriedText:
    def test_identical_text_is_dropped(self) -> None:
        ended = run(say("same"), RETRY, say("same"), DONE)
        assert texts(ended) == ["same"]
        assert ended.turns == 1

    def test_other_text_is_kept(self) -> None:
        assert texts(run(say("part"), RETRY, say("whole"), DONE)) == [
            "part",
            "whole",
        ]

    def test_without_a_notice_it_is_said_twice(self) -> None:
        assert texts(run(say("same"), say("same"), DONE)) == ["same", "same"]

    def test_something_else_came_between(self) -> None:
        between = [command("started"), command("completed", "completed", 0)]
        ended = run(say("same"), RETRY, *between, say("same"), DONE)
        assert texts(ended) == ["same", "same"]


class TestItems:
    @pytest.mark.parametrize(
        ("status", "code", "expected"),
        [
            ("completed", 0, "success"),
            ("completed", None, "success"),
            ("completed", 1, "error"),
            ("failed", 1, "error"),
            ("failed", None, "error"),
            ("declined", None, "error"),
        ],
    )
    def test_status(self, status: str, code: int | None, expected: str) -> None:
        ended = run(command("started"), command("completed", status, code), DONE)
        assert [t["status"] for t in tools(ended)] == ["running", expected]
        assert tools(ended)[0]["name"] == "bash"
        assert tools(ended)[0]["args"] == {"command": "ls"}
        assert "out" in tools(ended)[1].values()

    @pytest.mark.parametrize(
        ("status", "code", "error"),
        [("failed", 3, "exit code 3"), ("declined", None, "declined")],
    )
    def test_silent_failure(self, status: str, code: int | None, error: str) -> None:
        more: dict[str, Any] = {"command": "x", "status": status, "exit_code": code}
        ended = run(item("command_execution", **more), DONE)
        assert tools(ended)[1]["error"] == error

    def test_completed_without_started(self) -> None:
        changes = [{"path": "a", "kind": "add"}]
        ended = run(item("file_change", changes=changes, status="completed"), DONE)
        assert [t["status"] for t in tools(ended)] == ["running", "success"]
        assert tools(ended)[0]["name"] == "apply_patch"
        assert tools(ended)[0]["args"] == {"changes": changes}

    def test_mcp(self) -> None:
        call: dict[str, Any] = {"server": "s", "tool": "t", "arguments": {"a": 1}}
        content = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
        good: dict[str, Any] = {"status": "completed", "result": {"content": content}}
        bad: dict[str, Any] = {
            "status": "failed",
            "error": {"message": "broken pipe"},
            "result": None,
        }
        ended = run(
            item("mcp_tool_call", "1", **call, **good),
            item("mcp_tool_call", "2", **call, **bad),
            DONE,
        )
        assert {t["name"] for t in tools(ended)} == {"mcp__s__t"}
        assert tools(ended)[1]["result"] == "x\ny"
        assert tools(ended)[3]["error"] == "broken pipe"

    def test_collab(self) -> None:
        states = {"th": {"status": "completed", "message": "3 files"}}
        more: dict[str, Any] = {"tool": "wait", "prompt": None, "agents_states": states}
        ended = run(item("collab_tool_call", status="completed", **more), DONE)
        assert tools(ended)[1]["name"] == "wait"
        assert tools(ended)[1]["result"] == "completed: 3 files"

    def test_web_search(self) -> None:
        ended = run(item("web_search", query="python"), DONE)
        assert tools(ended)[0]["args"] == {"query": "python"}

    def test_plan_is_written_when_it_changes(self) -> None:
        def plan(ev: str, done: bool) -> Any:
            return item("todo_list", ev=ev, items=[{"text": "a", "completed": done}])

        ended = run(
            plan("started", False),
            plan("updated", True),
            say("kept"),
            plan("completed", True),
            DONE,
        )
        names = [(t["tool_id"], t["name"], t["status"]) for t in tools(ended)]
        assert names == [
            ("item_0", "update_plan", "running"),
            ("item_0", "update_plan", "success"),
            ("item_0#2", "update_plan", "running"),
            ("item_0#2", "update_plan", "success"),
        ]
        assert ended.of_type(TodoUpdated)[-1].items == (TodoItem("a", "completed"),)

    def test_empty_message_is_no_turn(self) -> None:
        ended = run(say(""), say("\n"), DONE)
        assert (ended.turns, texts(ended)) == (0, [])

    def test_reasoning_and_warning(self) -> None:
        ended = run(item("reasoning", text="hm"), item("error", message="beware"), DONE)
        assert ended.entries[2]["type"] == "thinking"
        assert ended.of_type(Notice) == [Notice("beware")]
        assert ended.outcome.status == "success"

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ({"type": "brand.new"}, "brand.new"),
            ({}, "(no type)"),
            (item("hologram"), "item/hologram"),
            ({"type": "item.completed", "item": None}, "item/(no type)"),
        ],
    )
    def test_unknown(self, line: Any, name: str) -> None:
        ended = run(line, DONE)
        assert ended.unknown_types == {name: 1}
        assert not ended.failures

    @pytest.mark.parametrize(
        "line",
        [
            {"type": "turn.completed", "usage": "x"},
            {"type": "turn.failed", "error": None},
            item("todo_list", items=3),
            item("mcp_tool_call", result=[1], error=5, arguments="x"),
            item("command_execution", aggregated_output=3, exit_code="x", command=None),
            item("agent_message", text=None),
            item("reasoning", summary=[1]),
            item("collab_tool_call", agents_states=[1]),
        ],
    )
    def test_wrong_shapes_never_fail(self, line: Any) -> None:
        assert not run(line, DONE).failures


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


class TestRecognises:
    @pytest.mark.parametrize(
        ("event", "expected"),
        [
            ({"type": "thread.started", "thread_id": "t"}, True),
            ({"type": "thread.started"}, False),
            ({"id": 1, "result": {"codexHome": "~/.codex"}}, True),
            ({"method": "thread/started", "params": {"thread": {}}}, True),
            ({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}, False),
            ({"method": "session/update", "params": {}}, False),
            ({"type": "turn.started"}, False),
        ],
    )
    def test_first_event(self, event: dict[str, Any], expected: bool) -> None:
        assert Codex.recognises(event) is expected


class TestPrepare:
    @pytest.mark.parametrize(
        ("command", "expected", "prompt"),
        [
            ("codex exec DO", "codex exec --json DO", "DO"),
            ("codex e DO", "codex e --json DO", "DO"),
            ("codex exec --json DO", "codex exec --json DO", "DO"),
            ("codex -m m exec -s x DO", "codex -m m exec --json -s x DO", "DO"),
            ("codex exec resume ID DO", "codex exec resume --json ID DO", "DO"),
            ("codex exec resume --last DO", "codex exec resume --json --last DO", "DO"),
            ("codex exec resume ID", "codex exec resume --json ID", None),
            ("codex exec -", "codex exec --json -", None),
            ("npx @openai/codex@1 exec DO", "npx @openai/codex@1 exec --json DO", "DO"),
            ("npx -p codex codex e DO", "npx -p codex codex e --json DO", "DO"),
            ("codex app-server", "codex app-server", None),
            ("codex login", "codex login", None),
        ],
    )
    def test_flags(self, command: str, expected: str, prompt: str | None) -> None:
        prepared = Codex.prepare(command.split(), None)
        assert prepared.command == expected.split()
        assert prepared.prompt == prompt
        assert prepared.stdin is None

    @pytest.mark.parametrize("command", ["codex exec", "codex exec -"])
    def test_given_prompt_goes_in_by_stdin(self, command: str) -> None:
        prepared = Codex.prepare(command.split(), "do it")
        assert (prepared.stdin, prepared.prompt) == (b"do it", "do it")
        assert prepared.added == ["--json"]

    def test_given_prompt_and_one_in_the_command(self) -> None:
        # with both, codex would wait for the end of its stdin
        prepared = Codex.prepare(["codex", "exec", "DO"], "other")
        assert (prepared.stdin, prepared.prompt) == (None, "other")

    @pytest.mark.parametrize(
        ("command", "model"),
        [
            ("codex exec -m gpt DO", "gpt"),
            ("codex exec -mgpt DO", "gpt"),
            ("codex --model=gpt exec DO", "gpt"),
            ('codex exec -c model="gpt" DO', "gpt"),
            ("codex exec -c a=b -c model=gpt -c c=d DO", "gpt"),
            ("codex exec -c model_provider=x DO", ""),
        ],
    )
    def test_model(self, command: str, model: str) -> None:
        assert Codex.model_from(command.split()) == model
