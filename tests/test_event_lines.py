"""Events as lines and back: nothing is lost on the way but raw bytes."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import events
from agent_wrap.event_lines import from_line, to_line
from agent_wrap.events import Event

EXAMPLES: list[Event] = [
    events.SessionStarted("s-1", "m", "/src", "a", "1.2"),
    events.SessionStarted(),
    events.Prompt("do it"),
    events.TurnStarted("t1"),
    events.Message("Hi é \N{GRINNING FACE}\n", "m1"),
    events.Thinking("hm", "m1"),
    events.TextDelta("H", "m1"),
    events.ThinkingDelta("", "m1"),
    events.ToolStarted("t1", "bash", {"command": "ls", "n": [1, {"a": None}]}, "t0"),
    events.ToolStarted("t1", "bash"),
    events.ToolProgress("t1", "half"),
    events.ToolFinished("t1", "out", False),
    events.Usage(1, 2, 3, 4, 5, 0.25, "m1", "total", False),
    events.Usage(),
    events.Retracted(("m1", "m2")),
    events.Retracted(()),
    events.RunResumed(),
    events.TodoUpdated((events.TodoItem("a", "completed", "1"), events.TodoItem("b"))),
    events.SubagentUpdated("b1", "completed", "d", 3, "s"),
    events.HookUpdated("h1", "failed", "n", "out", "err", 2),
    events.MemoryRecalled("auto", ("a", "b")),
    events.ApprovalAsked("a1", "bash", {"x": 1}, "t1"),
    events.QuestionAsked("q1", ({"question": "?", "options": ["a"]},)),
    events.ElicitationAsked("e1", "server", "fill in", {"type": "object"}),
    events.InteractionResolved("a1", "denied"),
    events.Notice("retrying"),
    events.Unknown("brand_new"),
    events.RunFinished(True),
    events.RunFinished(False, "no", "max_turns", events.Usage(1, 2, scope="total"), 4),
]


def test_every_event_has_an_example() -> None:
    kinds = {type(example) for example in EXAMPLES}
    assert set(get_args(Event)) - kinds == {events.Send, events.Unparsed}


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_there_and_back(event: Event) -> None:
    line = to_line(event)
    assert line.isascii()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert from_line(line) == event


def test_raw_bytes_stay_where_they_are() -> None:
    assert to_line(events.Send(b"secret")) == b""
    line = to_line(events.Unparsed(b"\xff secret", "not JSON"))
    assert b"secret" not in line
    assert from_line(line) == events.Unparsed(b"", "not JSON")


@given(st.text(), st.text())
def test_any_text(text: str, message_id: str) -> None:
    text, message_id = text.replace("\0", ""), message_id.replace("\0", "")
    event = events.Message(text, message_id)
    assert from_line(to_line(event)) == event


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"noise",
        b"[1]",
        b"null",
        b"{}",
        b'{"event": "NoSuchEvent"}',
        b'{"event": 3}',
        b'{"event": "Message"',
    ],
)
def test_what_is_no_event(line: bytes) -> None:
    assert from_line(line) is None
