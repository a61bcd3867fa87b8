"""What Goose prints with `--output-format stream-json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
    Usage,
)
from agent_wrap.fragments import Fragments
from agent_wrap.shapes import as_args, get_count, get_dict, get_dicts, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType

_SILENT = ("image", "redactedThinking", "toolConfirmationRequest", "actionRequired")
_FAILED = ("Ran into this error:", "Network error:")
"""How it begins what it says itself in the model's name, before it gives up."""


class GooseStream(ByType):
    """Reads the lines of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._fragments = Fragments()
        self._turns = 0
        self._in_turn = False
        self._error = ""
        self.types = {
            "message": lambda event: self._message(get_dict(event, "message")),
            "notification": lambda event: iter(()),
            "model_change": _model_change,
            "error": self._failed,
            "complete": self._complete,
        }

    def close(self) -> Iterator[Event]:
        """Give what was being said when the stream ended."""
        return self._flush()

    def _message(self, message: dict[str, Any]) -> Iterator[Event]:
        """Read a message; the user's are results of tools."""
        own = get_text(message, "role") == "assistant"
        message_id = get_text(message, "id")
        for block in get_dicts(message, "content"):
            kind = get_text(block, "type")
            if kind in ("text", "thinking", "reasoning"):
                text = get_text(block, "text") or get_text(block, "thinking")
                if own and kind == "text":
                    yield from self._settled(self._fragments.say(text, message_id))
                elif own:
                    yield from self._settled(self._fragments.think(text, message_id))
                continue
            yield from self._flush()
            if kind in ("toolRequest", "frontendToolRequest"):
                yield from self._start_turn()
                yield _started(block)
            elif kind == "toolResponse":
                self._in_turn = False
                yield _finished(block)
            elif kind == "systemNotification":
                yield Notice(get_text(block, "msg"))
            elif kind not in _SILENT:
                yield Unknown(f"message/{kind}")

    def _flush(self) -> Iterator[Event]:
        return self._settled(self._fragments.whole())

    def _settled(self, facts: Iterable[Event]) -> Iterator[Event]:
        """Begin a turn for what is said; the program's own words are none."""
        for fact in facts:
            if isinstance(fact, Message) and fact.text.startswith(_FAILED):
                self._error = fact.text
                yield Notice(fact.text)
                continue
            if isinstance(fact, Message | Thinking):
                yield from self._start_turn()
            yield fact

    def _start_turn(self) -> Iterator[Event]:
        if not self._in_turn:
            self._in_turn = True
            self._turns += 1
            yield TurnStarted(f"turn-{self._turns}")

    def _failed(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._flush()
        self._error = get_text(event, "error")
        yield RunFinished(False, self._error, "error")

    def _complete(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read the end. It comes after an error too, and the program exits 0."""
        yield from self._flush()
        totals = Usage(
            input=get_count(event, "input_tokens"),
            output=get_count(event, "output_tokens"),
            scope="total",
        )
        known = totals.input or totals.output
        ok = not self._error
        yield RunFinished(ok, self._error, totals=totals if known else None)


def _model_change(event: dict[str, Any]) -> Iterator[Event]:
    yield SessionStarted(model=get_text(event, "model"))


def _started(block: dict[str, Any]) -> ToolStarted:
    """Read a call; one that could not be understood has no name."""
    call = get_dict(block, "toolCall")
    value = get_dict(call, "value")
    args = as_args(value.get("arguments") or call.get("error"))
    return ToolStarted(get_text(block, "id"), get_text(value, "name"), args)


def _finished(block: dict[str, Any]) -> ToolFinished:
    """Read a result: its own error, or that of the tool's protocol."""
    result = get_dict(block, "toolResult")
    value = result.get("value")
    ok = get_text(result, "status") == "success"
    if isinstance(value, dict):
        failed = value.get("isError") is True
        code = get_count(get_dict(value, "structuredContent"), "exit_code")
        ok = ok and not failed and not code
        value = value.get("content")
    output = flatten(value) or get_text(result, "error")
    return ToolFinished(get_text(block, "id"), output, ok)
