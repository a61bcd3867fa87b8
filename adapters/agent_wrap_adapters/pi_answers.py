"""Pi's answers: `message_start`, its pieces, and `message_end`, which has it whole."""

from __future__ import annotations

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
    TurnStarted,
    Usage,
)
from agent_wrap.shapes import get_count, get_dict, get_dicts, get_number, get_text
from agent_wrap_adapters.content import flatten

_GOOD_ENDS = ("stop", "toolUse")
_CAUSES = {"length": "the answer was cut at the model's length limit"}


class Answers:
    """Reads the messages of one process.

    `end` is how the run ends should no other answer come: the last one decides.
    `failed` is what an answer said whose API call failed: it may be thrown away.
    """

    def __init__(self) -> None:
        self.end = RunFinished(False, "the agent ended without an answer")
        self.failed: list[Event] = []
        self._count, self._model = 0, ""
        self._texts: dict[int, list[str]] = {}
        self._thoughts: dict[int, list[str]] = {}

    @property
    def _id(self) -> str:
        return f"answer-{self._count}"

    def release(self) -> Iterator[Event]:
        """Give the text of a failed answer that is not asked for again."""
        held, self.failed = self.failed, []
        return iter(held)

    def close(self) -> Iterator[Event]:
        """Give what was still being said when the stream ended."""
        yield from self.release()
        if self._thoughts or self._texts:
            yield TurnStarted(self._id)
        for thought in self._thoughts.values():
            yield Thinking("".join(thought), self._id)
        for text in self._texts.values():
            yield Message("".join(text), self._id)

    def started(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read `message_start`; the first answer names the model."""
        message = get_dict(event, "message")
        if get_text(message, "role") == "assistant":
            yield from self.release()
            self._count += 1
            if not self._model and (model := get_text(message, "model")):
                self._model = model
                yield SessionStarted(model=model)

    def updated(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a piece of an answer."""
        piece = get_dict(event, "assistantMessageEvent")
        kind, text = get_text(piece, "type"), get_text(piece, "delta")
        at = get_count(piece, "contentIndex")
        if kind == "text_delta" and text:
            self._texts.setdefault(at, []).append(text)
            yield TextDelta(text, self._id)
        elif kind == "thinking_delta" and text:
            self._thoughts.setdefault(at, []).append(text)
            yield ThinkingDelta(text, self._id)

    def ended(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a whole message; results of tools have been read before."""
        message = get_dict(event, "message")
        role = get_text(message, "role")
        if role == "user":
            yield Prompt(flatten(message.get("content")))
        elif role == "assistant":
            self._texts.clear()
            self._thoughts.clear()
            yield from self._whole(message)

    def _whole(self, message: dict[str, Any]) -> Iterator[Event]:
        reason = get_text(message, "stopReason")
        self.end = _end_of(reason, get_text(message, "errorMessage"))
        usage = usage_of(get_dict(message, "usage"), self._id)
        if usage.tokens_in or usage.output:
            yield usage
        content = get_dicts(message, "content")
        facts = [fact for block in content for fact in _block(block, self._id)]
        if reason == "error":
            self.failed = facts
        elif facts or any(block.get("type") == "toolCall" for block in content):
            yield TurnStarted(self._id)
            yield from facts


def _end_of(reason: str, error: str) -> RunFinished:
    if reason in _GOOD_ENDS:
        return RunFinished(True, reason=reason)
    cause = f"the last answer ended with: {reason or 'no reason'}"
    return RunFinished(False, error or _CAUSES.get(reason, cause), reason)


def _block(block: dict[str, Any], message_id: str) -> Iterator[Event]:
    """Read a block of an answer; a tool is told when it is started."""
    text, thought = get_text(block, "text"), get_text(block, "thinking")
    kind, hidden = block.get("type"), block.get("redacted") is True
    if kind == "text" and text.strip():
        yield Message(text, message_id)
    elif kind == "thinking" and thought.strip() and not hidden:
        yield Thinking(thought, message_id)


def usage_of(figures: dict[str, Any], message_id: str) -> Usage:
    """Read the tokens of one answer: `input` is the uncached rest."""
    return Usage(
        input=get_count(figures, "input"),
        cached=get_count(figures, "cacheRead"),
        cache_written=get_count(figures, "cacheWrite"),
        output=get_count(figures, "output"),
        reasoning=get_count(figures, "reasoning"),
        cost=get_number(get_dict(figures, "cost"), "total"),
        message_id=message_id,
    )
