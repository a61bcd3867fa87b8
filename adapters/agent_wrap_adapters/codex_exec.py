"""What `codex exec --json` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Notice,
    RunFinished,
    RunResumed,
    SessionStarted,
    Unknown,
    Usage,
)
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap_adapters.codex_items import Items


class ExecStream:
    """Reads the lines of one process."""

    def __init__(self) -> None:
        self._items = Items()
        self._finished = False

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        kind = get_text(event, "type")
        if kind == "item.started":
            yield from self._items.started(get_dict(event, "item"))
        elif kind == "item.updated":
            yield from self._items.updated(get_dict(event, "item"))
        elif kind == "item.completed":
            yield from self._items.completed(get_dict(event, "item"))
        elif kind == "thread.started":
            yield SessionStarted(session_id=get_text(event, "thread_id"))
        elif kind == "turn.started":
            if self._finished:
                yield RunResumed()
            self._finished = False
        elif kind == "turn.completed":
            self._finished = True
            yield RunFinished(True, totals=total_of(get_dict(event, "usage")))
        elif kind == "turn.failed":
            self._finished = True
            message = get_text(get_dict(event, "error"), "message")
            yield RunFinished(False, message or "the turn failed", reason="turn.failed")
        elif kind == "error":  # provisional: `Reconnecting... 1/5` is one too
            self._items.retried = True
            yield Notice(get_text(event, "message"))
        else:
            yield Unknown(kind or "(no type)")


def total_of(figures: dict[str, Any]) -> Usage | None:
    """Read the usage of the thread so far; each one replaces the one before.

    `input_tokens` includes what came from the cache, not what was written to it.
    """
    if not figures:
        return None
    cached = get_count(figures, "cached_input_tokens")
    return Usage(
        input=max(get_count(figures, "input_tokens") - cached, 0),
        cached=cached,
        cache_written=get_count(figures, "cache_write_input_tokens"),
        output=get_count(figures, "output_tokens"),
        reasoning=get_count(figures, "reasoning_output_tokens"),
        scope="total",
    )
