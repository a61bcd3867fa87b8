"""Tokens as the agents tell them over ACP: the protocol leaves that to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent_wrap.events import Usage
from agent_wrap.shapes import get_count, get_dict

LAST_ANSWER_ONLY = frozenset({"OpenCode"})
"""Agents whose usage at a prompt's end is that of their last answer (measured)."""


def of_prompt(result: dict[str, Any]) -> Usage | None:
    """Read the usage at a prompt's end: of the protocol, or of Gemini CLI."""
    if figures := get_dict(result, "usage"):
        return usage(figures)
    quota = get_dict(get_dict(result, "_meta"), "quota")
    counts = get_dict(quota, "token_count")
    read, wrote = (get_count(counts, f"{kind}_tokens") for kind in ("input", "output"))
    return Usage(input=read, output=wrote) if read or wrote else None


def add(before: Usage, prompt: Usage) -> Usage:
    """Add a prompt's usage to that of the prompts before it."""
    parts = ("input", "cached", "cache_written", "output", "reasoning")
    sums = {part: getattr(before, part) + getattr(prompt, part) for part in parts}
    return replace(before, **sums)


def usage(figures: dict[str, Any], message_id: str = "") -> Usage:
    """Read tokens; some count what came from the cache as input, some do not."""
    read = get_count(figures, "inputTokens")
    written = get_count(figures, "outputTokens")
    cached = get_count(figures, "cachedReadTokens")
    thought = get_count(figures, "thoughtTokens")
    total = get_count(figures, "totalTokens")
    if read + written + thought == total or read + written == total:
        read = max(read - cached, 0)
    if read + cached + written + thought == total:
        written += thought
    return Usage(
        input=read,
        cached=cached,
        cache_written=get_count(figures, "cachedWriteTokens"),
        output=written,
        reasoning=thought,
        message_id=message_id,
    )
