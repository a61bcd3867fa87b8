"""From facts to numbered events: what is said, once, and what a snapshot shows."""

from __future__ import annotations

import json

import pytest

from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    HookUpdated,
    InteractionResolved,
    MemoryRecalled,
    Message,
    Notice,
    Prompt,
    QuestionAsked,
    RunFinished,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    Thinking,
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
from agent_wrap.serve.log import Turn

from .telling import NOW, bare, end, session, since, snapshot, told

# The vocabulary


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
        ("stopped", "aborted_tools", "aborted_tools", "interrupted"),
        ("stopped", "max_turns", "aborted_streaming", "interrupted"),
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


def test_secrets_are_replaced_in_everything_that_leaves() -> None:
    made = session(clean=lambda line: line.replace(b"hunter2-hunter2", b"[redacted]"))
    made.begin_turn("use hunter2-hunter2")
    told(SessionStarted(model="hunter2-hunter2"), Message("hunter2-hunter2"), made=made)
    told(ApprovalAsked("r", "Bash", {"a": "hunter2-hunter2"}), made=made)
    assert b"hunter2" not in made.snapshot(NOW) + b"".join(made.log.after(0, 1 << 20))
    end(made, "agent_error", text="hunter2-hunter2")
    assert b"hunter2" not in made.snapshot(NOW) + b"".join(made.log.after(0, 1 << 20))
