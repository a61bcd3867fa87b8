"""Claude Code's command: known by its stream, and made ready."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap_adapters.claude_code import ClaudeCode

from .claude_lines import (
    OK,
    system,
)


class TestRecognises:
    @pytest.mark.parametrize(
        ("event", "expected"),
        [
            ({"session_id": "s", "claude_code_version": "2.1.332"}, True),
            ({"session_id": "s", "model": "m", "cwd": "/", "tools": []}, True),
            ({"session_id": "s"}, True),
            ({}, False),
            ({"session_id": "s", "model": "m", "qwen_code_version": "1"}, False),
            ({"session_id": "s", "tools": []}, False),  # Amp
            (
                {"session_id": "s", "model": "m", "apiKeySource": "login"},
                False,
            ),  # Cursor
            (
                {"session_id": "s", "tools": [], "reasoning_effort": "low"},
                False,
            ),  # Droid
        ],
    )
    def test_init(self, event: dict[str, Any], expected: bool) -> None:
        assert ClaudeCode.recognises(system("init", **event)) is expected

    def test_others(self) -> None:
        assert not ClaudeCode.recognises(OK)
        assert not ClaudeCode.recognises({"type": "init", "seq": 0, "data": {}})


FLAGS = [
    *("--output-format", "stream-json"),
    *("--include-partial-messages", "--verbose"),
]


class TestPrepare:
    @pytest.mark.parametrize(
        ("command", "expected", "prompt"),
        [
            ("claude -p DO", "claude + -p DO", "DO"),
            ("claude DO", "claude -p + DO", "DO"),
            ("claude --model m -p DO", "claude + --model m -p DO", "DO"),
            (
                "claude --allowedTools A B -p DO",
                "claude + --allowedTools A B -p DO",
                "DO",
            ),
            ("claude -p -- -x", "claude + -p -- -x", "-x"),
            (
                "claude --print --max-turns 3 DO",
                "claude + --print --max-turns 3 DO",
                "DO",
            ),
            ("claude --brand-new v -p DO", "claude + --brand-new v -p DO", "DO"),
            ("env A=claude claude -p DO", "env A=claude claude + -p DO", "DO"),
            ("npx -y @x/claude-code@2 -p DO", "npx -y @x/claude-code@2 + -p DO", "DO"),
            ("npm exec claude -- -p DO", "npm exec claude -- + -p DO", "DO"),
            ("claude -p DO --output-format text", None, "DO"),
            ("claude -p DO --output-format=json", None, "DO"),
            ("claude -p DO --verbose --output-format stream-json", None, "DO"),
            ("claude mcp list", None, None),
            ("claude --version", None, None),
            ("claude", None, None),
        ],
    )
    def test_flags(
        self, command: str, expected: str | None, prompt: str | None
    ) -> None:
        words = (expected or command).split()
        wanted = [w for word in words for w in (FLAGS if word == "+" else [word])]
        prepared = ClaudeCode.prepare(command.split(), None)
        assert prepared.command == wanted
        assert prepared.prompt == prompt
        assert prepared.stdin is None

    def test_only_verbose_is_missing(self) -> None:
        command = ["claude", "-p", "DO", "--output-format", "stream-json"]
        prepared = ClaudeCode.prepare(command, None)
        assert prepared.command == ["claude", "--verbose", *command[1:]]
        assert prepared.added == ["--verbose"]

    def test_given_prompt_goes_in_by_stdin(self) -> None:
        prepared = ClaudeCode.prepare(["claude", "--model", "m"], "- do é")
        assert prepared.command == ["claude", "-p", *FLAGS, "--model", "m"]
        assert prepared.stdin == "- do é".encode()
        assert prepared.prompt == "- do é"
        assert prepared.added == [
            "-p",
            "--output-format stream-json",
            "--include-partial-messages",
            "--verbose",
        ]

    def test_given_prompt_and_one_in_the_command(self) -> None:
        prepared = ClaudeCode.prepare(["claude", "-p", "DO"], "other")
        assert (prepared.prompt, prepared.stdin) == ("other", None)

    def test_prompt_for_stream_json_input_is_a_message(self) -> None:
        command = ["claude", "-p", "--input-format", "stream-json"]
        prepared = ClaudeCode.prepare(command, "do")
        assert (prepared.prompt, prepared.stdin) == ("do", None)
        assert prepared.added == [
            "--output-format stream-json",
            "--include-partial-messages",
            "--verbose",
            "--permission-prompt-tool stdio",
        ]

    @pytest.mark.parametrize(
        "word", ["--permission-prompt-tool=mcp__x", "--dangerously-skip-permissions"]
    )
    def test_who_decides_on_permissions_is_the_callers(self, word: str) -> None:
        command = ["claude", "-p", "--input-format=stream-json", "--verbose", word]
        added = ClaudeCode.prepare(command, "do").added
        assert not [phrase for phrase in added if "permission" in phrase]

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            ("claude -p --input-format stream-json", True),
            ("claude --print --input-format=stream-json --verbose DO", True),
            ("npx claude-code -p --input-format stream-json", True),
            ("claude --input-format stream-json", False),
            ("claude -p --input-format text", False),
            ("claude -p DO", False),
            ("claude -p -- --input-format stream-json", False),
        ],
    )
    def test_who_is_spoken_to(self, command: str, expected: bool) -> None:
        assert ClaudeCode.speaks_two_way(command.split()) is expected

    @pytest.mark.parametrize(
        ("command", "model"),
        [
            ("claude -p x --model opus", "opus"),
            ("claude --model=opus -p x", "opus"),
            ("claude -p x", ""),
            ("claude -p x -- --model opus", ""),
        ],
    )
    def test_model(self, command: str, model: str) -> None:
        assert ClaudeCode.model_from(command.split()) == model
