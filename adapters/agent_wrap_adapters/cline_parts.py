"""Parts of Cline's lines: a tool's end, usage, the result of a run."""

from __future__ import annotations

from typing import Any

from agent_wrap.events import RunFinished, ToolFinished, Usage
from agent_wrap.shapes import get_count, get_dict, get_number, get_text
from agent_wrap_adapters.content import flatten


def tool_finished(event: dict[str, Any], tool_id: str) -> ToolFinished:
    """Read a tool's end: its errors are told in three places."""
    output, error = event.get("output"), get_text(event, "error")
    results = list(map(_result, output if isinstance(output, list) else [output]))
    text = "\n".join(text for text, _ in results if text) or error
    return ToolFinished(tool_id, text, not error and all(ok for _, ok in results))


def _result(part: Any) -> tuple[str, bool]:
    """Read one part of a tool's output; an error may be told in its text already."""
    if not isinstance(part, dict):
        return flatten(part), True
    text, error = flatten(part.get("result")), flatten(part.get("error"))
    text = text or get_text(part, "text")  # of a sub-agent
    if error and error not in text:
        text = f"{text}\n{error}".strip("\n")
    return text, part.get("success") is not False and not error


def usage(figures: dict[str, Any], **more: Any) -> Usage:
    """Read usage: `inputTokens` includes the cache. A cost of 0 is one not known."""
    cached = get_count(figures, "cacheReadTokens")
    written = get_count(figures, "cacheWriteTokens")
    cost = get_number(figures, "cost") or get_number(figures, "totalCost")
    return Usage(
        input=max(get_count(figures, "inputTokens") - cached - written, 0),
        cached=cached,
        cache_written=written,
        output=get_count(figures, "outputTokens"),
        cost=cost or None,
        **more,
    )


def finished(event: dict[str, Any], *, with_totals: bool) -> RunFinished:
    """Read the result. Its text is the error's; its totals leave out sub-agents."""
    reason = get_text(event, "finishReason")
    said = {"completed": "", "error": get_text(event, "text")}.get(reason, reason)
    figures = get_dict(event, "aggregateUsage") or get_dict(event, "usage")
    return RunFinished(
        reason == "completed",
        said,
        reason,
        totals=usage(figures, scope="total") if figures and with_totals else None,
        turns=get_count(event, "iterations"),
    )
