"""Lines that are OpenAI chat messages: `role`, `content`, `tool_calls`.

Several agents print their conversation so, each with details of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from agent_wrap.shapes import as_args, get_dict, get_dicts, get_text
from agent_wrap_adapters.content import flatten


def read_answer(message: dict[str, Any], turn_id: str) -> Iterator[Event]:
    """Read an assistant's message; one that says nothing is no turn."""
    facts = [*_content(message, turn_id), *_calls(message)]
    if facts:
        yield TurnStarted(turn_id)
        yield from facts


def read_result(message: dict[str, Any], ok: bool) -> ToolFinished:
    """Read a tool's message. The format has no flag for errors: the caller tells."""
    return ToolFinished(get_text(message, "tool_call_id"), text_of(message), ok)


def text_of(message: dict[str, Any]) -> str:
    """Give a message's content as text: it is a string or a list of parts."""
    return flatten(message.get("content"))


def _content(message: dict[str, Any], turn_id: str) -> Iterator[Event]:
    thought = get_text(message, "reasoning_content")
    if thought.strip():
        yield Thinking(thought, turn_id)
    if not isinstance(message.get("content"), list):
        text = text_of(message)
        if text.strip():
            yield Message(text, turn_id)
        return
    for part in get_dicts(message, "content"):
        think, text = get_text(part, "think"), get_text(part, "text")
        if think.strip():
            yield Thinking(think, turn_id)
        elif text.strip():
            yield Message(text, turn_id)


def _calls(message: dict[str, Any]) -> Iterator[ToolStarted]:
    for call in get_dicts(message, "tool_calls"):
        function = get_dict(call, "function")
        args = _arguments(function.get("arguments"))
        yield ToolStarted(get_text(call, "id"), get_text(function, "name"), args)


def _arguments(value: Any) -> dict[str, Any] | None:
    """Read arguments: they are JSON in a string, written by the model."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            pass
    return as_args(value)
