"""What every export starts from: one run, its entries as often as they are needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent_wrap.entries import Entry
from agent_wrap.view import words
from agent_wrap.view.facts import facts_of


@dataclass(frozen=True)
class Run:
    """A dialog and its summary (empty where there is none); `row` is its facts'.

    `name` is that of the place where it lies, for titles (empty: not known).
    `elapsed` is the seconds from its first entry to its last.
    """

    read: Callable[[], Iterator[Entry]]
    summary: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    row: dict[str, Any] = field(init=False)
    elapsed: float = field(init=False)

    def __post_init__(self) -> None:
        facts = facts_of(self.read())
        object.__setattr__(self, "row", facts.row(self.summary, "unfinished"))
        object.__setattr__(self, "elapsed", facts.elapsed)

    @property
    def title(self) -> str:
        """What a page of it is called: its task, its name, its agent."""
        named = self.row["task"], self.name, self.row["agent"]
        return next(filter(None, map(words.known, named)), "run")

    def paired(self) -> Iterator[Pair]:
        """Give the entries, each tool start with its result."""
        return paired(self.read())


class Pair(NamedTuple):
    """An entry; of a tool start also its result, None while there is none.

    A result that was never started stands alone, as the entry.
    """

    entry: Entry
    result: Entry | None = None


def paired(entries: Iterable[Entry]) -> Iterator[Pair]:
    """Join tool starts with their results, in the order of the starts.

    Entries wait only while a tool before them is open.
    """
    waiting: deque[list[Entry | None]] = deque()
    started: dict[str, list[Entry | None]] = {}
    for entry in entries:
        slot = started.pop(entry["tool_id"], None) if is_result(entry) else None
        if slot is not None:
            slot[1] = entry
        else:
            waiting.append([entry, None])
            if is_start(entry):
                started[entry["tool_id"]] = waiting[-1]
        while waiting and not _is_open(waiting[0], started):
            yield _pair(waiting.popleft())
    for slot in waiting:
        yield _pair(slot)


def _is_open(slot: list[Entry | None], started: dict[str, list[Entry | None]]) -> bool:
    entry = slot[0]
    return (
        entry is not None and is_start(entry) and started.get(entry["tool_id"]) is slot
    )


def _pair(slot: list[Entry | None]) -> Pair:
    entry, result = slot
    assert entry is not None
    return Pair(entry, result)


def is_start(entry: Entry) -> bool:
    """Is this the first entry of a tool's pair?"""
    return bool(entry["type"] == "tool" and entry["status"] == "running")


def is_result(entry: Entry) -> bool:
    """Is this the second entry of a tool's pair?"""
    return bool(entry["type"] == "tool" and entry["status"] != "running")
