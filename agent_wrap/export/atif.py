"""ATIF 1.8, the trajectory format of Harbor: a run as one JSON document.

What the format has no field for (sequence numbers, moments, a tool's status, the end)
goes into its `extra` objects, so that the dialog can be told from the trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.export.run import Pair, Run
from agent_wrap.export.steps import Step, steps
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap.view.reading import output_of

SCHEMA = "ATIF-v1.8"


def export(run: Run) -> Iterator[str]:
    """Give the trajectory as JSON."""
    found = [_step(step) for step in steps(run.paired())]
    listed = [step for step in found if step]
    if not listed:  # the format wants at least one
        listed = [{"source": "system", "message": ""}]
    for number, step in enumerate(listed, 1):
        step["step_id"] = number
    trajectory = {
        "schema_version": SCHEMA,
        "session_id": get_text(run.summary, "session_id") or None,
        "agent": {
            "name": run.row["agent"],
            "version": get_text(run.summary, "agent_version") or UNKNOWN,
            "model_name": None if run.row["model"] == UNKNOWN else run.row["model"],
        },
        "steps": listed,
        "final_metrics": _final(run, len(listed)),
        "extra": _extra(run),
    }
    yield orjson.dumps(_known(trajectory), option=orjson.OPT_INDENT_2).decode() + "\n"


def _step(step: Step | Pair) -> dict[str, Any] | None:
    if isinstance(step, Step):
        return _agent_step(step)
    entry = step.entry
    if entry["type"] == "prompt":
        return {
            "timestamp": entry["ts"],
            "source": "user",
            "message": entry["content"],
            "extra": _origin(entry),
        }
    if entry["type"] == "tool":  # a result that was never started
        result = _result(entry)
        del result["source_call_id"]
        result["extra"].update(tool_id=entry["tool_id"], name=entry["name"])
        return {
            "timestamp": entry["ts"],
            "source": "system",
            "message": "",
            "observation": {"results": [result]},
        }
    return None


def _agent_step(step: Step) -> dict[str, Any]:
    message = step.message
    parts = [part for part in (step.thinking, message) if part is not None]
    found: dict[str, Any] = {
        "timestamp": step.first["ts"],
        "source": "agent",
        "message": message["content"] if message else "",
    }
    if step.thinking:
        found["reasoning_content"] = step.thinking["content"]
    if message and "tokens" in message:
        tokens = message["tokens"]
        found["metrics"] = {
            "prompt_tokens": tokens["in"],
            "completion_tokens": tokens["out"],
        }
    if step.calls:
        found["tool_calls"] = [_call(pair.entry) for pair in step.calls]
        results = [_result(pair.result) for pair in step.calls if pair.result]
        if results:
            found["observation"] = {"results": results}
    if parts:
        found["extra"] = {part["type"]: _origin(part) for part in parts}
    return found


def _call(entry: Entry) -> dict[str, Any]:
    return {
        "tool_call_id": entry["tool_id"],
        "function_name": entry["name"],
        "arguments": entry.get("args", {}),
        "extra": _origin(entry),
    }


def _result(entry: Entry) -> dict[str, Any]:
    return {
        "source_call_id": entry["tool_id"],
        "content": output_of(entry),
        "extra": {**_origin(entry), "status": entry["status"]},
    }


def _origin(entry: Entry) -> dict[str, Any]:
    return {"seq": entry["seq"], "ts": entry["ts"]}


def _final(run: Run, count: int) -> dict[str, Any]:
    row, tokens = run.row, get_dict(run.summary, "tokens")
    keys = ("status", "turns", "duration_ms", "exit_code", "message")
    return {
        "total_prompt_tokens": row["tokens_in"],
        "total_completion_tokens": row["tokens_out"],
        "total_cached_tokens": get_count(tokens, "cached") or None,
        "total_cost_usd": row["cost_usd"],
        "total_steps": count,
        "extra": {
            **{key: row[key] for key in keys},
            "reasoning_tokens": get_count(tokens, "reasoning") or None,
        },
    }


def _extra(run: Run) -> dict[str, Any]:
    """What `init` and `complete` say beyond the format's own fields."""
    row = run.row
    found: dict[str, Any] = {"task": row["task"], "cwd": row["cwd"]}
    for entry in run.read():
        if entry["type"] in ("init", "complete"):
            found[entry["type"]] = _origin(entry)
        names = entry.get("data", {})
        if any(row[key] != name for key, name in names.items()):
            found["init"]["data"] = names  # the summary knew better
    return found


def _known(value: Any) -> Any:
    """Leave out, in our own objects, what is not known."""
    if isinstance(value, dict):
        return {
            key: inner if key == "arguments" else _known(inner)
            for key, inner in value.items()
            if inner is not None
        }
    return [_known(inner) for inner in value] if isinstance(value, list) else value
