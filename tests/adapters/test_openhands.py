"""OpenHands' lines, one trap a test. Shapes as version 1.16.0."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_wrap.events import HookUpdated, Notice, SessionStarted
from agent_wrap.testing import load, replay
from agent_wrap_adapters.openhands import OpenHands

from .commands import Case, commands
from .replays import play, texts, tools

TASK = ["--headless", "--json", "-t", "do it"]
RECORDINGS = Path(__file__).parent.parent / "recordings"

run = partial(play, OpenHands)


def parts(text: str) -> list[Any]:
    return [{"type": "text", "text": text}]


def action(call: str = "c1", answer: str = "r1", thought: str = "", **more: Any) -> Any:
    event = {
        "kind": "ActionEvent",
        "id": f"event-{call}",
        "source": "agent",
        "thought": parts(thought) if thought else [],
        "reasoning_content": None,
        "action": {"command": "ls", "timeout": None, "kind": "TerminalAction"},
        "tool_name": "terminal",
        "tool_call_id": call,
        "tool_call": {"arguments": '{"command": "ls"}'},
        "llm_response_id": answer,
    }
    return event | more


def observation(call: str = "c1", text: str = "out", **more: Any) -> Any:
    return {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_name": "terminal",
        "tool_call_id": call,
        "observation": {"content": parts(text), "is_error": False} | more,
    }


ERROR = {
    "kind": "ConversationErrorEvent",
    "code": "AuthenticationError",
    "detail": "no",
}
DONE = "Agent finished"


def test_the_model_is_told_in_text() -> None:
    saved = load(RECORDINGS / "openhands-1.16" / "tool_ok")
    ended = replay(saved.stream, OpenHands(), code=saved.code)
    assert ended.entries[0]["data"]["model"] == "openai/mock-model"


class TestEnd:
    def test_error_with_exit_0(self) -> None:
        ended = run(ERROR)
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)
        assert ended.outcome.message == "no"

    def test_a_limit_is_followed_by_a_good_word(self) -> None:
        assert run(ERROR, DONE, "Conversation ID: ab").outcome.status == "error"

    def test_the_end_is_promised(self) -> None:
        assert run(action(), observation()).outcome.reason == "no_final_event"

    def test_session_comes_after_the_end(self) -> None:
        ended = run(DONE, "Goodbye! 👋", "Conversation ID: 20b1")
        assert ended.outcome.status == "success"
        assert ended.story.session.session_id == "20b1"

    def test_its_own_words_are_kept(self) -> None:
        said = "Headless mode requires existing settings."
        assert run(said).of_type(Notice) == [Notice(said)]

    def test_what_the_model_says_is_no_end(self) -> None:
        shown = "│ Agent finished                 │"
        assert run(ERROR, shown).outcome.status == "error"
        assert run(action(thought=DONE), shown).outcome.reason == "no_final_event"

    def test_colours(self) -> None:
        line = "\x1b[32m✓ Agent initialized with model: a/b\x1b[0m"
        ended = run(line, f"\x1b[1m{DONE}\x1b[0m")
        assert ended.of_type(SessionStarted) == [SessionStarted(model="a/b")]
        assert ended.outcome.status == "success"


class TestTools:
    def test_only_the_first_of_several_calls_has_the_text(self) -> None:
        first = action(thought="Two.", reasoning_content="Hm.")
        ended = run(first, action("c2"), observation("c2"), observation("c1"), DONE)
        assert texts(ended, "message") == ["Two."]
        assert texts(ended, "thinking") == ["Hm."]
        assert [t["tool_id"] for t in tools(ended)] == ["c1", "c2", "c2", "c1"]
        assert ended.turns == 1

    @pytest.mark.parametrize(
        ("more", "status"),
        [
            ({"exit_code": 0}, "success"),
            ({"exit_code": 2}, "error"),  # is_error is false
            ({"exit_code": -1, "timeout": True}, "success"),  # it still runs
            ({"exit_code": -1, "is_error": True}, "error"),
            ({"is_error": True}, "error"),
        ],
    )
    def test_status(self, more: dict[str, Any], status: str) -> None:
        assert tools(run(action(), observation(**more)))[1]["status"] == status

    def test_arguments_without_what_is_not_set(self) -> None:
        assert tools(run(action()))[0]["args"] == {"command": "ls"}

    def test_arguments_that_were_not_understood(self) -> None:
        call = {"arguments": '{"a": 1}'}
        error = {"kind": "AgentErrorEvent", "tool_call_id": "c1", "error": "not found"}
        start, result = tools(run(action(action=None, tool_call=call), error))
        assert start["args"] == {"a": 1}
        assert (result["status"], result["error"]) == ("error", "not found")

    def test_arguments_that_are_no_json(self) -> None:
        ended = run(action(action=None, tool_call={"arguments": '{"a": '}))
        assert tools(ended)[0]["args"] == {"input": '{"a": '}

    def test_arguments_of_another_protocol(self) -> None:
        mcp = {"kind": "MCPToolAction", "data": {"q": "x"}}
        assert tools(run(action(action=mcp)))[0]["args"] == {"q": "x"}

    def test_a_refusal_is_a_result(self) -> None:
        no = {
            "kind": "UserRejectObservation",
            "tool_call_id": "c1",
            "rejection_reason": "x",
        }
        assert tools(run(action(), no))[1]["error"] == "x"

    def test_hooks(self) -> None:
        hook = {
            "kind": "HookExecutionEvent",
            "id": "h",
            "success": False,
            "exit_code": 2,
            "hook_event_type": "Stop",
        }
        expected = HookUpdated("h", "failed", "Stop", exit_code=2)
        assert run(hook).of_type(HookUpdated) == [expected]


def test_text_is_no_fault() -> None:
    ended = run("Initializing agent...", "", "Agent is working", action(), "noise")
    assert ended.counts["unparsable"] == 0
    assert ended.counts["ignored"] == 4


def test_unknown_kinds_are_counted() -> None:
    silent = {"kind": "Condensation", "id": "x", "source": "environment"}
    ended = run(silent, {"kind": "NewEvent"}, {"kind": "PauseEvent"})
    assert ended.unknown_types == {"NewEvent": 1}
    assert ended.of_type(Notice) == [Notice("the agent was paused")]


@commands(
    "command prompt expected asked",
    [
        (["-t", "do it"], None, TASK, "do it"),
        (TASK, None, TASK, "do it"),
        ([], "do it", TASK, "do it"),
        (["-f", "x"], None, ["--headless", "--json", "-f", "x"], None),
        ([], None, [], None),  # a person at a terminal
        (["acp"], "do it", ["acp"], None),
        (["--version"], None, ["--version"], None),
    ],
    program="openhands",
)
def test_prepare(case: Case) -> None:
    assert case.prepared(OpenHands) == case.expected


def test_prepare_unbuffers() -> None:
    environment = OpenHands.prepare(["openhands", *TASK], None).environment
    assert environment == {"PYTHONUNBUFFERED": "1"}
