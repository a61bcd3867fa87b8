"""What Qwen Code prints with `-o stream-json`.

One answer of the model comes as several `assistant` lines, each with an id of its own;
only the last of them has the answer's usage. Lines without usage, and answers without
a tool, wait for the next line: it may say that the attempt was thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Retracted,
    RunFinished,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Usage,
)
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap_adapters.qwen_parts import (
    API_ERROR,
    control_request,
    failed_exit,
    split_error,
    usage_in,
)
from agent_wrap_adapters.qwen_pieces import Pieces
from agent_wrap_adapters.qwen_system import System
from agent_wrap_adapters.stream_json import StreamJson

_SETTLES = ("assistant", "user", "result", "control_request")
"""Types of lines after which what was said before them stays."""


class QwenStream(StreamJson):
    """Reads the lines of one process."""

    silent = frozenset({"control_cancel_request", "control_response"})

    def __init__(self) -> None:
        super().__init__()
        self._answer = 1
        self._held: list[Event] = []
        self._attempt = ""
        self._texts: set[str] = set()
        self._thrown_away: set[str] = set()
        self._pieces = Pieces()
        self._error = ""
        self._turns = 0
        self._system = System()
        self.types |= {
            "system": self._system_line,
            "stream_event": self._stream_event,
            "result": self._result,
            "control_request": control_request,
        }

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states, after those that waited for it."""
        if event.get("type") in _SETTLES:
            if self._held:  # the answer's last part has its usage: a message goes by it
                yield from self._usage_ahead(event)
            yield from self.pause()
            if self._attempt != self._id:  # an answer that was whole, and stays
                self._texts, self._attempt = set(), ""
        yield from super().feed(event)

    def _usage_ahead(self, event: dict[str, Any]) -> Iterator[Event]:
        mine = event.get("type") == "assistant" and not event.get("parent_tool_use_id")
        usage = usage_in(get_dict(event, "message"), self._id) if mine else None
        if usage is not None:
            yield usage

    def pause(self) -> Iterator[Event]:
        """Give what waited: nothing has said that it was thrown away."""
        held, self._held = self._held, []
        self._texts |= {fact.text for fact in held if isinstance(fact, Message)}
        return iter(held)

    def close(self) -> Iterator[Event]:
        """Give what was still being said when the stream ended."""
        yield from self.pause()
        yield from self._pieces.facts(self._id)

    @property
    def _id(self) -> str:
        return f"answer-{self._answer}"

    def _next_answer(self) -> None:
        self._answer += 1
        self._texts = set()

    def assistant(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a part of an answer; an error of the API is printed as one, too."""
        if get_text(event, "parent_tool_use_id"):
            yield from super().assistant(event)
            return
        self._pieces.clear()
        message = {**get_dict(event, "message"), "id": self._id}
        used = usage_in(message) is not None
        message, self._error = split_error(message, whole=used)
        facts = [
            fact
            for fact in super().assistant({**event, "message": message})
            if not (isinstance(fact, Message) and fact.text in self._thrown_away)
        ]
        if self._error:  # a call that failed is no turn
            self._next_answer()
            yield from (fact for fact in facts if not isinstance(fact, TurnStarted))
            yield Notice(self._error)
        elif not used:
            self._held, self._attempt = facts, self._id
        else:
            self._thrown_away, self._attempt = set(), ""
            final = not any(isinstance(fact, ToolStarted) for fact in facts)
            if final:  # it may still be too short for the agent
                self._held, self._attempt = facts, self._id
                facts = [fact for fact in facts if isinstance(fact, Usage)]
            self._next_answer()
            yield from facts

    def usage(self, message: dict[str, Any], message_id: str) -> Iterator[Event]:
        """Read the usage of a whole answer."""
        if (usage := usage_in(message, message_id)) is not None:
            yield usage

    def user(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read tool results; an answer without usage ends here."""
        if not get_text(event, "parent_tool_use_id"):
            self._attempt = ""
            if self._turn == self._id:
                self._next_answer()
        for fact in super().user(event):
            if isinstance(fact, ToolFinished) and failed_exit(fact.output):
                fact = replace(fact, ok=False)
            yield fact

    def _system_line(self, event: dict[str, Any]) -> Iterator[Event]:
        if get_text(event, "subtype") != "retry":
            yield from self._system.read(event)
            return
        data = get_dict(event, "data")
        if data.get("preserveText") is True:
            yield from self.pause()
        else:
            yield from self._throw_away(data)
        yield Notice("the model is asked again")

    def _throw_away(self, data: dict[str, Any]) -> Iterator[Event]:
        """Forget the attempt; what is written of it cannot be taken back."""
        begun = self._turn == self._attempt
        written = begun and not any(isinstance(f, TurnStarted) for f in self._held)
        if written or get_count(data, "discardedToolCalls"):
            yield Retracted((self._turn,))
            self._thrown_away = self._texts
        self._held, self._attempt = [], ""
        self._pieces.clear()
        self._next_answer()

    def _result(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read the end; older versions call failures of the API a success."""
        subtype, text = get_text(event, "subtype"), get_text(event, "result")
        failure = get_text(get_dict(event, "error"), "message") or self._error
        if not failure and text.startswith(API_ERROR):
            failure = text
        ok = subtype == "success" and not event.get("is_error") and not failure
        self._turns += get_count(event, "num_turns")
        usage = usage_in(event)
        yield from self._system.close()
        yield RunFinished(
            ok,
            "" if ok else failure or text or subtype,
            reason=subtype,
            totals=None if usage is None else replace(usage, scope="total"),
            turns=self._turns or None,
        )

    def _stream_event(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a piece of a message that will come whole."""
        if not get_text(event, "parent_tool_use_id"):
            yield from self._pieces.read(get_dict(event, "event"), self._id)
