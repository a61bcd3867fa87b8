"""Side files: figures read from JSON whose shape is not to be trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent_wrap.events import Usage
from agent_wrap.jsonvalue import objects
from agent_wrap.shapes import get_count


def document(data: bytes) -> dict[str, Any]:
    """Give a file that is one JSON object; empty: it is none (a half-written one)."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Give the objects of a file of JSON lines."""
    for line in data.split(b"\n"):
        yield from objects(line) or ()


def usage(
    figures: Mapping[str, Any],
    names: str,
    *,
    cache_inside: bool = False,
    cost: float | None = None,
    message_id: str = "side",
) -> Usage:
    """Read usage by the names of input, cached, cache_written, output, reasoning.

    `-` stands for a part that is not told. `cache_inside`: the input counts what was
    cached too.
    """
    parts = [0 if name == "-" else get_count(figures, name) for name in names.split()]
    read, cached, cache_written, output, reasoning = parts
    if cache_inside:
        read = max(read - cached - cache_written, 0)
    return Usage(
        read,
        cached,
        cache_written,
        output,
        reasoning,
        cost=cost,
        message_id=message_id,
    )
