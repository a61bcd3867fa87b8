"""What Droid prints with `--output-format stream-json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    RunFinished,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
    Usage,
)
from agent_wrap.shapes import as_args, get_count, get_dict, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType
from agent_wrap_adapters.side_usage import document, usage

_USAGE = "inputTokens cacheReadTokens cacheCreationTokens outputTokens thinkingTokens"


class DroidStream(ByType):
    """Reads the lines of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = ""
        self._last: dict[str, Any] = {}
        self._error = ""
        self.types = {
            "system": self._system,
            "message": self._message,
            "reasoning": self._reasoning,
            "tool_call": self._tool_call,
            "tool_result": self._tool_result,
            "error": self._failed,
            "completion": self._completed,
        }

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states. Some thoughts are printed twice."""
        if get_text(event, "type") == "reasoning" and event == self._last:
            return ()
        self._last = event
        return super().feed(event)

    def _system(self, event: dict[str, Any]) -> Iterator[Event]:
        if get_text(event, "subtype") != "init":
            yield Unknown(f"system/{get_text(event, 'subtype')}")
            return
        session, model = get_text(event, "session_id"), get_text(event, "model")
        yield SessionStarted(session, model, get_text(event, "cwd"))

    def _message(self, event: dict[str, Any]) -> Iterator[Event]:
        text = get_text(event, "text")
        if get_text(event, "role") == "assistant":
            yield from self._start_turn(event, "id")
            yield Message(text, self._turn)
        else:
            yield Prompt(text)

    def _reasoning(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._start_turn(event, "id")
        yield Thinking(get_text(event, "text"), self._turn)

    def _tool_call(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._start_turn(event, "messageId")
        name = get_text(event, "toolName") or get_text(event, "toolId")
        yield ToolStarted(get_text(event, "id"), name, as_args(event.get("parameters")))

    def _tool_result(self, event: dict[str, Any]) -> Iterator[Event]:
        text = flatten(event.get("value"))
        text = text or get_text(get_dict(event, "error"), "message")
        yield ToolFinished(
            get_text(event, "id"), text, event.get("isError") is not True
        )

    def _failed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read an error: the loop's says what, the program's that it is the end."""
        message = get_text(event, "message")
        if get_text(event, "source") == "agent_loop":
            self._error = message
            yield Notice(message)
        else:
            yield RunFinished(False, self._error or message, "error")

    def _completed(self, event: dict[str, Any]) -> Iterator[Event]:
        figures = get_dict(event, "usage")
        totals = Usage(
            input=get_count(figures, "input_tokens"),
            cached=get_count(figures, "cache_read_input_tokens"),
            cache_written=get_count(figures, "cache_creation_input_tokens"),
            output=get_count(figures, "output_tokens"),
            reasoning=get_count(figures, "thinking_tokens"),
            scope="total",
        )
        turns = get_count(event, "numTurns") or None
        yield RunFinished(True, totals=totals if figures else None, turns=turns)

    def _start_turn(self, event: dict[str, Any], key: str) -> Iterator[Event]:
        turn = get_text(event, key)
        if turn != self._turn:
            self._turn = turn
            yield TurnStarted(turn)


def read_settings(contents: Sequence[bytes]) -> Iterator[Event]:
    """Read what the session's saved settings say of its usage."""
    for data in contents:
        if figures := get_dict(document(data), "tokenUsage"):
            yield usage(figures, _USAGE)
