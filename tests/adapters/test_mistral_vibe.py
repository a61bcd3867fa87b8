"""Vibe's two formats, one trap a test. Shapes as its versions 2.0.2 and 3.0.2."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import Notice, Prompt, TodoItem, TodoUpdated
from agent_wrap_adapters.mistral_vibe import MistralVibe

from .commands import Case, commands
from .replays import play, texts, tools

COMMITTED = {"type": "committed"}
DISCARDED = {"type": "discarded", "cause": "retry"}
FIRST = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
SECOND = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"

run = partial(play, MistralVibe)


def item(kind: str, item_id: str, **more: Any) -> Any:
    common = {"sessionId": "s1", "inputEntryId": None, "generationStatus": "completed"}
    return {"id": item_id, "type": kind, **common, **more}


def said(text: str, answer: str = FIRST, outcome: Any = COMMITTED) -> Any:
    content = [{"type": "text", "text": text}]
    more = {"role": "assistant", "content": content, "outcome": outcome}
    return item("message", f"assistant-{answer}", **more)


def thought(text: str, answer: str = FIRST, **more: Any) -> Any:
    more = {"outcome": COMMITTED, **more}
    return item("reasoning", f"reasoning-{answer}-0", text=text, **more)


def effect(
    item_id: str = "effect-1",
    status: str = "completed",
    times: tuple[int, int] = (1796044058437, 1796044058440),
    kind: str = "shell",
    **state: Any,
) -> Any:
    detail = {"toolName": "file_system.bash", "kind": kind, "input": {"command": "ls"}}
    told = {"status": status, "display": {"success": status == "completed"}, **state}
    created, updated = times
    more = {"createdAt": created, "updatedAt": updated}
    return item("effect", item_id, detail=detail, state=told, **more)


def chat(role: str, content: str | None, **more: Any) -> Any:
    common = {"reasoning_content": None, "tool_calls": None, "tool_call_id": None}
    return {"role": role, "content": content, "message_id": None, **common, **more}


class TestWords:
    def test_discarded_answers_are_dropped(self) -> None:
        lines = [said("hi", outcome=DISCARDED), thought("why", outcome=DISCARDED)]
        replayed = run(*lines, said("hi", SECOND))
        assert (replayed.turns, texts(replayed)) == (1, ["hi"])
        assert texts(replayed, "thinking") == []
        assert len(replayed.of_type(Notice)) == 2

    def test_parts_of_one_answer_are_one_turn(self) -> None:
        replayed = run(thought("why"), said("hi"), thought("so", SECOND))
        assert replayed.turns == 2

    def test_summary_of_reasoning(self) -> None:
        replayed = run(thought("", summary=["a", "b"]))
        assert texts(replayed, "thinking") == ["a\n\nb"]

    def test_empty_answer_is_one_blank(self) -> None:
        replayed = run(said(" "))
        assert (replayed.turns, replayed.outcome.status) == (0, "success")

    def test_prompt(self) -> None:
        content = [{"type": "text", "text": "do"}]
        asked = item("message", "user-turn-1", role="user", content=content)
        replayed = run(asked)
        assert replayed.of_type(Prompt) == [Prompt("do")]
        assert replayed.story.session.session_id == "s1"

    def test_notices(self) -> None:
        replayed = run(item("notice", "n", message="hook ran", level="info"))
        assert replayed.of_type(Notice) == [Notice("hook ran")]


class TestEffects:
    @pytest.mark.parametrize(
        ("told", "status", "text"),
        [
            (effect(outputText="out"), "success", "out"),
            # A failed command is `completed`; only its display tells.
            (effect(outputText="out", display={"success": False}), "error", "out"),
            (effect(status="failed", error={"message": "no"}), "error", "no"),
            (effect(status="cancelled", reason="client interrupt"), "error", None),
            (effect(status="skipped", reason="denied"), "error", "denied"),
            (effect(kind="file_read", output={"content": "a"}), "success", "a"),
            (
                effect(
                    kind="file_write",
                    output={"content": "what was written"},
                    display={
                        "success": True,
                        "verb": "Created",
                        "message": "notes.txt",
                    },
                ),
                "success",
                "Created notes.txt",
            ),
        ],
    )
    def test_status_and_output(self, told: Any, status: str, text: str | None) -> None:
        started, finished = tools(run(said("hi"), told))
        assert (started["name"], started["args"]) == (
            "file_system.bash",
            {"command": "ls"},
        )
        assert finished["status"] == status
        if text is not None:
            assert finished.get("result", finished.get("error")) == text

    def test_one_that_is_told_while_it_runs(self) -> None:
        replayed = run(effect(status="running"), effect(outputText="out"))
        assert [t["status"] for t in tools(replayed)] == ["running", "success"]
        assert replayed.turns == 1

    def test_todo(self) -> None:
        todos = [
            {"id": "1", "content": "a", "status": "completed"},
            {"id": "2", "content": "b", "status": "cancelled"},
        ]
        replayed = run(effect(kind="todo", output={"todos": todos}))
        items = (TodoItem("a", "completed", "1"), TodoItem("b", "pending", "2"))
        assert replayed.of_type(TodoUpdated) == [TodoUpdated(items)]


class TestTurnsOfToolsAlone:
    """An answer without a word has no line of its own."""

    def test_one_after_the_other(self) -> None:
        first, second = effect("e1", times=(10, 20)), effect("e2", times=(30, 40))
        assert run(first, second, said("done")).turns == 3

    def test_side_by_side(self) -> None:
        fast, slow = effect("e1", times=(12, 20)), effect("e2", times=(10, 40))
        assert run(fast, slow, said("done")).turns == 2

    def test_after_an_answer_that_spoke(self) -> None:
        tool, alone = effect("e1", times=(10, 20)), effect("e2", times=(30, 40))
        assert run(said("hi"), tool, alone, said("done", SECOND)).turns == 3


class TestChatMessages:
    def test_the_system_prompt_is_no_entry(self) -> None:
        lines = [chat("system", "You are ..."), chat("user", "do")]
        replayed = run(*lines, chat("assistant", "hi", message_id="m1"))
        kinds = [e["type"] for e in replayed.entries]
        assert kinds == ["init", "prompt", "message", "complete"]
        assert replayed.entries[1]["content"] == "do"

    def test_thinking(self) -> None:
        line = chat("assistant", "hi", reasoning_content="why", message_id="m1")
        assert texts(run(line), "thinking") == ["why"]

    @pytest.mark.parametrize(
        ("content", "status"),
        [
            ("stdout: out\n\nstderr: \nreturncode: 0", "success"),
            ("<tool_error>bash failed: Return code: 3</tool_error>", "error"),
            ("<user_cancellation>interrupted</user_cancellation>", "error"),
            ("stdout: <tool_error> is a tag", "success"),
        ],
    )
    def test_tool_status(self, content: str, status: str) -> None:
        function = {"name": "bash", "arguments": '{"command": "ls"}'}
        calls = [{"id": "t1", "index": None, "function": function}]
        asked = chat("assistant", None, tool_calls=calls, message_id="m1")
        replayed = run(asked, chat("tool", content, tool_call_id="t1"))
        assert [t["status"] for t in tools(replayed)] == ["running", status]
        assert replayed.turns == 1


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (item("news", "n"), "news"),
        (chat("critic", "x"), "critic"),
        ({}, "(no role)"),
    ],
)
def test_unknown_types(line: Any, name: str) -> None:
    assert run(line).unknown_types == {name: 1}


@pytest.mark.parametrize(
    "line",
    [
        item("effect", "e", state=None, detail=5),
        item("effect", "e", createdAt="x", state={"status": "completed"}),
        item("reasoning", "r", text=None, summary={"a": 1}),
        item("message", "m", role="assistant", content="text"),
        effect(kind="todo", output=None),
    ],
)
def test_surprising_shapes(line: Any) -> None:
    assert run(line).failures == []


class TestCommand:
    @commands(
        "command prompt expected stdin asked",
        [
            ("vibe -p do", None, "vibe -p do --output streaming", None, "do"),
            ("vibe do -p", None, "vibe do -p --output streaming", None, "do"),
            (
                "uvx --from mistral-vibe vibe --trust",
                "do",
                "uvx --from mistral-vibe vibe --trust -p --output streaming",
                b"do",
                "do",
            ),
            ("vibe -p", "do", "vibe -p --output streaming", b"do", "do"),
            ("vibe -p do --output json", None, "vibe -p do --output json", None, "do"),
            (
                "vibe --prompt-file f",
                "do",
                "vibe --prompt-file f --output streaming --output-dir {side_folder}",
                None,
                "do",
            ),
            ("vibe", None, "vibe", None, None),
            ("vibe do", None, "vibe do", None, None),
            ("vibe mcp list", "do", "vibe mcp list", None, None),
        ],
    )
    def test_prepare(self, case: Case) -> None:
        assert case.prepared(MistralVibe) == case.expected

    def test_unbuffered(self) -> None:
        prepared = MistralVibe.prepare(["vibe", "-p", "do"], None)
        assert prepared.environment == {"PYTHONUNBUFFERED": "1"}
