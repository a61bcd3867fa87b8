"""Claude Code spoken to over its stdin: what it asks, what it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from agent_wrap import Brief
from agent_wrap.events import (
    ElicitationAsked,
    Event,
    InteractionResolved,
    Notice,
    QuestionAsked,
    RunFinished,
    Send,
    Unknown,
)
from agent_wrap_adapters.claude_code import ClaudeCode

from .claude_lines import (
    text,
)


def asked(request_id: str, subtype: str, **request: Any) -> dict[str, Any]:
    about = {"type": "control_request", "request_id": request_id}
    return {**about, "request": {"subtype": subtype, **request}}


BASH = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
QUESTION = {"question": "Tea?", "options": []}


def two_way(prompt: str = "do") -> ClaudeCode:
    adapter = ClaudeCode()
    adapter.brief = Brief(prompt, "/w", two_way=True)
    return adapter


def sent(events: Iterable[Event]) -> list[Any]:
    return [json.loads(e.data) for e in events if isinstance(e, Send)]


class TestTwoWay:
    def test_start(self) -> None:
        hello, message = sent(two_way("do é").start())
        assert hello["type"] == "control_request"
        assert hello["request"] == {"subtype": "initialize", "hooks": None}
        assert message["type"] == "user"
        assert message["message"] == {"role": "user", "content": [text("do é")]}

    def test_one_way_says_nothing(self) -> None:
        adapter = ClaudeCode()
        adapter.brief = Brief("do")
        assert list(adapter.start()) == []

    def test_without_a_prompt_it_is_over(self) -> None:
        (end,) = two_way("").start()
        assert isinstance(end, RunFinished)
        assert not end.ok
        assert "no prompt" in end.message

    @pytest.mark.parametrize(
        ("resolution", "response"),
        [
            ("approved", {"behavior": "allow", "updatedInput": {"command": "ls"}}),
            ("denied", {"behavior": "deny", "message": "Permission denied."}),
        ],
    )
    def test_permission(self, resolution: Any, response: Any) -> None:
        adapter = two_way()
        list(adapter.feed(asked("r1", "can_use_tool", **BASH)))
        events = list(adapter.answer("r1", resolution))
        assert sent(events) == [
            {
                "type": "control_response",
                "response": {
                    "request_id": "r1",
                    "subtype": "success",
                    "response": response,
                },
            }
        ]
        assert events[-1] == InteractionResolved("r1", resolution)
        assert list(adapter.answer("r1", resolution)) == []

    def test_our_answer_echoed_says_nothing_new(self) -> None:
        adapter = two_way()
        list(adapter.feed(asked("r1", "can_use_tool", **BASH)))
        (answer,) = sent(adapter.answer("r1", "approved"))
        assert list(adapter.feed(answer)) == []

    def test_question_nobody_answers(self) -> None:
        adapter = two_way()
        given = {"questions": [QUESTION]}
        line = asked("r1", "can_use_tool", tool_name="AskUserQuestion", input=given)
        assert list(adapter.feed(line)) == [QuestionAsked("r1", (QUESTION,))]
        events = list(adapter.answer("r1", "cancelled"))
        said = sent(events)[0]["response"]["response"]
        assert said == {"behavior": "deny", "message": "Nobody is there to answer."}
        assert events[-1] == InteractionResolved("r1", "cancelled")

    @pytest.mark.parametrize(
        ("resolution", "action"),
        [("approved", "accept"), ("denied", "decline"), ("cancelled", "cancel")],
    )
    def test_form(self, resolution: str, action: str) -> None:
        adapter = two_way()
        schema = {"type": "object"}
        more = {"mcp_server_name": "s", "message": "m", "requested_schema": schema}
        line = asked("r1", "elicitation", **more)
        assert list(adapter.feed(line)) == [ElicitationAsked("r1", "s", "m", schema)]
        (said,) = sent(adapter.answer("r1", resolution))
        assert said["response"]["response"] == {"action": action}

    def test_a_form_that_is_filled_in(self) -> None:
        adapter = two_way()
        more = {"mcp_server_name": "s", "message": "m", "url": "https://x.example"}
        (ask,) = adapter.feed(asked("r1", "elicitation", **more))
        assert ask == ElicitationAsked("r1", "s", "m", {}, "https://x.example")
        events = list(adapter.answer("r1", "answered", {"key": "k"}))
        said = sent(events)[0]["response"]["response"]
        assert said == {"action": "accept", "content": {"key": "k"}}
        assert events[-1] == InteractionResolved("r1", "answered")

    def test_questions_that_are_answered(self) -> None:
        """By their texts; of what was not asked nothing is said."""
        adapter = two_way()
        given = {"questions": [QUESTION, {"question": "Milk?"}, {"question": "Hot?"}]}
        tool = {"tool_name": "AskUserQuestion", "tool_use_id": "t1", "input": given}
        (ask,) = adapter.feed(asked("r1", "can_use_tool", **tool))
        assert isinstance(ask, QuestionAsked)
        assert ask.tool_id == "t1"
        answers = {"0": "yes", "1": "no", "7": "?", "2": 3}
        events = list(adapter.answer("r1", "answered", answers))
        said = sent(events)[0]["response"]["response"]
        told = {**given, "answers": {"Tea?": "yes", "Milk?": "no"}}
        assert said == {"behavior": "allow", "updatedInput": told}
        assert events[-1] == InteractionResolved("r1", "answered")

    def test_other_requests_are_refused(self) -> None:
        adapter = two_way()
        list(adapter.start())
        unknown, refused = adapter.feed(asked("r1", "hook_callback"))
        assert unknown == Unknown("control_request/hook_callback")
        (said,) = sent([refused])
        assert said["response"]["subtype"] == "error"
        assert said["response"]["request_id"] == "r1"

    def test_cancel(self) -> None:
        """What is open is taken back by the agent itself, once interrupted."""
        adapter = two_way()
        list(adapter.feed(asked("r1", "can_use_tool", **BASH)))
        events = list(adapter.cancel())
        assert [m["request"] for m in sent(events)] == [{"subtype": "interrupt"}]
        assert events[1:] == [InteractionResolved("r1", "cancelled")]
        late = {"type": "control_cancel_request", "request_id": "r1"}
        assert list(adapter.feed(late)) == []

    def test_refused_hello_is_the_end(self) -> None:
        adapter = two_way()
        hello, _ = sent(adapter.start())
        response = {"subtype": "error", "request_id": hello["request_id"], "error": "E"}
        answer = {"type": "control_response", "response": response}
        assert list(adapter.feed(answer)) == [RunFinished(False, "E", "error")]
        other = {"type": "control_response", "response": {**response, "request_id": ""}}
        assert list(adapter.feed(other)) == [Notice("E")]
