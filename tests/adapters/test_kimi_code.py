"""Kimi Code's lines, one trap a test. Shapes as its version 2.1.0."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import HookUpdated, Notice
from agent_wrap_adapters.kimi_code import KimiCode

from .commands import Case, commands
from .replays import play, tools

END = {"role": "meta", "type": "session.resume_hint", "session_id": "s1"}

run = partial(play, KimiCode)


def answer(text: str | None, *calls: tuple[str, str, str]) -> Any:
    tool_calls = [
        {"type": "function", "id": i, "function": {"name": n, "arguments": a}}
        for i, n, a in calls
    ]
    said = {"role": "assistant", "content": text, "tool_calls": tool_calls}
    return {key: value for key, value in said.items() if value}


def returned(text: str, tool_id: str = "t1") -> Any:
    return {"role": "tool", "tool_call_id": tool_id, "content": text}


class TestEnd:
    def test_resume_hint_is_the_good_end(self) -> None:
        version = {"role": "meta", "type": "system.version", "version": "2.1.0"}
        replayed = run(version, answer("hi"), END)
        assert replayed.outcome.status == "success"
        assert replayed.story.session.session_id == "s1"
        assert replayed.story.session.agent_version == "2.1.0"

    def test_exit_0_without_it(self) -> None:
        assert run(answer("hi")).outcome.reason == "no_final_event"

    @pytest.mark.parametrize(
        ("status", "code", "expected"),
        [("complete", 0, "success"), ("blocked", 3, "error"), ("paused", 6, "error")],
    )
    def test_goal(self, status: str, code: int, expected: str) -> None:
        replayed = run({"type": "goal.summary", "status": status}, END, code=code)
        assert replayed.outcome.status == expected
        assert replayed.outcome.exit_code == code

    def test_retries_are_notices(self) -> None:
        retry = {"role": "meta", "type": "turn.step.retrying", "error_message": "500"}
        assert run(retry).of_type(Notice) == [Notice("500")]


class TestMessages:
    def test_calls_and_their_results(self) -> None:
        calls = [("t1", "Bash", '{"command":"a"}'), ("t2", "Read", '{"path":"b"}')]
        results = [returned("A"), returned("B", "t2")]
        replayed = run(answer(None, *calls), *results, END)
        assert replayed.turns == 1
        told = [(t["name"], t["status"]) for t in tools(replayed)]
        running = [("Bash", "running"), ("Read", "running")]
        assert told == [*running, ("Bash", "success"), ("Read", "success")]
        assert tools(replayed)[0]["args"] == {"command": "a"}

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ('{"a": 1}', {"a": 1}),
            ('{"a": ', {"input": '{"a": '}),
            ("[1]", {"input": [1]}),
            ("[" * 100_000, {"input": "[" * 100_000}),
            ("", None),
        ],
    )
    def test_arguments(self, arguments: str, expected: Any) -> None:
        replayed = run(answer(None, ("t1", "Bash", arguments)), END)
        args = tools(replayed)[0].get("args")
        assert (args or None) == expected
        assert not replayed.failures

    def test_empty_answer_is_no_turn(self) -> None:
        assert run({"role": "assistant", "content": ""}, END).turns == 0

    @pytest.mark.parametrize(
        ("title", "status"),
        [("Stop hook", "completed"), ("Stop hook blocked", "failed")],
    )
    def test_hook_speaks_in_the_assistants_name(self, title: str, status: Any) -> None:
        replayed = run(answer(f"{title}\n\nfull\ntext"), END)
        hooks = replayed.of_type(HookUpdated)
        assert [(h.name, h.status, h.stdout) for h in hooks] == [
            ("Stop", status, "full\ntext")
        ]
        assert replayed.turns == 0


class TestToolStatus:
    """There is no flag: only the agent's own closing words tell a failure."""

    @pytest.mark.parametrize(
        "text",
        [
            "out\nerr\nCommand failed with exit code: 3.",
            "Process exited with code 1\nCommand failed with exit code: 1.",
            "Command failed with exit code: -9.",
            "begin\nCommand killed by timeout (60s)",
            "begin-sleep\nSession closed",
            "Interrupted by user",
            'Tool "no_such" not found',
            'Invalid args for tool "Bash": must have\nrequired property',
            '"/src/missing.txt" does not exist.',
        ],
    )
    def test_failed(self, text: str) -> None:
        replayed = run(answer(None, ("t1", "Bash", "{}")), returned(text), END)
        assert tools(replayed)[1]["status"] == "error"
        assert tools(replayed)[1]["error"] == text

    @pytest.mark.parametrize(
        "text",
        [
            "fine",
            "Command failed with exit code: 3.\nthat was a log",
            'the log says: Tool "x" not found',
            '"/src/missing.txt" does not exist.\nCreated it.',
            "1\tCommand failed with exit code: 3.",
            "a session closed",
            "",
        ],
    )
    def test_worked(self, text: str) -> None:
        replayed = run(answer(None, ("t1", "Bash", "{}")), returned(text), END)
        assert tools(replayed)[1]["status"] == "success"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ({"role": "meta", "type": "news"}, "meta/news"),
        ({"role": "critic"}, "critic"),
        ({}, "(no type)"),
    ],
)
def test_unknown_types(line: Any, name: str) -> None:
    assert run(line).unknown_types == {name: 1}


class TestCommand:
    @commands(
        "command prompt expected asked",
        [
            (
                ["kimi", "-p", "do it"],
                None,
                ["kimi", "--output-format", "stream-json", "-p", "do it"],
                "do it",
            ),
            (
                ["npx", "@moonshot-ai/kimi-code", "-m", "x"],
                "do it",
                [
                    *("npx", "@moonshot-ai/kimi-code"),
                    *("--output-format", "stream-json", "-p", "do it", "-m", "x"),
                ],
                "do it",
            ),
            (["kimi", "-p", "do it", "--output-format", "text"], None, None, "do it"),
            (["kimi", "--print", "-p", "do it"], None, None, "do it"),
            (["kimi"], None, None, None),
            (["kimi", "acp"], "do it", None, None),
            (["kimi", "--help"], "do it", None, None),
        ],
    )
    def test_prepare(self, case: Case) -> None:
        assert case.prepared(KimiCode) == case.expected

    def test_model(self) -> None:
        assert KimiCode.model_from(["kimi", "-m", "x", "-p", "do"]) == "x"
        assert KimiCode.model_from(["kimi", "-p", "do"]) == ""
