"""The shapes of the dialog's entries: this file alone knows them.

One function an entry type, named after it; `seq` and the moment come first. Used
by the state machine, by the launcher (which writes `init` before anything heavy is
imported) and by whoever finishes a dialog for a dead supervisor: so no imports.
Source of every rule: the dialog protocol.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Entry: TypeAlias = dict[str, Any]
else:
    Entry = dict

UNKNOWN = "unknown"
TYPES = frozenset({"init", "prompt", "message", "thinking", "tool", "complete"})


_second = (0, "1970-01-01T00:00:00")
"""The last second asked for, and how it is written: most entries share one."""


def timestamp(now: float) -> str:
    """Give a moment (Unix seconds) as ISO 8601 in UTC with microseconds."""
    global _second
    whole = int(now // 1)
    micros = min(int((now - whole) * 1_000_000), 999_999)
    if _second[0] != whole:
        _second = whole, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
    return f"{_second[1]}.{micros:06d}+00:00"


def init(seq: int, ts: str, *, task: str, cwd: str, model: str, agent: str) -> Entry:
    """Build the first entry; what is empty is `unknown`."""
    data = {"task": task, "cwd": cwd, "model": model, "agent": agent}
    known = {key: value or UNKNOWN for key, value in data.items()}
    return {"seq": seq, "ts": ts, "type": "init", "data": known}


def prompt(seq: int, ts: str, content: str) -> Entry:
    """Build the entry for what the agent was asked."""
    return {"seq": seq, "ts": ts, "type": "prompt", "content": content}


def message(
    seq: int, ts: str, content: str, tokens: tuple[int, int] | None = None
) -> Entry:
    """Build the entry for what the assistant said; `tokens` are (in, out)."""
    entry: Entry = {
        "seq": seq,
        "ts": ts,
        "type": "message",
        "role": "assistant",
        "content": content,
    }
    if tokens is not None:
        entry["tokens"] = {"in": tokens[0], "out": tokens[1]}
    return entry


def thinking(seq: int, ts: str, content: str) -> Entry:
    """Build the entry for reasoning."""
    return {"seq": seq, "ts": ts, "type": "thinking", "content": content}


def tool_start(
    seq: int, ts: str, tool_id: str, name: str, args: dict[str, Any] | None
) -> Entry:
    """Build the first entry of a tool's pair; empty `args` are left out."""
    entry: Entry = {
        "seq": seq,
        "ts": ts,
        "type": "tool",
        "tool_id": tool_id,
        "name": name,
        "status": "running",
    }
    if args:
        entry["args"] = args
    return entry


def tool_result(
    seq: int, ts: str, tool_id: str, name: str, output: str, *, ok: bool
) -> Entry:
    """Build the second entry of a tool's pair; empty output is left out on success."""
    entry: Entry = {
        "seq": seq,
        "ts": ts,
        "type": "tool",
        "tool_id": tool_id,
        "name": name,
        "status": "success" if ok else "error",
    }
    if output or not ok:
        entry["result" if ok else "error"] = output
    return entry


def complete(
    seq: int,
    ts: str,
    *,
    status: str,
    turns: int,
    duration_ms: int,
    tokens: tuple[int, int],
    message: str = "",
) -> Entry:
    """Build the last entry; `tokens` are (in, out), an empty message is left out."""
    entry: Entry = {
        "seq": seq,
        "ts": ts,
        "type": "complete",
        "status": status,
        "turns": turns,
        "duration_ms": duration_ms,
        "total_tokens": {"in": tokens[0], "out": tokens[1]},
    }
    if message:
        entry["message"] = message
    return entry
