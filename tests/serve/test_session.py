"""From facts to numbered events: what is said, once, and what a snapshot shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    Event,
    HookUpdated,
    InteractionResolved,
    MemoryRecalled,
    Message,
    Notice,
    Prompt,
    QuestionAsked,
    Retracted,
    RunFinished,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Unknown,
    Unparsed,
    Usage,
)
from agent_wrap.serve.log import Log, Turn
from agent_wrap.serve.session import Session

from .client import Parser

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
NOW = 1_760_000_000_000


def session(**how: Any) -> Session:
    return Session(ID, 1, **how)


def told(*events: Event, made: Session | None = None) -> list[dict[str, Any]]:
    """Give the payloads that facts lead to, all of them checked."""
    made = session() if made is None else made
    before = made.cursor
    for event in events:
        made.apply(event, NOW)
    return since(made, before)


def since(made: Session, seq: int) -> list[dict[str, Any]]:
    parser = Parser(seq)
    for frame in made.log.after(seq, 1 << 30):
        parser.feed(frame)
    return [frame.data for frame in parser.frames]


def snapshot(made: Session, now: int = NOW) -> dict[str, Any]:
    parser = Parser()
    parser.feed(made.snapshot(now))
    return dict(parser.frames[0].data)


def bare(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "seq"}


def end(
    made: Session, reason: str = "completed", word: str = "", text: str = ""
) -> None:
    made.end_turn(reason, text, NOW, agents_word=word)


def text_of(events: list[dict[str, Any]], kind: str = "text_delta") -> str:
    return "".join(event["text"] for event in events if event["type"] == kind)


# Texts


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


# Tools


def test_a_tool() -> None:
    events = told(
        ToolStarted("t1", "Bash", {"command": "make"}),
        ToolProgress("t1", "cc"),
        ToolProgress("t9", "of no tool"),
        ToolFinished("t1", "done"),
        ToolStarted("t2", "Read"),
        ToolFinished("t2", "no file", ok=False),
        ToolFinished("t2", "twice"),
    )
    call = {"toolCallId": "t1", "toolName": "Bash"}
    assert list(map(bare, events[1:])) == [
        {
            "type": "tool_call",
            **call,
            "input": '{"command":"make"}',
            "status": "running",
        },
        {"type": "tool_progress", "toolCallId": "t1", "content": "cc"},
        {"type": "tool_result", **call, "result": "done", "status": "complete"},
        {
            "type": "tool_call",
            "toolCallId": "t2",
            "toolName": "Read",
            "status": "running",
        },
        {
            "type": "tool_result",
            "toolCallId": "t2",
            "toolName": "Read",
            "result": "no file",
            "status": "error",
        },
    ]


def test_a_repeated_id_is_another_call() -> None:
    events = told(
        ToolStarted("t", "A"),
        ToolFinished("t", "1"),
        ToolStarted("t", "B"),
        ToolStarted("", "C"),
    )
    ids = [event["toolCallId"] for event in events[1:]]
    assert ids == ["t", "t", "t#2", "tool-3"]


def test_a_subagents_tool_has_its_parents_name() -> None:
    events = told(ToolStarted("t", "Agent"), ToolStarted("u", "Bash", None, "t"))
    assert events[-1]["toolName"] == "Agent/Bash"


def test_tools_that_are_open_at_the_end_are_closed() -> None:
    made = session()
    told(ToolStarted("t", "Bash"), made=made)
    end(made, "stopped")
    *_, result, error, last = since(made, 0)
    assert (result["toolCallId"], result["status"]) == ("t", "error")
    assert error["type"] == "error"
    assert last["terminalReason"] == "aborted_tools"


# The rest of the vocabulary


def test_everything_else_has_the_known_shape() -> None:
    events = told(
        SessionStarted(model="large-1"),
        TodoUpdated((TodoItem("a", "completed"), TodoItem("b", "in_progress", "x"))),
        TodoUpdated(()),
        SubagentUpdated("s", "running", "looks", 3),
        SubagentUpdated("s", "completed", summary="found"),
        HookUpdated("h", "failed", "Stop", "out", "err", 2),
        MemoryRecalled("other", ("a.md",)),
        Notice("trying again"),
        QuestionAsked("q", ({"question": "?", "options": ["a", {"label": "b"}]}, {})),
        ElicitationAsked("e", "server", "key?", {"type": "object"}),
        Usage(input=10, cached=5, output=3, message_id="m"),
        Usage(input=10, cached=5, output=4, message_id="m"),
        Usage(input=10, cached=5, output=4, message_id="m"),
        RunFinished(True, totals=Usage(input=10, output=4, cost=0.25, scope="total")),
        TurnStarted("m"),
        Unknown("new"),
        Unparsed(b"x", "y"),
    )
    assert [event["type"] for event in events] == [
        *("status_change", "turn_start", "todo_update", "status_change"),
        *("todo_update", "status_change", "subagent_update", "status_change"),
        *("subagent_update", "status_change", "hook_update", "memory_recall"),
        *("system_status", "question_prompt", "elicitation_prompt"),
        *("status_change", "status_change", "status_change"),
    ]
    assert bare(events[-2])["status"] == {"contextUsage": {"outputTokens": 4}}
    assert bare(events[-1])["status"] == {"cost": 0.25}
    assert events[2]["task"] == {"id": "x", "subject": "b", "status": "in_progress"}


def test_the_prompt_begins_the_turn_once() -> None:
    events = told(SessionStarted(), Prompt("Hi"), Prompt("again"), Message("x"))
    assert [event["type"] for event in events] == ["turn_start", "text_delta"]
    assert events[0]["userMessage"] == "Hi"


# Ends


@pytest.mark.parametrize(
    ("reason", "word", "terminal", "lifecycle"),
    [
        ("completed", "", "completed", "idle"),
        ("agent_error", "max_turns", "max_turns", "idle"),
        ("agent_error", "error_max_turns", "max_turns", "idle"),
        ("agent_error", "completed", "error", "error"),
        ("agent_error", "whatever", "error", "error"),
        ("no_final_event", "", "error", "error"),
        ("agent_killed", "", "error", "error"),
        ("timeout", "max_turns", "error", "error"),
        ("idle_timeout", "", "error", "error"),
        ("turn_limit", "", "max_turns", "idle"),
        ("cost_limit", "", "blocking_limit", "idle"),
        ("stopped", "", "aborted_streaming", "interrupted"),
        ("spawn_failed", "", "error", "error"),
    ],
)
def test_ends(reason: str, word: str, terminal: str, lifecycle: str) -> None:
    made = session()
    told(Message("x"), made=made)
    end(made, reason, word, "why")
    events = since(made, 0)
    assert events[-1]["terminalReason"] == terminal
    assert ("error" in [e["type"] for e in events]) == (terminal != "completed")
    shown = snapshot(made)["status"]
    assert shown["lifecycle"] == lifecycle
    assert (shown["lastError"] is not None) == (lifecycle == "error")


def test_the_next_turn_clears_the_error() -> None:
    made = session()
    end(made, "timeout", text="too long")
    assert snapshot(made)["status"]["lastError"]["message"] == "too long"
    made.begin_turn("again")
    assert snapshot(made)["status"]["lastError"] is None
    end(made)
    assert [e["type"] for e in since(made, 0)].count("turn_end") == 2


def test_a_turn_goes_into_the_history() -> None:
    made = session()
    made.begin_turn("Hi")
    told(
        Thinking("hm"),
        Message("a"),
        ToolStarted("t", "Bash", {}),
        ToolProgress("t", "1"),
        ToolProgress("t", "2"),
        ToolFinished("t", "out"),
        Message("b"),
        made=made,
    )
    end(made, "timeout", text="too long")
    shown = snapshot(made)
    asked, answer = shown["messages"]
    assert (asked["role"], asked["content"]) == ("user", "Hi")
    assert answer["content"] == "a\n\nb"
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds == ["thinking", "text", "tool_call", "text", "error"]
    assert answer["toolCalls"] == [
        {
            "toolCallId": "t",
            "toolName": "Bash",
            "input": "{}",
            "result": "out",
            "status": "complete",
            "progressOutput": "12",
        }
    ]
    assert shown["inProgressTurn"] is None


# Questions


def test_an_approval_from_asking_to_its_answer() -> None:
    made = session()
    told(
        ToolStarted("t1", "Bash"),
        ApprovalAsked("r1", "Bash", {"a": 1}, "t1"),
        made=made,
    )
    later = snapshot(made, NOW + 1000)
    [asked] = later["pendingInteractions"]
    assert (asked["id"], asked["remainingMs"]) == ("t1", 599_000)
    assert later["status"]["lifecycle"] == "blocked"
    assert snapshot(made, NOW + 600_000)["pendingInteractions"] == []
    answers = told(
        InteractionResolved("r1", "approved"),
        InteractionResolved("r1", "approved"),
        InteractionResolved("never asked", "denied"),
        made=made,
    )
    assert list(map(bare, answers)) == [
        {"type": "interaction_resolved", "id": "t1", "resolution": "approved"}
    ]
    assert snapshot(made)["status"]["lifecycle"] == "streaming"


def test_what_is_asked_ends_with_its_turn() -> None:
    made = session()
    told(ApprovalAsked("r1", "Bash"), SubagentUpdated("s", "running"), made=made)
    end(made, "stopped")
    kinds = [event["type"] for event in since(made, 0)]
    assert kinds.index("interaction_resolved") < kinds.index("turn_end")
    shown = snapshot(made)
    assert shown["pendingInteractions"] == []
    assert shown["status"]["runningSubagentCount"] == 0


# Bounds


def test_a_long_turn_is_shown_without_its_oldest_events() -> None:
    made = session()
    made.begin_turn("Hi")
    assert made._turn is not None
    small = made._turn = Turn(max_bytes=20_000)
    first = made.log.after(0, 1)[0]
    small.append(first, first.index(b"data: ") + 6)
    told(*(TextDelta("x" * 100, "m") for _ in range(1000)), made=made)
    shown = snapshot(made)["inProgressTurn"]
    assert [event["type"] for event in shown[:2]] == ["turn_start", "system_status"]
    assert f"{small.left_out} events" in shown[1]["message"]
    assert shown[2]["seq"] == shown[1]["seq"] + 1
    assert len(json.dumps(shown)) < 60_000


def test_the_log_is_bounded() -> None:
    log = Log(max_events=100, max_bytes=10_000)
    for number in range(1, 1001):
        log.append(b"%d" % number)
        assert log.last == number
    assert log.last - log.first < 100
    assert log.after(998, 1 << 20) == [b"999", b"1000"]
    assert log.after(998, 1) == [b"999"]
    assert not log.holds_after(log.first - 2)
    assert log.holds_after(log.first - 1)
    assert not log.holds_after(1001)
    log.append(b"x" * 20_000)
    assert log.after(1000, 1) == [b"x" * 20_000]


def test_secrets_are_replaced_in_everything_that_leaves() -> None:
    made = session(clean=lambda line: line.replace(b"hunter2-hunter2", b"[redacted]"))
    made.begin_turn("use hunter2-hunter2")
    told(SessionStarted(model="hunter2-hunter2"), Message("hunter2-hunter2"), made=made)
    told(ApprovalAsked("r", "Bash", {"a": "hunter2-hunter2"}), made=made)
    assert b"hunter2" not in made.snapshot(NOW) + b"".join(made.log.after(0, 1 << 20))
    end(made, "agent_error", text="hunter2-hunter2")
    assert b"hunter2" not in made.snapshot(NOW) + b"".join(made.log.after(0, 1 << 20))
