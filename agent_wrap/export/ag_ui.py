"""AG-UI events, one a line: a run for interfaces that speak this protocol.

What an event has no field for stands under `agentWrap` in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.export.run import Run, is_start
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap.view.reading import output_of, seconds

PROTOCOL = "1.0"

Event = dict[str, Any]


def export(run: Run) -> Iterator[str]:
    """Give the run's events as JSON lines; a run without its end has no last event."""
    session = get_text(run.summary, "session_id")
    row = run.row
    thread = session or f"{row['task']}/{row['started_at']}"
    ids: Event = {"threadId": thread, "runId": f"{thread}/run"}
    is_open = False
    for entry in run.read():
        if not is_open and entry["type"] != "init":  # no dialog of ours
            yield _line(_event("RUN_STARTED", entry, **ids, protocolVersion=PROTOCOL))
        is_open = True
        for event in _events(entry, run, ids):
            yield _line(event)


def _events(entry: Entry, run: Run, ids: Event) -> Iterator[Event]:
    kind = entry["type"]
    if kind == "init":
        yield _event(
            *("RUN_STARTED", entry, {"init": entry["data"]}),
            **ids,
            protocolVersion=PROTOCOL,
        )
    elif kind in ("prompt", "message"):
        yield from _text(entry, "user" if kind == "prompt" else "assistant")
    elif kind == "thinking":
        yield from _thinking(entry)
    elif kind == "complete":
        yield _end(entry, run, ids)
    elif is_start(entry):
        yield from _call(entry)
    else:
        yield _event(
            *("TOOL_CALL_RESULT", entry),
            {"status": entry["status"], "name": entry["name"]},
            messageId=_id(entry),
            toolCallId=entry["tool_id"],
            content=output_of(entry),
            role="tool",
        )


def _text(entry: Entry, role: str) -> Iterator[Event]:
    message, tokens = _id(entry), entry.get("tokens")
    more = {"tokens": tokens} if tokens else {}
    yield _event("TEXT_MESSAGE_START", entry, more, messageId=message, role=role)
    if delta := entry["content"]:
        yield _event("TEXT_MESSAGE_CONTENT", entry, messageId=message, delta=delta)
    yield _event("TEXT_MESSAGE_END", entry, messageId=message)


def _thinking(entry: Entry) -> Iterator[Event]:
    message, text = _id(entry), entry["content"]
    frame = "REASONING_MESSAGE_"
    yield _event("REASONING_START", entry, messageId=message)
    yield _event(frame + "START", entry, messageId=message, role="reasoning")
    if text:
        yield _event(frame + "CONTENT", entry, messageId=message, delta=text)
    yield _event(frame + "END", entry, messageId=message)
    yield _event("REASONING_END", entry, messageId=message)


def _call(entry: Entry) -> Iterator[Event]:
    call, args = entry["tool_id"], entry.get("args", {})
    yield _event("TOOL_CALL_START", entry, toolCallId=call, toolCallName=entry["name"])
    delta = orjson.dumps(args).decode()
    yield _event("TOOL_CALL_ARGS", entry, toolCallId=call, delta=delta)
    yield _event("TOOL_CALL_END", entry, toolCallId=call)


def _end(entry: Entry, run: Run, ids: Event) -> Event:
    result = {key: entry[key] for key in ("status", "turns", "duration_ms")}
    result.update(message=entry.get("message", ""))
    for key in ("cost_usd", "exit_code"):
        if run.row[key] is not None:
            result[key] = run.row[key]
    usage = [_usage(entry, run)]
    if entry["status"] == "success":
        outcome = {"type": "success"}
        return _event(
            "RUN_FINISHED", entry, **ids, result=result, outcome=outcome, usage=usage
        )
    said = entry.get("message") or entry["status"]
    more = {"result": result}
    return _event(
        "RUN_ERROR", entry, more, message=said, code=entry["status"], usage=usage
    )


def _usage(entry: Entry, run: Run) -> dict[str, Any]:
    totals, parts = entry["total_tokens"], get_dict(run.summary, "tokens")
    found = {
        "inputTokens": totals["in"],
        "outputTokens": totals["out"],
        "totalTokens": totals["in"] + totals["out"],
        "reasoningTokens": get_count(parts, "reasoning"),
        "cachedInputTokens": get_count(parts, "cached"),
        "cacheWriteInputTokens": get_count(parts, "cache_written"),
    }
    usage: dict[str, Any] = {
        key: value for key, value in found.items() if value or key[:2] in ("in", "ou")
    }
    if run.row["model"] != UNKNOWN:
        usage["model"] = run.row["model"]
    return usage


def _event(kind: str, entry: Entry, more: Event | None = None, **fields: Any) -> Event:
    origin = {"seq": entry["seq"], "ts": entry["ts"], **(more or {})}
    return {
        "type": kind,
        "timestamp": round(seconds(entry["ts"]) * 1000),
        **fields,
        "metadata": {"agentWrap": origin},
    }


def _id(entry: Entry) -> str:
    return f"entry-{entry['seq']}"


def _line(event: Event) -> str:
    # ASCII, since some readers of lines cut them at U+2028 as well.
    return json.dumps(event, separators=(",", ":")) + "\n"
