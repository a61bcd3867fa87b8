"""Pieces of a message that Qwen Code prints before the message comes whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TurnStarted,
)
from agent_wrap.shapes import get_dict, get_text
from agent_wrap_adapters.stream_json import unknown

_SILENT = (
    "content_block_start",
    "content_block_stop",
    "goal_state",
    "message_delta",
    "message_start",
    "message_stop",
)


class Pieces:
    """What has been said of the message that is on its way."""

    def __init__(self) -> None:
        self._thought: list[str] = []
        self._text: list[str] = []

    def read(self, part: dict[str, Any], message_id: str) -> Iterator[Event]:
        """Read the event in a `stream_event` line."""
        kind, delta = get_text(part, "type"), get_dict(part, "delta")
        if kind == "content_block_delta":
            if text := get_text(delta, "text"):
                self._text.append(text)
                yield TextDelta(text, message_id)
            elif text := get_text(delta, "thinking"):
                self._thought.append(text)
                yield ThinkingDelta(text, message_id)
        elif kind not in _SILENT:
            yield unknown(kind, "stream_event/")

    def clear(self) -> None:
        """Forget it: it has come whole, or was thrown away."""
        self._thought.clear()
        self._text.clear()

    def facts(self, message_id: str) -> Iterator[Event]:
        """Give it as it is: the stream has ended."""
        thought, text = "".join(self._thought), "".join(self._text)
        if thought.strip() or text.strip():
            yield TurnStarted(message_id)
        if thought.strip():
            yield Thinking(thought, message_id)
        if text.strip():
            yield Message(text, message_id)
