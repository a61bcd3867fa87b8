"""Turns, tokens and cost: the rules by which they are counted.

- A turn is a distinct answer of the model in the main conversation.
- Usage counts once per message, its last value wins.
- The agent's own total wins over the sum of its messages where it is not zero;
  messages that came after that total are added to it (a run that was killed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent_wrap.events import Event, Retracted, RunFinished, TurnStarted, Usage
from agent_wrap.newest import Newest
from agent_wrap.values import value

REMEMBERED = 4096
"""Message ids whose figures may still be corrected; memory stays flat."""


@value
class Tokens:
    """Tokens and cost of a run, in parts. Reasoning is a part of the output."""

    input: int = 0
    cached: int = 0
    cache_written: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def total_in(self) -> int:
        """Everything the model read."""
        return self.input + self.cached + self.cache_written

    @classmethod
    def of(cls, usage: Usage) -> Tokens:
        """Take the figures of one usage event."""
        return cls(
            usage.input,
            usage.cached,
            usage.cache_written,
            usage.output,
            usage.reasoning,
            usage.cost,
        )

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
            self.output + other.output,
            self.reasoning + other.reasoning,
            None
            if self.cost is None and other.cost is None
            else (self.cost or 0.0) + (other.cost or 0.0),
        )

    def __bool__(self) -> bool:
        return bool(self.total_in or self.output)


class _Sum:
    """A running sum of usages, of which one may be corrected later."""

    __slots__ = ("cost", "figures")

    def __init__(self) -> None:
        self.figures = [0, 0, 0, 0, 0]
        self.cost: float | None = None

    def add(self, usage: Usage, old: Usage | None) -> None:
        """Add a usage, in place of what was added for its message before."""
        figures = self.figures
        figures[0] += usage.input
        figures[1] += usage.cached
        figures[2] += usage.cache_written
        figures[3] += usage.output
        figures[4] += usage.reasoning
        if usage.cost is not None:
            self.cost = (self.cost or 0.0) + usage.cost
        if old is not None:
            self._take_off(old)

    def _take_off(self, old: Usage) -> None:
        figures = self.figures
        figures[0] -= old.input
        figures[1] -= old.cached
        figures[2] -= old.cache_written
        figures[3] -= old.output
        figures[4] -= old.reasoning
        if old.cost is not None:
            self.cost = (self.cost or 0.0) - old.cost

    def tokens(self) -> Tokens:
        read, cached, cache_written, written, reasoning = self.figures
        return Tokens(read, cached, cache_written, written, reasoning, self.cost)


class Account:
    """What a run has used so far. Feed it every event."""

    def __init__(self) -> None:
        self.turns = 0
        self.reported: Tokens | None = None
        """The agent's own last total."""
        self.reported_turns: int | None = None
        self._turn_ids: Newest[str, None] = Newest(REMEMBERED)
        self._usages: Newest[str, Usage] = Newest(REMEMBERED)
        self._total: Tokens | None = None
        self._messages = _Sum()
        self._since_total: _Sum | None = None
        """What came after the agent's own total; None while there is none."""
        self._in_total: set[str] = set()
        self._total_cost: float | None = None
        self.handlers: dict[type[Event], Callable[[Any], None]] = {
            Usage: self._count,
            TurnStarted: self._turn,
            RunFinished: self._finished,
            Retracted: self._retracted,
        }

    def apply(self, event: Event) -> None:
        """Take one event into account; most say nothing about usage."""
        handler = self.handlers.get(type(event))
        if handler is not None:
            handler(event)

    def usage_of(self, message_id: str) -> Usage | None:
        """Give what is known of one message."""
        return self._usages.get(message_id)

    @property
    def all_final(self) -> bool:
        """Are the messages' figures the agent's last word?"""
        return all(usage.final for usage in self._usages.values())

    @property
    def messages(self) -> Tokens:
        """The sum over all messages, each counted once."""
        return self._messages.tokens()

    @property
    def tokens(self) -> Tokens:
        """What the run used, by the rules above; its cost likewise, for itself."""
        messages, since = self._messages.tokens(), self._since_total
        if since is None:
            return messages
        after = since.tokens()
        used = messages if self._total is None else self._total + after
        if self._total_cost is None:
            return replace(used, cost=messages.cost)
        return replace(used, cost=self._total_cost + (after.cost or 0.0))

    @property
    def tokens_in_out(self) -> tuple[int, int]:
        """What was read and written so far, cheap enough to be asked all the time."""
        if self._since_total is None:
            read, cached, cache_written, output, _ = self._messages.figures
            return read + cached + cache_written, output
        used = self.tokens
        return used.total_in, used.output

    def _finished(self, event: RunFinished) -> None:
        if event.totals is not None:
            self._report(event.totals)
        if event.turns is not None:
            self.reported_turns = event.turns

    def _retracted(self, event: Retracted) -> None:
        for message_id in event.message_ids:
            if message_id in self._turn_ids:
                del self._turn_ids[message_id]
                self.turns -= 1

    def _turn(self, event: TurnStarted) -> None:
        if event.id in self._turn_ids:
            return
        self._turn_ids.add(event.id, None)
        self.turns += 1

    def _count(self, usage: Usage) -> None:
        if usage.scope == "total":
            self._report(usage)
            return
        message_id = usage.message_id
        old = self._usages.get(message_id)
        if old is not None and old == usage:  # repeated with each block of an answer
            return
        self._usages.add(message_id, usage)
        self._messages.add(usage, old)
        if self._since_total is not None and message_id not in self._in_total:
            self._since_total.add(usage, old)

    def _report(self, usage: Usage) -> None:
        self.reported = Tokens.of(usage)
        if self.reported:
            self._total = self.reported
        if self.reported or usage.cost is not None:
            self._total_cost = usage.cost
            self._since_total = _Sum()
            self._in_total = set(self._usages)
