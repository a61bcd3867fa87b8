"""Continue's one answer, as version 1.5.47 prints it."""

from __future__ import annotations

import json

import pytest

from agent_wrap.testing import replay
from agent_wrap_adapters.continue_cli import Continue

from .commands import Case, commands
from .replays import texts

NOTE = "Response was not valid JSON, so it was wrapped in a JSON object"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (json.dumps({"response": "a\nb", "status": "success", "note": NOTE}), "a\nb"),
        (
            json.dumps({"response": "a", "status": "success", "note": NOTE, "new": 1}),
            "a",
        ),
        ("a\n\nb\n", "a\n\nb"),
        ('{"answer": 42}', '{"answer": 42}'),  # the model's own JSON
        ('{\n  "answer": 42\n}\n', '{\n  "answer": 42\n}'),
        ('{"response": "a", "status": "success"}', None),
        ('{"status": "error", "message": "the model says so"}', None),
    ],
)
def test_answer(output: str, said: str | None) -> None:
    ended = replay(output.encode(), Continue())
    assert texts(ended) == [output if said is None else said]
    assert ended.outcome.status == "success"


def test_nothing_was_said() -> None:
    ended = replay(b"\n\n", Continue())
    assert texts(ended) == []
    assert ended.turns == 0


@commands(
    "command prompt expected asked",
    [
        (["do it"], None, ["-p", "do it"], "do it"),
        (["-p", "--auto", "do it"], None, ["-p", "--auto", "do it"], "do it"),
        (["--config", "c"], "do it", ["-p", "--config", "c", "do it"], "do it"),
        (["-p"], "-x", ["-p", "--", "-x"], "-x"),
        (["-p", "a"], "b", ["-p", "a"], "b"),
        (["serve"], None, ["serve"], None),
        ([], None, [], None),
    ],
    program="cn",
)
def test_prepare(case: Case) -> None:
    """No `--format` is added: it would change what the model is told."""
    assert case.prepared(Continue) == case.expected
