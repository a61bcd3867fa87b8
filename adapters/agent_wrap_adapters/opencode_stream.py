"""What OpenCode prints with `run --format json`: a line for each finished part.

A part that is short may come before one that began earlier, and an answer's tokens
come last. So the parts of an answer are held until it ends, or nothing comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    SessionStarted,
    Thinking,
    TodoUpdated,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Usage,
)
from agent_wrap.shapes import as_args, get_count, get_dict, get_number, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType
from agent_wrap_adapters.stream_json import todo_items

_GOES_ON = ("tool-calls", "unknown")
_GOOD_ENDS = ("stop", "length")
_REJECTED = "The user rejected permission"
_COMPACTS = "ContextOverflowError"  # the conversation is made shorter, the run goes on


class OpenCodeStream(ByType):
    """Reads the lines; an answer goes from `step_start` to `step_finish`."""

    def __init__(self) -> None:
        super().__init__()
        self._session = ""
        self._answer, self._begun = 1, False
        self._held: list[tuple[float, list[Event]]] = []
        self._texts: set[str] = set()
        self._cut_off: set[str] = set()
        self.types = {
            "step_start": lambda event: self._next_answer(),
            "step_finish": self._step_finish,
            "error": self._error,
        }

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        kind, part = get_text(event, "type"), get_dict(event, "part")
        if not self._session:
            self._session = get_text(event, "sessionID") or "unknown"
            yield SessionStarted(get_text(event, "sessionID"))
        if kind == "text":
            self._hold(part, [Message(get_text(part, "text"), self._id)])
        elif kind == "reasoning":
            self._hold(part, [Thinking(get_text(part, "text"), self._id)])
        elif kind == "tool_use":
            self._held.append((_start(get_dict(part, "state")), list(_tool(part))))
        else:
            yield from super().feed(event)

    def pause(self) -> Iterator[Event]:
        """Give the parts of the answer so far: its end may be far."""
        return self.flush()

    def close(self) -> Iterator[Event]:
        """Give the parts of an answer that has no end."""
        return self.flush()

    def flush(self, *, failed: bool = False) -> Iterator[Event]:
        """Give the parts held so far; an answer that failed is no turn."""
        parts = [event for _, held in self._held for event in held]
        self._held.clear()
        for event in parts:
            if isinstance(event, Message | Thinking):
                if not event.text.strip() or event.text in self._cut_off:
                    continue
                self._texts.add(event.text)
            if not self._begun and not failed:
                self._begun = True
                yield TurnStarted(self._id)
            yield event

    @property
    def _id(self) -> str:
        # Not the message's own: one message can have several answers.
        return f"answer-{self._answer}"

    def _hold(self, part: dict[str, Any], events: list[Event]) -> None:
        """Hold what was said, before the tools that it came before."""
        start = _start(part)
        later = (at for at, (begun, _) in enumerate(self._held) if begun > start)
        at = next(later, len(self._held)) if start else len(self._held)
        self._held.insert(at, (start, events))

    def _next_answer(self) -> Iterator[Event]:
        yield from self.flush()
        self._answer, self._begun = self._answer + 1, False
        self._texts = set()

    def _step_finish(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read how an answer ended; only `stop` and `length` end a run well."""
        part = get_dict(event, "part")
        reason = get_text(part, "reason")
        usage = _usage(part, self._id)
        # The stream broke off: the model is asked again, and often says the same.
        failed = reason == "unknown" and not (usage.tokens_in or usage.output)
        if not failed:
            yield usage
        yield from self.flush(failed=failed)
        self._cut_off = self._cut_off | self._texts if failed else set()
        yield from self._next_answer()
        if failed:
            yield Notice("the model's answer was cut off; it is asked again")
        if reason not in _GOES_ON:
            ok = reason in _GOOD_ENDS
            said = "" if ok else f"the last answer ended with: {reason or 'no reason'}"
            yield RunFinished(ok, said, reason)

    def _error(self, event: dict[str, Any]) -> Iterator[Event]:
        error = get_dict(event, "error")
        name = get_text(error, "name")
        said = get_text(get_dict(error, "data"), "message") or name
        yield from self.flush(failed=True)
        if name == _COMPACTS:
            yield Notice(said)
        else:
            yield RunFinished(False, said, name)


def _tool(part: dict[str, Any]) -> Iterator[Event]:
    """Read a tool that has ended. A call that fits no tool is one named `invalid`."""
    tool_id = get_text(part, "callID") or get_text(part, "id")
    name, state = get_text(part, "tool"), get_dict(part, "state")
    args = as_args(state.get("input"))
    yield ToolStarted(tool_id, name, args)
    if args and name == "todowrite":
        yield TodoUpdated(todo_items(args))
    failed = bool(get_count(get_dict(state, "metadata"), "exit")) or name == "invalid"
    ok = get_text(state, "status") == "completed" and not failed
    error = get_text(state, "error")
    yield ToolFinished(tool_id, error or flatten(state.get("output")), ok)
    if error.startswith(_REJECTED):  # the run stops here, and says nothing more
        yield Notice(error)


def _start(timed: dict[str, Any]) -> float:
    return get_number(get_dict(timed, "time"), "start") or 0.0


def _usage(part: dict[str, Any], message_id: str) -> Usage:
    """Read an answer's tokens: cached ones and reasoning stand apart."""
    tokens = get_dict(part, "tokens")
    cache, thought = get_dict(tokens, "cache"), get_count(tokens, "reasoning")
    return Usage(
        input=get_count(tokens, "input"),
        cached=get_count(cache, "read"),
        cache_written=get_count(cache, "write"),
        output=get_count(tokens, "output") + thought,
        reasoning=thought,
        cost=get_number(part, "cost"),
        message_id=message_id,
    )
