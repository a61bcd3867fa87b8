"""OpenTelemetry GenAI spans as OTLP JSON: the run, each answer, each tool.

A line that a collector's file receiver or `POST /v1/traces` takes. The names are those
of the GenAI semantic conventions; what they do not name begins with `agent_wrap.`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.export.otlp import (
    CLIENT,
    INTERNAL,
    Span,
    Trace,
    attributes,
    nanoseconds,
    request,
    status,
)
from agent_wrap.export.run import Pair, Run
from agent_wrap.export.steps import Step, later, steps
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap.view.reading import output_of

_FRAME = ("init", "prompt", "complete")


def export(run: Run) -> Iterator[str]:
    """Give the run's trace: one line of JSON, an ExportTraceServiceRequest."""
    spans = list(_Spans(run).all())
    found = request(spans, run.row["agent"])
    yield json.dumps(found, separators=(",", ":")) + "\n"


class _Spans:
    """Builds the spans of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._model = run.row["model"]
        entries = list(run.read())
        seed = orjson.dumps([run.summary.get("session_id"), entries[:2]])
        self._trace = Trace(seed)
        self._start = entries[0]["ts"]
        self._end = max((entry["ts"] for entry in entries), key=nanoseconds)
        self._frame = [e for e in entries if e["type"] in _FRAME]
        self._is_ended = any(e["type"] == "complete" for e in entries)

    def all(self) -> Iterator[Span]:
        """Give the root, then its children in their order."""
        yield self._root()
        for step in steps(self._run.paired()):
            if isinstance(step, Step):
                yield self._chat(step)
                for call in step.calls:
                    yield self._tool(call)
            elif step.entry["type"] == "tool":
                yield self._tool(step)

    def _root(self) -> Span:
        row, summary = self._run.row, self._run.summary
        tokens = get_dict(summary, "tokens")
        message = row["message"]
        good = row["status"] == "success"
        name = f"invoke_agent {row['agent']}"
        span = self._trace.span(name, INTERNAL, self._start, self._end)
        if self._is_ended:
            span["status"] = status(good, message or row["status"])
        span["attributes"] = attributes(
            {
                **self._common("invoke_agent"),
                "gen_ai.agent.version": get_text(summary, "agent_version") or None,
                "gen_ai.usage.input_tokens": row["tokens_in"],
                "gen_ai.usage.output_tokens": row["tokens_out"],
                "gen_ai.usage.cache_read.input_tokens": get_count(tokens, "cached")
                or None,
                "gen_ai.input.messages": _json(
                    [
                        _message("user", [{"type": "text", "content": e["content"]}])
                        for e in self._frame
                        if e["type"] == "prompt"
                    ]
                ),
                "error.type": row["status"] if self._is_ended and not good else None,
                **{
                    f"agent_wrap.{key}": row[key]
                    for key in ("task", "cwd", "status", "turns", "duration_ms")
                },
                "agent_wrap.message": message or None,
                "agent_wrap.cost_usd": row["cost_usd"],
                "agent_wrap.exit_code": row["exit_code"],
                **_origin(*self._frame),
            }
        )
        return span

    def _chat(self, step: Step) -> Span:
        parts: list[dict[str, Any]] = []
        if step.thinking:
            parts.append({"type": "reasoning", "content": step.thinking["content"]})
        if step.message:
            parts.append({"type": "text", "content": step.message["content"]})
        for call in step.calls:
            entry = call.entry
            part = {"type": "tool_call", "id": entry["tool_id"], "name": entry["name"]}
            parts.append({**part, "arguments": entry.get("args", {})})
        reason = "tool_call" if step.calls else "stop"
        answer = {**_message("assistant", parts), "finish_reason": reason}
        tokens = step.message.get("tokens", {}) if step.message else {}
        name = "chat" if self._model == UNKNOWN else f"chat {self._model}"
        end = later(step.given, step.last["ts"])
        span = self._trace.span(name, CLIENT, step.given, end)
        span["attributes"] = attributes(
            {
                **self._common("chat"),
                "gen_ai.output.messages": _json([answer]),
                "gen_ai.response.finish_reasons": [reason],
                "gen_ai.usage.input_tokens": tokens.get("in"),
                "gen_ai.usage.output_tokens": tokens.get("out"),
                **_origin(*(e for e in (step.thinking, step.message) if e)),
            }
        )
        return span

    def _tool(self, pair: Pair) -> Span:
        entry, result = pair
        if entry["status"] != "running":
            result = entry
        name, args = entry["name"], entry.get("args")
        end = later(entry["ts"], result["ts"] if result else self._end)
        span = self._trace.span(f"execute_tool {name}", INTERNAL, entry["ts"], end)
        failed = result is not None and result["status"] == "error"
        if result:
            span["status"] = status(not failed, output_of(result))
        span["attributes"] = attributes(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": entry["tool_id"],
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.arguments": _json(args) if args else None,
                "gen_ai.tool.call.result": output_of(result) if result else None,
                "error.type": "tool_error" if failed else None,
                "agent_wrap.started": entry["status"] == "running",
                "agent_wrap.ended": result is not None,
                **_origin(*(e for e in (entry, pair.result) if e)),
            }
        )
        return span

    def _common(self, operation: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": UNKNOWN,  # the dialog does not say who serves
            "gen_ai.agent.name": self._run.row["agent"],
            "gen_ai.request.model": None if self._model == UNKNOWN else self._model,
            "gen_ai.conversation.id": get_text(self._run.summary, "session_id") or None,
        }


def _origin(*entries: Entry) -> dict[str, Any]:
    """Name the entries that a span was made of, with their exact moments."""
    return {
        f"agent_wrap.{key}": [entry[key] for entry in entries] or None
        for key in ("seq", "ts", "type")
    }


def _message(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": parts}


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
