"""Events as lines of JSON and back: how a run's events reach the Python caller."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from agent_wrap.encode import encode
from agent_wrap.events import Event, Send, TodoItem, Unparsed, Usage
from agent_wrap.jsonvalue import objects

_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def to_line(event: Event) -> bytes:
    """Give an event as one line; empty for those that carry raw bytes."""
    if isinstance(event, Send):
        return b""
    if isinstance(event, Unparsed):
        event = Unparsed(b"", event.reason)
    fields = dataclasses.asdict(event)
    fields.pop("line", None)
    return encode({"event": type(event).__name__, **fields})


def from_line(line: bytes) -> Event | None:
    """Give the event of a line that `to_line` made, or None."""
    found = objects(line)
    if not found:
        return None
    fields = dict(found[0])
    kind = _KINDS.get(str(fields.pop("event", "")))
    if kind is None:
        return None
    if kind is Unparsed:
        fields["line"] = b""
    return kind(**{name: _value(name, value) for name, value in fields.items()})


def _value(name: str, value: Any) -> Any:
    if name == "totals" and isinstance(value, dict):
        return Usage(**value)
    if name == "items":
        return tuple(TodoItem(**item) for item in value)
    return tuple(value) if isinstance(value, list) else value
