"""Reading dialogs for showing: whole entries out of whatever stands in the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_wrap.view.reading import Reader, moment, utc, whole

from ..dialogs import RECORDINGS

TS = "2026-01-15T10:30:00+00:00"


def read(data: bytes, size: int = 1 << 20) -> tuple[list[dict[str, Any]], Reader]:
    reader = Reader()
    entries: list[dict[str, Any]] = []
    for at in range(0, len(data), size):
        entries.extend(reader.feed(data[at : at + size]))
    entries.extend(reader.close())
    return entries, reader


def test_every_golden_dialog_reads_as_it_is() -> None:
    assert RECORDINGS
    for path in RECORDINGS:
        data = path.read_bytes()
        entries, reader = read(data, 100)
        assert entries == [json.loads(line) for line in data.split(b"\n") if line]
        assert (reader.damaged, reader.torn) == (0, False)


def test_a_torn_last_line_is_noted_and_the_rest_is_read() -> None:
    data = RECORDINGS[0].read_bytes()
    entries, reader = read(data[:-10])
    assert len(entries) == data.count(b"\n") - 1
    assert reader.torn
    assert reader.damage == [f"line {data.count(10)} is torn"]


def test_a_last_line_that_only_lacks_its_line_feed_counts() -> None:
    data = RECORDINGS[0].read_bytes()
    entries, reader = read(data[:-1])
    assert (len(entries), reader.damaged) == (data.count(b"\n"), 0)


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"[1]",
        b'{"type":"message","content":"no seq"}',
        b'{"seq":1,"ts":"%s","type":"novel"}' % TS.encode(),
        b'{"seq":1,"ts":"%s","type":{"a":1}}' % TS.encode(),
        b'{"seq":1,"ts":5,"type":"prompt","content":"x"}',
        b'{"seq":1,"ts":"x","type":"prompt","content":'
        + b"[" * 5000
        + b"]" * 5000
        + b"}",
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_entry_is_noted(line: bytes) -> None:
    entries, reader = read(line + b"\n")
    assert entries == []
    assert reader.damaged == 1


@pytest.mark.parametrize(
    "kind", ["init", "prompt", "message", "thinking", "tool", "complete"]
)
@pytest.mark.parametrize("value", [None, 5, "x", [1], {"in": "x", "out": -1}, True])
def test_every_entry_has_its_fields_whatever_was_in_them(kind: str, value: Any) -> None:
    keys = ("data", "content", "tokens", "tool_id", "name", "status", "args", "result")
    more = ("error", "turns", "duration_ms", "total_tokens", "message")
    found = dict.fromkeys((*keys, *more), value)
    entry = whole({**found, "seq": 1, "ts": "yesterday", "type": kind})
    assert entry is not None
    assert moment(entry["ts"]) is not None
    for key in ("content", "name", "tool_id", "status", "result", "error", "message"):
        assert isinstance(entry.get(key, ""), str)
    for tokens in (entry.get("tokens"), entry.get("total_tokens")):
        assert tokens is None or all(type(n) is int and n >= 0 for n in tokens.values())


def test_a_moment_is_shown_in_utc() -> None:
    for ts in (TS, "2026-01-15T11:30:00+01:00", "2026-01-15T10:30:00.25Z"):
        assert utc(ts) == "2026-01-15 10:30:00 UTC"
    assert utc("soon") == ""


def test_moments() -> None:
    assert moment("2026-01-15T10:30:00Z") == moment(TS)
    assert moment("2026-01-15T10:30:00") == moment(TS)
    assert moment("2026-01-15T11:30:00+01:00") == moment(TS)
    assert moment("0001-01-01T00:00:00+23:00") is None
    assert moment("soon") is None
