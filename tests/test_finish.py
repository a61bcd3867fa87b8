"""What a torn dialog still holds, and what it lacks: cut at every byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import entries, finish
from agent_wrap.encode import encode
from agent_wrap.redact import Redactor
from agent_wrap.validate import check

TS = entries.timestamp(0.0)
FIRST = [
    entries.init(0, TS, task="t", cwd="/w", model="m", agent="a"),
    entries.prompt(1, TS, "Do it"),
]
WHOLE = [
    *FIRST,
    entries.message(2, TS, "Hi \u00e9 \U0001f511", (10, 5)),
    entries.thinking(3, TS, "Hm {} []"),
    entries.tool_start(4, TS, "t1", "Bash", {"command": "a\nb"}),
    entries.tool_start(5, TS, "t2", "Read", None),
    entries.tool_result(6, TS, "t1", "Bash", 'out "quoted"', ok=True),
    entries.message(7, TS, "Bye", (3, 4)),
]
LINES = [encode(entry) for entry in WHOLE]
DATA = b"".join(LINES)
ANSWER = encode(entries.tool_result(8, TS, "t2", "Read", "", ok=True))
COMPLETE = encode(
    entries.complete(9, TS, status="success", turns=2, duration_ms=5, tokens=(13, 9))
)


def close(data: bytes, first: list[entries.Entry] | None = None) -> bytes:
    """Finish a dialog as the guardian does, in memory."""
    remains = finish.examine(data)
    missing = finish.closing(
        remains,
        now=1.0,
        first=[dict(entry) for entry in (FIRST if first is None else first)],
        turns=7,
        tokens=(70, 30),
        duration_ms=1234,
        message="killed",
    )
    return data[: remains.size] + b"".join(map(encode, missing))


def breaches(data: bytes) -> list[str]:
    return [str(problem) for problem in check(data) if not problem.warning]


def read(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def test_what_is_there() -> None:
    remains = finish.examine(DATA)
    assert (remains.size, remains.count) == (len(DATA), len(WHOLE))
    assert remains.has_init
    assert remains.has_prompt
    assert remains.complete is None
    assert remains.open_tools == {"t2": "Read"}
    assert (remains.messages, remains.tokens_in, remains.tokens_out) == (2, 13, 9)
    assert (remains.first_ts, remains.last_ts) == (TS, TS)
    assert remains.init == WHOLE[0]


def test_what_it_lacks() -> None:
    *_, tool, end = read(close(DATA))
    assert (tool["tool_id"], tool["status"]) == ("t2", "error")
    assert tool["error"] == finish.UNFINISHED
    assert (end["status"], end["message"], end["seq"]) == ("error", "killed", 9)
    assert (end["turns"], end["duration_ms"]) == (7, 1234)
    assert end["total_tokens"] == {"in": 70, "out": 30}


@pytest.mark.parametrize("last", [ANSWER + COMPLETE, b""], ids=["whole", "killed"])
def test_cut_at_every_byte(last: bytes) -> None:
    data = DATA + last
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for size in range(len(data) + 1):
        torn = data[:size]
        done = close(torn)
        assert breaches(done) == [], size
        kept = max([0, *(end for end in ends if end <= size)])
        assert done.startswith(data[:kept]), size
        assert done.count(b'"type":"complete"') == 1, size


def test_a_complete_dialog_lacks_nothing() -> None:
    whole = DATA + ANSWER + COMPLETE
    assert close(whole) == whole
    assert close(whole + b'{"seq":9,"typ') == whole


def test_an_empty_file_gets_its_first_entries() -> None:
    done = read(close(b""))
    assert [entry["type"] for entry in done] == ["init", "prompt", "complete"]
    assert done[1]["content"] == "Do it"
    done = read(close(b"", FIRST[:1]))  # a prompt that nobody knows
    assert done[1]["content"] == ""


def test_a_missing_init_is_supplied() -> None:
    assert [entry["type"] for entry in read(close(LINES[0]))] == [
        "init",
        "prompt",
        "complete",
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"7",
        b'"text"',
        b"\xff\xfe",
        b"\0\0\0\0",
        b'{"type":"event"}',
        b'{"type":null}',
        b'{"type":{}}',
        b'{"type":"tool"}',
        b'{"type":"tool","tool_id":[],"name":"a","status":"running"}',
        b'{"type":"tool","tool_id":"a","name":"a","status":{}}',
        b'{"type":"message","tokens":[1,2]}',
        b'{"type":"message","tokens":{"in":"1"}}',
        b'{"type":"message","tokens":{"in":null}}',
        b'{"type":"init"}',
        b'{"type":"init","data":"x"}',
        b'{"type":"complete"}',
        b'{"type":"complete","status":"success","turns":1,"total_tokens":[]}',
    ],
)
def test_a_line_that_is_no_entry_ends_what_is_kept(line: bytes) -> None:
    """Anybody may have written to the file; what follows cannot be trusted either."""
    assert finish.examine(DATA + line + b"\n" + LINES[3]).size == len(DATA)
    assert breaches(close(DATA + line + b"\n")) == []


@given(st.binary(max_size=80), st.integers(0, len(DATA)))
def test_bytes_that_were_written_over(junk: bytes, at: int) -> None:
    """It never raises, and gives one end whatever was there."""
    done = close(DATA[:at] + junk + DATA[at + len(junk) :])
    assert read(done)[-1]["type"] == "complete"
    assert done.endswith(b"\n")


def test_appending(tmp_path: Path) -> None:
    """The torn end goes, the end comes, secrets stay out, room ahead is given back."""
    path = tmp_path / "dialog.jsonl"
    path.write_bytes(DATA + b'{"torn')
    remains = finish.examine(path.read_bytes())
    missing = finish.closing(
        remains,
        now=1.0,
        first=FIRST,
        turns=0,
        tokens=(0, 0),
        duration_ms=0,
        message="killed with sk-secret-0815 in hand",
    )
    fd = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        finish.append_closing(fd, remains, missing, Redactor({"KEY": "sk-secret-0815"}))
    finally:
        os.close(fd)
    data = path.read_bytes()
    assert data.startswith(DATA)
    assert breaches(data) == []
    assert b"sk-secret" not in data
    assert b"[redacted:KEY]" in data
