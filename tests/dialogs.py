"""Dialogs for what reads them, exports and the view: recorded ones, parts of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_wrap import entries

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*/*/dialog.jsonl"))
START = 1_768_473_000
"""When the dialogs that tests write begin."""


def ts(second: float) -> str:
    """A time stamp so many seconds after the start."""
    return entries.timestamp(START + second)


def arguments(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of two tools, a command and an edit, that say a text all over."""
    command = {"command": text, text: [text]}
    return command, {"path": text, "old_string": "a\n" + text, "new_string": "a\nb"}


def opening(text: str, tokens: tuple[int, int]) -> list[dict[str, Any]]:
    """The first four entries: a model that thinks and says what it was asked."""
    return [
        entries.init(0, ts(0), task=text, cwd=text, model=text, agent=text),
        entries.prompt(1, ts(0), text),
        entries.thinking(2, ts(1), text),
        entries.message(3, ts(2), text, tokens),
    ]


def complete(
    seq: int, text: str, status: str, turns: int, tokens: tuple[int, int]
) -> dict[str, Any]:
    """The last entry, 65 seconds after the start."""
    return entries.complete(
        seq,
        ts(65),
        status=status,
        turns=turns,
        duration_ms=65_000,
        tokens=tokens,
        message=text,
    )
