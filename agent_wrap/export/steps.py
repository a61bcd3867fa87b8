"""Entries grouped as the model gave them: what it thought, said, and called at once.

The dialog does not say where an answer of the model ends; a step is thinking, then a
message, then calls, each as far as it is there. Whatever breaks that order begins the
next step, so no two texts are ever joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agent_wrap.entries import Entry
from agent_wrap.export.run import Pair, is_start


@dataclass
class Step:
    """One step of the agent; at least one of its parts is there."""

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
        step = step or Step()
        if kind == "thinking":
            step.thinking = pair.entry
        elif kind == "message":
            step.message = pair.entry
        else:
            step.calls.append(pair)
    if step:
        yield step
