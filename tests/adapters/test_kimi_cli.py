"""kimi-cli's lines, one trap a test. Shapes as its version 1.50.0."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_wrap.events import Notice
from agent_wrap.testing import load, replay
from agent_wrap_adapters.kimi_cli import KimiCli

from .commands import Case, commands
from .replays import play, tools

RECORDINGS = Path(__file__).parent.parent / "recordings" / "kimi-cli-1.50"
CALL = {"type": "function", "id": "t1", "function": {"name": "Shell", "arguments": ""}}

run = partial(play, KimiCli)


def test_no_final_event_is_no_error() -> None:
    assert run({"role": "assistant", "content": "hi"}).outcome.status == "success"


def test_thinking_is_a_part_of_the_content() -> None:
    parts = [{"type": "think", "think": "why"}, {"type": "text", "text": "hi"}]
    replayed = run({"role": "assistant", "content": parts})
    told = [(e["type"], e["content"]) for e in replayed.entries[2:-1]]
    assert told == [("thinking", "why"), ("message", "hi")]
    assert replayed.turns == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("<system>ERROR: Tool `x` not found</system>", "error"),
        ("<system>File successfully overwritten.</system>", "success"),
        ("out: <system>ERROR: not the agent's</system>", "success"),
    ],
)
@pytest.mark.parametrize("as_parts", [False, True])
def test_tool_status(content: str, status: str, as_parts: bool) -> None:
    parts = [{"type": "text", "text": content}, {"type": "text", "text": "out"}]
    given = parts if as_parts else content
    returned = {"role": "tool", "tool_call_id": "t1", "content": given}
    replayed = run({"role": "assistant", "tool_calls": [CALL]}, returned)
    assert [t["status"] for t in tools(replayed)] == ["running", status]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["Max number of steps reached: 3"], "Max number of steps reached: 3"),
        (["x" * 79 + "a", "b c"], "x" * 79 + "ab c"),  # cut inside a word
        (["x" * 70, "y"], "x" * 70 + " y"),
    ],
)
def test_errors_are_text_cut_at_80_columns(lines: list[str], said: str) -> None:
    replayed = run(*lines, code=1)
    assert replayed.of_type(Notice)[-1] == Notice(said)
    assert replayed.counts["unparsable"] == 0


def test_recorded_error() -> None:
    saved = load(RECORDINGS / "err401")
    notices = replay(saved.stream, KimiCli(), code=1).of_type(Notice)
    assert notices[-1].text.startswith(
        "Error code: 401 - {'error': {'message': 'Invalid API key (mock).', "
        "'type': 'authentication_error'"
    )


@pytest.mark.parametrize("line", [{"role": "critic"}, {}])
def test_unknown(line: Any) -> None:
    assert sum(run(line).unknown_types.values()) == 1


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"role": "tool", "content": "<system>ERROR: x</system>"}, True),
        ({"role": "tool", "content": [{"text": "<system>ok</system>"}]}, True),
        ({"role": "tool", "content": "out"}, False),
        ({"role": "assistant", "content": [{"type": "think", "think": "a"}]}, True),
        ({"role": "assistant", "content": "anybody says that"}, False),
        ({"role": "assistant", "content": [{"type": "text", "text": "a"}]}, False),
    ],
)
def test_recognises(event: Any, expected: bool) -> None:
    assert KimiCli.recognises(event) is expected


class TestCommand:
    @commands(
        "command prompt expected stdin asked",
        [
            (
                "kimi-cli -p do",
                None,
                "kimi-cli --print --output-format stream-json -p do",
                None,
                "do",
            ),
            (
                "uvx kimi-cli@1.50.0 --print",
                "do",
                "uvx kimi-cli@1.50.0 --output-format stream-json --print",
                b"do",
                "do",
            ),
            (
                "kimi-cli --print -c do --output-format text",
                None,
                "kimi-cli --print -c do --output-format text",
                None,
                "do",
            ),
            ("kimi-cli --quiet -p do", None, "kimi-cli --quiet -p do", None, "do"),
            ("kimi-cli", None, "kimi-cli", None, None),
            ("kimi-cli acp", "do", "kimi-cli acp", None, None),
        ],
    )
    def test_prepare(self, case: Case) -> None:
        assert case.prepared(KimiCli) == case.expected

    def test_unbuffered(self) -> None:
        prepared = KimiCli.prepare(["kimi-cli", "-p", "do"], None)
        assert prepared.environment == {"PYTHONUNBUFFERED": "1"}

    def test_model(self) -> None:
        assert KimiCli.model_from(["kimi-cli", "--model", "x", "-p", "do"]) == "x"
