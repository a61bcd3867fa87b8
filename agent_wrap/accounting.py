"""Turns, tokens and cost: the rules by which they are counted.

- A turn is a distinct answer of the model in the main conversation.
- Usage counts once per message, its last value wins.
- The agent's own total wins over the sum of its messages where it is not zero;
  messages that came after that total are added to it (a run that was killed).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_wrap.events import Event, Retracted, RunFinished, TurnStarted, Usage

REMEMBERED = 4096
"""Message ids kept apart; older ones are folded into a sum, so memory stays flat."""


@dataclass(frozen=True, slots=True)
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
        costs = [c for c in (self.cost, other.cost) if c is not None]
        return Tokens(
            self.input + other.input,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
            self.output + other.output,
            self.reasoning + other.reasoning,
            sum(costs) if costs else None,
        )

    def __bool__(self) -> bool:
        return bool(self.total_in or self.output)


class Account:
    """What a run has used so far. Feed it every event."""

    def __init__(self) -> None:
        self.turns = 0
        self.reported: Tokens | None = None
        self.reported_turns: int | None = None
        self._turn_ids: dict[str, None] = {}
        self._usages: dict[str, Usage] = {}
        self._folded = Tokens()
        self._total: Tokens | None = None
        self._before_total: set[str] = set()

    def apply(self, event: Event) -> None:
        """Take one event into account; most say nothing about usage."""
        if isinstance(event, Usage):
            if event.scope == "total":
                self._report(event)
            else:
                self._count(event)
        elif isinstance(event, TurnStarted):
            self._turn(event.id)
        elif isinstance(event, RunFinished):
            if event.totals is not None:
                self._report(event.totals)
            if event.turns is not None:
                self.reported_turns = event.turns
        elif isinstance(event, Retracted):
            for message_id in event.message_ids:
                if message_id in self._turn_ids:
                    del self._turn_ids[message_id]
                    self.turns -= 1

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
        return sum(map(Tokens.of, self._usages.values()), self._folded)

    @property
    def tokens(self) -> Tokens:
        """What the run used, by the rules above."""
        if self._total is None:
            used = self.messages
            if used.cost is None and self.reported is not None:
                return replace(used, cost=self.reported.cost)  # a cost without tokens
            return used
        later = (u for key, u in self._usages.items() if key not in self._before_total)
        used = sum(map(Tokens.of, later), self._total)
        if self._total.cost is not None:
            return used
        return replace(used, cost=self.messages.cost)

    def _turn(self, turn_id: str) -> None:
        if turn_id in self._turn_ids:
            return
        self._turn_ids[turn_id] = None
        self.turns += 1
        if len(self._turn_ids) > REMEMBERED:
            del self._turn_ids[next(iter(self._turn_ids))]

    def _count(self, usage: Usage) -> None:
        self._usages[usage.message_id] = usage
        if len(self._usages) > REMEMBERED:
            oldest = next(iter(self._usages))
            folded = Tokens.of(self._usages.pop(oldest))
            self._folded += folded
            if oldest in self._before_total:
                self._before_total.discard(oldest)
            elif self._total is not None:
                if self._total.cost is None:  # then the messages' own sum is given
                    folded = replace(folded, cost=None)
                self._total += folded

    def _report(self, usage: Usage) -> None:
        self.reported = Tokens.of(usage)
        if self.reported:
            self._total = self.reported
            self._before_total = set(self._usages)
