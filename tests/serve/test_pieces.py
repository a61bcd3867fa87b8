"""Texts are said once, whether they come in pieces, whole, or both ways."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import (
    Event,
    Message,
    Retracted,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)

from .telling import told


def text_of(events: list[dict[str, Any]], kind: str = "text_delta") -> str:
    return "".join(event["text"] for event in events if event["type"] == kind)


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([Message("whole", "m1")], "whole"),
        (
            [TextDelta("wh", "m1"), TextDelta("ole", "m1"), Message("whole", "m1")],
            "whole",
        ),
        ([TextDelta("wh", "m1"), Message("whole", "m1")], "whole"),
        ([TextDelta("wh"), Message("whole", "m1")], "whole"),
        ([TextDelta("wh", "m1"), Message("whole")], "whole"),
        (
            [TextDelta("a\n", "m1"), TextDelta("b\n", "m1"), Message("a\nb", "m1")],
            "a\nb\n",
        ),
        (
            [TextDelta("one", "m1"), Message("one", "m1"), Message("two", "m1")],
            "one\n\ntwo",
        ),
        (
            [Message("one", "m1"), TextDelta("two", "m2"), Message("two", "m2")],
            "one\n\ntwo",
        ),
        ([TextDelta("ab", "m1"), Message("a", "m1"), Message("b", "m1")], "ab"),
        ([Message(" \n"), Message("")], ""),
        ([TextDelta(""), Message("x")], "x"),
    ],
)
def test_a_text_is_said_once(events: list[Event], text: str) -> None:
    assert text_of(told(*events)) == text


def test_an_attempt_that_was_thrown_away_is_no_part_of_the_next() -> None:
    events = told(TextDelta("ab", "m1"), Retracted(("m1",)), Message("abc", "m1"))
    assert [event["text"] for event in events if "text" in event] == ["ab", "\n\nabc"]
    assert events[2]["type"] == "system_status"


def test_thinking_has_pieces_of_its_own() -> None:
    events = told(
        ThinkingDelta("", "m1"),
        ThinkingDelta("hm", "m1"),
        Thinking("hmm", "m1"),
        Message("hmm", "m1"),
    )
    assert text_of(events, "thinking_delta") == "hmm"
    assert text_of(events) == "hmm"


def test_texts_around_a_tool_need_no_paragraph() -> None:
    events = told(
        Message("a"), ToolStarted("t", "Bash"), ToolFinished("t", ""), Message("b")
    )
    assert text_of(events) == "ab"
