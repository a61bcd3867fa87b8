"""What Cursor prints with `--output-format stream-json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Prompt,
    RunFinished,
    SessionStarted,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
    Usage,
)
from agent_wrap.shapes import as_args, get_count, get_dict, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType

_SUFFIX = "ToolCall"
_TEXTS = ("stdout", "stderr", "content", "errorMessage", "error", "message", "reason")


class CursorStream(ByType):
    """Reads the lines of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[str] = []
        self._thought: list[str] = []
        self._said = ""
        self._turns = 0
        self._in_turn = False
        self.types = {
            "system": self._system,
            "user": lambda event: iter((Prompt(_text(event)),)),
            "assistant": self._assistant,
            "thinking": self._thinking,
            "tool_call": self._tool_call,
            "interaction_query": lambda event: iter(()),
            "result": self._result,
        }

    def close(self) -> Iterator[Event]:
        """Give what was being said when the stream ended."""
        return self._flush()

    def _system(self, event: dict[str, Any]) -> Iterator[Event]:
        if get_text(event, "subtype") != "init":
            yield Unknown(f"system/{get_text(event, 'subtype')}")
            return
        session, model = get_text(event, "session_id"), get_text(event, "model")
        yield SessionStarted(session, model, get_text(event, "cwd"))

    def _assistant(self, event: dict[str, Any]) -> Iterator[Event]:
        """Keep a piece, unless it says again all of the message, or of the run."""
        text, whole = _text(event), "".join(self._pieces)
        if text and text not in (whole, self._said + whole):
            yield from self._flush_thought()
            yield from self._start_turn()
            self._pieces.append(text)
            yield TextDelta(text)

    def _thinking(self, event: dict[str, Any]) -> Iterator[Event]:
        if get_text(event, "subtype") == "completed":
            yield from self._flush_thought()
        elif text := get_text(event, "text"):
            yield from self._flush_text()
            self._thought.append(text)
            yield ThinkingDelta(text)

    def _tool_call(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._flush()
        call_id, (name, call) = get_text(event, "call_id"), _call(event)
        if get_text(event, "subtype") == "started":
            yield from self._start_turn()
            yield ToolStarted(call_id, name, as_args(_arguments(call)))
        else:
            self._in_turn = False
            yield _finished(call_id, get_dict(call, "result"))

    def _result(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._flush()
        ok = get_text(event, "subtype") == "success" and event.get("is_error") is False
        said = "" if ok else get_text(event, "error") or get_text(event, "result")
        figures = get_dict(event, "usage")
        totals = Usage(
            input=get_count(figures, "inputTokens"),
            cached=get_count(figures, "cacheReadTokens"),
            cache_written=get_count(figures, "cacheWriteTokens"),
            output=get_count(figures, "outputTokens"),
            scope="total",
        )
        reason = get_text(event, "subtype")
        yield RunFinished(ok, said, reason, totals if figures else None)

    def _start_turn(self) -> Iterator[Event]:
        if not self._in_turn:
            self._in_turn = True
            self._turns += 1
            yield TurnStarted(f"turn-{self._turns}")

    def _flush_thought(self) -> Iterator[Event]:
        thought = "".join(self._thought)
        self._thought.clear()
        if thought.strip():
            yield from self._start_turn()
            yield Thinking(thought)

    def _flush(self) -> Iterator[Event]:
        yield from self._flush_thought()
        yield from self._flush_text()

    def _flush_text(self) -> Iterator[Event]:
        text = "".join(self._pieces)
        self._pieces.clear()
        self._said += text
        if text.strip():
            yield Message(text)


def _text(event: dict[str, Any]) -> str:
    return flatten(get_dict(event, "message").get("content"))


def _call(event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Find the call: `{"shellToolCall": {...}}`, or `{"function": {"name": ...}}`."""
    for key, call in get_dict(event, "tool_call").items():
        if isinstance(call, dict) and key == "function":
            return get_text(call, "name"), call
        if isinstance(call, dict) and key.endswith(_SUFFIX):
            return key.removesuffix(_SUFFIX), call
    return "", {}


def _arguments(call: dict[str, Any]) -> Any:
    given = call.get("args", call.get("arguments"))
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


def _finished(call_id: str, result: dict[str, Any]) -> ToolFinished:
    """Read `{"success": {...}}`; anything else is a failure that says its kind."""
    kind, said = next(iter(result.items()), ("success", ""))
    ok = kind == "success"
    if isinstance(said, dict):
        ok = ok and not get_count(said, "exitCode")
        texts = [get_text(said, name) for name in _TEXTS]
        streams, named = "".join(texts[:2]), filter(None, texts[2:])
        said = streams or next(named, "") or json.dumps(said)
    return ToolFinished(call_id, flatten(said) or ("" if ok else kind), ok)
