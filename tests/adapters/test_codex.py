"""Codex's command: known by its stream, and made ready."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap_adapters.codex import Codex

from .commands import Case, commands


class TestRecognises:
    @pytest.mark.parametrize(
        ("event", "expected"),
        [
            ({"type": "thread.started", "thread_id": "t"}, True),
            ({"type": "thread.started"}, False),
            ({"id": 1, "result": {"codexHome": "~/.codex"}}, True),
            ({"method": "thread/started", "params": {"thread": {}}}, True),
            ({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}, False),
            ({"method": "session/update", "params": {}}, False),
            ({"type": "turn.started"}, False),
        ],
    )
    def test_first_event(self, event: dict[str, Any], expected: bool) -> None:
        assert Codex.recognises(event) is expected


class TestPrepare:
    @commands(
        "command expected asked",
        [
            ("codex exec DO", "codex exec --json DO", "DO"),
            ("codex e DO", "codex e --json DO", "DO"),
            ("codex exec --json DO", "codex exec --json DO", "DO"),
            ("codex -m m exec -s x DO", "codex -m m exec --json -s x DO", "DO"),
            ("codex exec resume ID DO", "codex exec resume --json ID DO", "DO"),
            ("codex exec resume --last DO", "codex exec resume --json --last DO", "DO"),
            ("codex exec resume ID", "codex exec resume --json ID", None),
            ("codex exec -", "codex exec --json -", None),
            ("npx @openai/codex@1 exec DO", "npx @openai/codex@1 exec --json DO", "DO"),
            ("npx -p codex codex e DO", "npx -p codex codex e --json DO", "DO"),
            ("codex app-server", "codex app-server", None),
            ("codex login", "codex login", None),
        ],
    )
    def test_flags(self, case: Case) -> None:
        assert case.prepared(Codex) == case.expected

    @pytest.mark.parametrize("command", ["codex exec", "codex exec -"])
    def test_given_prompt_goes_in_by_stdin(self, command: str) -> None:
        prepared = Codex.prepare(command.split(), "do it")
        assert (prepared.stdin, prepared.prompt) == (b"do it", "do it")
        assert prepared.added == ["--json"]

    def test_given_prompt_and_one_in_the_command(self) -> None:
        # with both, codex would wait for the end of its stdin
        prepared = Codex.prepare(["codex", "exec", "DO"], "other")
        assert (prepared.stdin, prepared.prompt) == (None, "other")

    @pytest.mark.parametrize(
        ("command", "model"),
        [
            ("codex exec -m gpt DO", "gpt"),
            ("codex exec -mgpt DO", "gpt"),
            ("codex --model=gpt exec DO", "gpt"),
            ('codex exec -c model="gpt" DO', "gpt"),
            ("codex exec -c a=b -c model=gpt -c c=d DO", "gpt"),
            ("codex exec -c model_provider=x DO", ""),
        ],
    )
    def test_model(self, command: str, model: str) -> None:
        assert Codex.model_from(command.split()) == model
