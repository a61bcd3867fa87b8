"""Real agents behind a server of sessions: what they ask, and going on with a session.

One client is asked, another one answers; the next turn is another process of the agent.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from ..serve.client import Stream
from ..serve.server import Server
from .conftest import Prepare
from .harness import Bench
from .scripted_model import Model
from .test_two_way import CLAUDE, CODEX, COPILOT

pytestmark = pytest.mark.live

FIRST, SECOND = "Please do the scripted thing.", "And once more, please."


@contextmanager
def serving(
    bench: Bench, command: Sequence[str], *options: str
) -> Iterator[tuple[Server, str]]:
    path = os.pathsep.join((bench.programs, os.environ["PATH"]))
    env = {**bench.variables, "PATH": path, "HOME": str(bench.home)}
    server = Server(bench.folder, command, *options, adapter="auto", env=env)
    try:
        yield server, str(uuid.uuid4())
        assert server.end() == 0
        assert "Traceback" not in server.stderr
    finally:
        server.close()


def waiting(stream: Stream, kind: str) -> dict[str, Any]:
    """Wait on one client until something is asked."""
    stream.until_kind(kind)
    return next(event for event in stream.events if event["type"] == kind)


def said(stream: Stream, turn: int) -> str:
    """Give the text of one of the turns."""
    texts = [""]
    for event in stream.events:
        if event["type"] == "text_delta":
            texts[-1] += event["text"]
        elif event["type"] == "turn_end":
            texts.append("")
    return texts[turn]


def made(bench: Bench) -> list[str]:
    return sorted(path.name for path in bench.work.iterdir())


def ask_and_go_on(
    bench: Bench, model: Model, command: Sequence[str], *, approve: bool = True
) -> None:
    """Ask on one client, answer on another; then go on in a second turn."""
    with serving(bench, command, "--permissions", "ask") as (server, session):
        with server.open(session) as one, server.open(session) as other:
            assert server.message(session, FIRST)[0] == 202
            asked = waiting(one, "approval_required")
            assert waiting(other, "approval_required") == asked
            called = [e for e in one.events if e["type"] == "tool_call"]
            assert [e["toolCallId"] for e in called] == [asked["id"]]  # one card
            path = f"/api/sessions/{session}/{'approve' if approve else 'deny'}"
            assert server.post(path, {"toolCallId": asked["id"]})[0] == 200
            for stream in (one, other):
                stream.until_kind("turn_end")
            resolution = "approved" if approve else "denied"
            told = [e for e in one.events if e["type"] == "interaction_resolved"]
            assert [e["resolution"] for e in told] == [resolution]
            assert server.post(path, {"toolCallId": asked["id"]})[0] == 409
            assert server.message(session, SECOND)[0] == 202
            one.until_count("turn_end", 2)
        ends = [e["terminalReason"] for e in one.events if e["type"] == "turn_end"]
        assert ends == ["completed", "completed"]
    assert FIRST in model.calls[-1].asked  # it knows what was said before
    assert SECOND in model.calls[-1].asked
    assert said(one, 1)


class TestClaudeCode:
    def test_approved_on_another_client(
        self, claude_code: Prepare, model: Model
    ) -> None:
        bench = claude_code("asks")
        ask_and_go_on(bench, model, CLAUDE)
        assert made(bench) == ["made.txt"]

    def test_denied(self, claude_code: Prepare, model: Model) -> None:
        bench = claude_code("asks")
        ask_and_go_on(bench, model, CLAUDE, approve=False)
        assert made(bench) == []

    def test_a_question_is_answered(self, claude_code: Prepare) -> None:
        bench = claude_code("question")
        with (
            serving(bench, CLAUDE, "--permissions", "ask") as (server, session),
            server.open(session) as stream,
        ):
            server.message(session, FIRST)
            asked = waiting(stream, "question_prompt")
            label = asked["questions"][0]["options"][0]["label"]
            body = {"toolCallId": asked["id"], "answers": {"0": label}}
            path = f"/api/sessions/{session}/submit-answers"
            assert server.post(path, body) == (200, {"ok": True})
            stream.until_kind("turn_end")
        result = next(e for e in stream.events if e["type"] == "tool_result")
        assert (result["status"], label in result["result"]) == ("complete", True)

    def test_interrupted_while_it_asks(self, claude_code: Prepare) -> None:
        bench = claude_code("asks")
        with (
            serving(bench, CLAUDE, "--permissions", "ask") as (server, session),
            server.open(session) as stream,
        ):
            server.message(session, FIRST)
            waiting(stream, "approval_required")
            assert server.interrupt(session) == {"ok": True}
            stream.until_kind("turn_end")
        told = [e for e in stream.events if e["type"] == "interaction_resolved"]
        assert [e["resolution"] for e in told] == ["cancelled"]
        assert stream.events[-1]["terminalReason"] == "aborted_tools"
        assert made(bench) == []

    def test_one_prompt_a_process(self, claude_code: Prepare, model: Model) -> None:
        goes_on(claude_code("text"), model, ("claude", "-p", "--model", "sonnet"))


class TestCodex:
    def test_approved_on_another_client(self, codex: Prepare, model: Model) -> None:
        ask_and_go_on(codex("asks_to_compute"), model, CODEX)

    def test_one_prompt_a_process(self, codex: Prepare, model: Model) -> None:
        command = ("codex", "exec", "--skip-git-repo-check")
        goes_on(codex("text"), model, command)

    def test_the_prompt_is_an_argument(self, codex: Prepare, model: Model) -> None:
        options = ("--skip-git-repo-check", "-s", "read-only")
        goes_on(codex("text"), model, ("codex", "exec", "{prompt}", *options))


class TestCopilot:
    def test_approved_on_another_client(self, copilot: Prepare, model: Model) -> None:
        """Over ACP: the session is loaded again."""
        bench = copilot("asks")
        ask_and_go_on(bench, model, COPILOT)
        assert made(bench) == ["made.txt"]

    def test_one_prompt_a_process(self, copilot: Prepare, model: Model) -> None:
        goes_on(copilot("text"), model, ("copilot", "--disable-builtin-mcps"))


def goes_on(bench: Bench, model: Model, command: Sequence[str]) -> None:
    """Two turns of an agent that is not spoken to."""
    with serving(bench, command) as (server, session), server.open(session) as stream:
        for number, prompt in enumerate((FIRST, SECOND), 1):
            assert server.message(session, prompt)[0] == 202
            stream.until_count("turn_end", number)
    ends = [e["terminalReason"] for e in stream.events if e["type"] == "turn_end"]
    assert ends == ["completed", "completed"], json.dumps(stream.events)
    assert FIRST in model.calls[-1].asked
    assert SECOND in model.calls[-1].asked
