"""ACP: text in chunks and tool calls, one trap a test."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import (
    Message,
    TextDelta,
    Thinking,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)

from .acp_talk import (
    SESSION,
    Talk,
    ask,
    call,
    content,
    done,
    hello,
    run,
    said,
    update,
)


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

    def test_without_arguments_the_title_has_them(self) -> None:
        """Gemini CLI's description, sent before it runs, is not its output."""
        lines = [
            call(
                "tool_call",
                status="in_progress",
                title="echo hi",
                kind="execute",
                content=content("[in /w] (say hi)"),
            ),
            call(status="completed", title="echo hi", kind="execute", content=[]),
        ]
        assert Talk(*lines).of(ToolStarted, ToolFinished) == [
            ToolStarted("t", "execute", {"title": "echo hi"}),
            ToolFinished("t", "", True),
        ]

    def test_an_exit_code_beside_the_output(self) -> None:
        """Qwen Code tells its tool's name, and the code, in places of its own."""
        meta = {"toolName": "run_shell_command"}
        raw = {"type": "shell_result", "output": "no", "exitCode": 1}
        start = {
            "status": "in_progress",
            "title": "Shell",
            "rawInput": {"command": "x"},
        }
        lines = [
            call("tool_call", **start, _meta=meta),
            call(status="completed", rawOutput=raw, _meta=meta),
        ]
        assert Talk(*lines).of(ToolStarted, ToolFinished) == [
            ToolStarted("t", "run_shell_command", {"command": "x"}),
            ToolFinished("t", "no", False),
        ]
