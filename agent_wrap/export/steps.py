"""Entries grouped as the model gave them: what it thought, said, and called at once.

The dialog does not say where an answer of the model ends; a step is thinking, then a
message, then calls, each as far as it is there. Whatever breaks that order begins the
next step, so no two texts are ever joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agent_wrap.entries import Entry
from agent_wrap.export.run import Pair, is_start
from agent_wrap.view.reading import EPOCH, moment

_FIRST = datetime(1, 1, 1, tzinfo=UTC)


@dataclass
class Step:
    """One step of the agent; at least one of its parts is there.

    `given` is when the model had last been given something to go on with, as far as
    that was before the step's first entry; else it is that entry's moment.
    """

    given: str
    thinking: Entry | None = None
    message: Entry | None = None
    calls: list[Pair] = field(default_factory=list)

    @property
    def first(self) -> Entry:
        """The entry it begins with."""
        return self.thinking or self.message or self.calls[0].entry

    @property
    def last(self) -> Entry:
        """The last entry of the model's own: no result."""
        entry = self.calls[-1].entry if self.calls else self.message
        return entry or self.first


def steps(pairs: Iterable[Pair]) -> Iterator[Step | Pair]:
    """Group the agent's entries into steps; give all others as they are."""
    given = ""
    for step in _grouped(pairs):
        if isinstance(step, Step):
            step.given = earlier(given or step.first["ts"], step.first["ts"])
            given = later(given, step.last["ts"])
            for call in step.calls:
                given = later(given, (call.result or call.entry)["ts"])
        else:
            given = later(given, step.entry["ts"])
        yield step


def earlier(first: str, second: str) -> str:
    """Give the earlier one of two moments."""
    return second if later(first, second) == first else first


def later(first: str, second: str) -> str:
    """Give the later one of two moments."""
    started, ended = (moment(ts) or _FIRST for ts in (first, second))
    return first if started > ended else second


def _grouped(pairs: Iterable[Pair]) -> Iterator[Step | Pair]:
    step: Step | None = None
    for pair in pairs:
        kind = pair.entry["type"]
        is_call = is_start(pair.entry)
        if kind not in ("thinking", "message") and not is_call:
            if step:
                yield step
            step = None
            yield pair
            continue
        begins = kind == "thinking" or (
            kind == "message" and step and (step.message or step.calls)
        )
        if step and begins:
            yield step
            step = None
        step = step or Step(EPOCH)
        if kind == "thinking":
            step.thinking = pair.entry
        elif kind == "message":
            step.message = pair.entry
        else:
            step.calls.append(pair)
    if step:
        yield step
