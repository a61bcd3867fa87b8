"""What Gemini CLI prints with `-o stream-json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    RunFinished,
    SessionStarted,
    TodoUpdated,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Usage,
)
from agent_wrap.fragments import Fragments
from agent_wrap.shapes import as_args, get_count, get_dict, get_dicts, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType
from agent_wrap_adapters.stream_json import todo_items


class GeminiStream(ByType):
    """Reads the lines; fragments of one answer are joined to one message.

    API calls are not shown: an answer is what stands between two tool results.
    """

    def __init__(self) -> None:
        super().__init__()
        self._fragments = Fragments()
        self._turn, self._begun = 1, False
        self._said = ""
        self.types = {
            "init": _init,
            "message": self._message,
            "tool_use": self._tool_use,
            "tool_result": self._tool_result,
            "error": self._error,
            "result": self._result,
        }

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states; all but a fragment end a message."""
        kind, role = get_text(event, "type"), get_text(event, "role")
        if kind == "message" and role == "assistant" and event.get("delta") is True:
            yield from self._fragments.say(get_text(event, "content"), self._turn_id)
            return
        if kind in self.types:
            yield from self.close()
        yield from super().feed(event)

    def close(self) -> Iterator[Event]:
        """Give the message whose fragments came so far."""
        for message in self._fragments.whole():
            yield from self._begin()
            yield message

    @property
    def _turn_id(self) -> str:
        return f"turn-{self._turn}"

    def _begin(self) -> Iterator[Event]:
        if not self._begun:
            self._begun = True
            yield TurnStarted(self._turn_id)

    def _message(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read the prompt's echo, or a message that comes whole."""
        text = get_text(event, "content")
        if get_text(event, "role") == "user":
            yield Prompt(text)
        elif text.strip():
            yield from self._begin()
            yield Message(text, self._turn_id)

    def _tool_use(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._begin()
        name, args = get_text(event, "tool_name"), as_args(event.get("parameters"))
        yield ToolStarted(get_text(event, "tool_id"), name, args)
        if args and name == "write_todos":
            todos = get_dicts(args, "todos")
            plan = [{**todo, "content": todo.get("description")} for todo in todos]
            yield TodoUpdated(todo_items({"todos": plan}))

    def _tool_result(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a result; several tools say nothing when they succeed."""
        if self._begun:
            self._turn, self._begun = self._turn + 1, False
        output = flatten(event.get("output"))
        output = output or get_text(get_dict(event, "error"), "message")
        ok = get_text(event, "status") == "success"
        yield ToolFinished(get_text(event, "tool_id"), output, ok)

    def _error(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a warning (a loop was found), or the cause of an error to come."""
        self._said = get_text(event, "message")
        yield Notice(self._said)

    def _result(self, event: dict[str, Any]) -> Iterator[Event]:
        ok = get_text(event, "status") == "success"
        error = get_dict(event, "error")
        yield RunFinished(
            ok,
            "" if ok else get_text(error, "message") or self._said,
            reason=get_text(error, "type"),
            totals=totals(get_dict(event, "stats")),
        )


def _init(event: dict[str, Any]) -> Iterator[Event]:
    yield SessionStarted(get_text(event, "session_id"), get_text(event, "model"))


def totals(stats: dict[str, Any]) -> Usage:
    """Read the run's tokens: `output_tokens` is without the thoughts."""
    read, cached = get_count(stats, "input_tokens"), get_count(stats, "cached")
    wrote, total = get_count(stats, "output_tokens"), get_count(stats, "total_tokens")
    thoughts = max(total - read - wrote, 0)
    return Usage(
        input=max(read - cached, 0),
        cached=cached,
        output=wrote + thoughts,
        reasoning=thoughts,
        scope="total",
    )
