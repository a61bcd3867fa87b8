"""Finishing a dialog that its supervisor could not: from what is on disk.

Used by the guardian when the supervisor was killed, and by `agent-wrap repair` when
both were. A torn last line is cut, open tools are closed as errors, and one
`complete` says what happened. Nothing that is readable is changed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from agent_wrap import entries
from agent_wrap.encode import encode_within
from agent_wrap.entries import Entry
from agent_wrap.limits import Budget
from agent_wrap.redact import Redactor

MOST = 2**63 - 1
"""What any reader takes for a number of tokens."""

UNFINISHED = "agent-wrap was killed before the tool's result"


@dataclass
class Remains:
    """What a dialog file holds: its whole entries, and where they end.

    `open_tools` are ids and names of tools without a result, oldest first.
    """

    size: int = 0
    count: int = 0
    has_init: bool = False
    has_prompt: bool = False
    complete: Entry | None = None
    messages: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    first_ts: str = ""
    last_ts: str = ""
    init: Entry | None = None
    open_tools: dict[str, str] = field(default_factory=dict)


def examine(data: bytes) -> Remains:
    """Read a dialog's bytes up to the first line that is not a whole entry.

    Anybody may have written to the file: what looks like an entry and lacks a field
    is none.
    """
    remains = Remains()
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        entry = _read(data[start:end])
        if entry is None:
            break
        _take(remains, entry)
        start = end + 1
    remains.size = start
    return remains


def _read(line: bytes) -> Entry | None:
    """Give the entry in a line; what was written over or torn is none."""
    try:
        entry = orjson.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and _is_entry(entry) else None


def _is_entry(entry: Entry) -> bool:
    kind = entry.get("type")
    if kind == "tool":
        return all(isinstance(entry.get(k), str) for k in ("tool_id", "name", "status"))
    if kind == "message":
        tokens = entry.get("tokens", {})
        return isinstance(tokens, dict) and all(
            isinstance(tokens.get(k, 0), int) for k in ("in", "out")
        )
    if kind == "init":
        return isinstance(entry.get("data"), dict)
    if kind == "complete":
        return isinstance(entry.get("total_tokens"), dict) and all(
            key in entry for key in ("status", "turns", "duration_ms")
        )
    return isinstance(kind, str) and kind in entries.TYPES


def _take(remains: Remains, entry: Entry) -> None:
    kind = entry["type"]
    remains.count += 1
    remains.last_ts = str(entry.get("ts", ""))
    remains.first_ts = remains.first_ts or remains.last_ts
    if kind == "init":
        remains.has_init, remains.init = True, entry
    elif kind == "prompt":
        remains.has_prompt = True
    elif kind == "message":
        remains.messages += 1
        tokens = entry.get("tokens", {})
        remains.tokens_in = min(remains.tokens_in + tokens.get("in", 0), MOST)
        remains.tokens_out = min(remains.tokens_out + tokens.get("out", 0), MOST)
    elif kind == "tool":
        if entry["status"] == "running":
            remains.open_tools[entry["tool_id"]] = entry["name"]
        else:
            remains.open_tools.pop(entry["tool_id"], None)
    elif kind == "complete":
        remains.complete = entry


def closing(
    remains: Remains,
    *,
    now: float,
    first: Sequence[Entry],
    turns: int,
    tokens: tuple[int, int],
    duration_ms: int,
    message: str,
) -> list[Entry]:
    """Give the entries that a torn dialog lacks; none when it is complete.

    `first` are the `init` and `prompt` to write where they are missing.
    """
    if remains.complete is not None:
        return []
    ts = entries.timestamp(now)
    missing: list[Entry] = []
    if not remains.has_init:
        missing.append(first[0])
    if not remains.has_prompt:
        missing.append(first[1] if len(first) > 1 else entries.prompt(0, ts, ""))
    for tool_id, name in remains.open_tools.items():
        missing.append(entries.tool_result(0, ts, tool_id, name, UNFINISHED, ok=False))
    missing.append(
        entries.complete(
            0,
            ts,
            status="error",
            turns=turns,
            duration_ms=duration_ms,
            tokens=tokens,
            message=message,
        )
    )
    for seq, entry in enumerate(missing, remains.count):
        entry["seq"] = seq
    return missing


def append_closing(
    fd: int, remains: Remains, missing: Sequence[Entry], redactor: Redactor
) -> None:
    """Cut the torn end of a dialog and write what it lacks. Raises OSError."""
    # Cutting gives back what was allocated ahead: on a full disk, room for the end.
    if os.fstat(fd).st_size != remains.size:
        os.ftruncate(fd, remains.size)
    data = b"".join(redactor.replace_line(_line(entry)) for entry in missing)
    while data:
        data = data[os.write(fd, data) :]
    os.ftruncate(fd, os.fstat(fd).st_size)
    os.fsync(fd)


def _line(entry: Entry) -> bytes:
    return encode_within(entry, Budget().longest_line)[0]
