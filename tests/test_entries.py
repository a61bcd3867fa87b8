"""The shapes of entries, and moments as the protocol writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import entries

TS = "2025-01-15T10:30:00.000000+00:00"


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000+00:00"),
        (1736937000.123456, "2025-01-15T10:30:00.123456+00:00"),
        (1736937000.999999, "2025-01-15T10:30:00.999999+00:00"),
        (-0.5, "1969-12-31T23:59:59.500000+00:00"),
    ],
)
def test_timestamp(now: float, text: str) -> None:
    assert entries.timestamp(now) == text


@given(st.floats(0, 4e9))
def test_a_timestamp_reads_back_as_the_same_moment(now: float) -> None:
    text = entries.timestamp(now)
    assert len(text) == len(TS)
    assert datetime.fromisoformat(text).tzinfo == UTC
    assert abs(datetime.fromisoformat(text).timestamp() - now) < 1e-5


def test_what_init_does_not_know_is_unknown() -> None:
    entry = entries.init(0, TS, task="", cwd="/src", model="", agent="a")
    assert entry["data"] == {
        "task": "unknown",
        "cwd": "/src",
        "model": "unknown",
        "agent": "a",
    }


def test_optional_fields_are_left_out() -> None:
    assert "tokens" not in entries.message(2, TS, "hi")
    assert "args" not in entries.tool_start(2, TS, "t", "bash", None)
    assert "args" not in entries.tool_start(2, TS, "t", "bash", {})
    assert "result" not in entries.tool_result(3, TS, "t", "bash", "", ok=True)
    last = entries.complete(
        4, TS, status="success", turns=0, duration_ms=0, tokens=(0, 0)
    )
    assert "message" not in last


@pytest.mark.parametrize(
    ("output", "ok", "fields"),
    [
        ("out", True, {"status": "success", "result": "out"}),
        ("bad", False, {"status": "error", "error": "bad"}),
        ("", False, {"status": "error", "error": ""}),
        ("", True, {"status": "success"}),
    ],
)
def test_a_tool_result_says_how_it_ended(
    output: str, ok: bool, fields: dict[str, Any]
) -> None:
    entry = entries.tool_result(3, TS, "t", "bash", output, ok=ok)
    common = {"seq": 3, "ts": TS, "type": "tool", "tool_id": "t", "name": "bash"}
    assert entry == common | fields


def test_the_common_fields_come_first_and_the_type_is_known() -> None:
    built = [
        entries.init(0, TS, task="t", cwd="/", model="m", agent="a"),
        entries.prompt(1, TS, "p"),
        entries.message(2, TS, "m", (1, 2)),
        entries.thinking(3, TS, "t"),
        entries.tool_start(4, TS, "t", "n", None),
        entries.complete(
            5, TS, status="error", turns=1, duration_ms=2, tokens=(3, 4), message="m"
        ),
    ]
    for seq, entry in enumerate(built):
        assert list(entry)[:3] == ["seq", "ts", "type"]
        assert (entry["seq"], entry["ts"]) == (seq, TS)
    assert {entry["type"] for entry in built} == entries.TYPES
