"""The README's table of agents says what the adapters say, and the recordings show it.

Model, thinking and cost are what `gives` states, which `agent-wrap adapters` prints.

`pytest tests/adapters/test_readme_table.py --update-golden` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from agent_wrap import registry
from agent_wrap.adapter import Adapter
from agent_wrap.events import (
    Event,
    RunFinished,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
    Usage,
)
from agent_wrap.reader import Reader
from agent_wrap.testing import Recording, find_recordings

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
BEGIN = "<!-- agents: from the recordings, by tests/adapters/test_readme_table.py -->\n"
END = "<!-- end of agents -->\n"
KNOWN = registry.known()
NOT_AGENTS = ("dialog", "plain")


@dataclass
class Shown:
    """What the recordings of one agent show."""

    model: bool = False
    thinking: bool = False
    tools: set[str] = field(default_factory=set)
    live: set[str] = field(default_factory=set)
    of_answer: bool = False
    of_run: bool = False
    cost: bool = False
    final: bool = False
    open_tools: set[str] = field(default_factory=set)

    def take(self, release: str, events: Iterator[Event]) -> None:
        """Take the facts of one line; a start and its result in one are not live."""
        started: set[str] = set()
        for event in events:
            if isinstance(event, ToolStarted):
                self.tools.add(release)
                started.add(event.id)
            elif isinstance(event, ToolFinished) and event.id in self.open_tools:
                self.live.add(release)
            elif isinstance(event, Usage):
                self.count(event)
            elif isinstance(event, RunFinished):
                self.final = True
                if event.totals is not None:
                    self.count(event.totals, run=True)
            self.model |= isinstance(event, SessionStarted) and bool(event.model)
            self.thinking |= isinstance(event, Thinking)
        self.open_tools |= started

    def count(self, usage: Usage, *, run: bool = False) -> None:
        """Take what usage tells of tokens and cost."""
        if usage.tokens_in or usage.output:
            self.of_run |= run or usage.scope == "total"
            self.of_answer |= not run and usage.scope == "message"
        self.cost |= usage.cost is not None


def agent_of(recording: Recording) -> str:
    """Give the adapter of a recording, as `test_recordings` does."""
    folder = recording.name.split("/")[0]
    fitting = [name for name in KNOWN if folder.startswith(f"{name}-")]
    return str(recording.meta.get("adapter") or max(fitting, key=len, default=folder))


@cache
def look() -> dict[str, Shown]:
    """Feed every recording, line by line."""
    shown: dict[str, Shown] = {}
    for recording in find_recordings(ROOT / "tests" / "recordings"):
        name = agent_of(recording)
        told = shown.setdefault(name, Shown())
        told.open_tools.clear()
        reader = Reader(KNOWN[name].load()())
        release = recording.name.split("/")[0].rpartition("-")[2]
        told.take(release, reader.start())
        for line in recording.stream.splitlines(keepends=True):
            told.take(release, reader.feed(line))
        told.take(release, reader.close())
    return shown


def yes(value: bool) -> str:
    return "yes" if value else "-"


def stated(adapter: type[Adapter], word: str) -> str:
    """Give what the adapter's own line says of a thing; empty: it is not told."""
    for part in re.split("[,;] ", adapter.gives):
        if word in part.split() and not part.startswith(("no ", "turns ")):
            return part
    return ""


def cell(adapter: type[Adapter], word: str) -> str:
    part = stated(adapter, word)
    if "side file" in part:
        return "side file"
    return "where told" if " where " in part else yes(bool(part))


def row(name: str, adapter: type[Adapter], shown: Shown) -> str:
    side = "side file" if "side_files" in vars(adapter) else ""
    tools = how_tools_come(adapter, shown)
    parts = [
        *(["each answer"] if shown.of_answer else []),
        *(["run"] if shown.of_run else []),
    ]
    tokens = ", ".join(parts or filter(None, [side])) or "-"
    versions = ", ".join(adapter.versions_checked) or "documented"
    model, thinking, cost = (cell(adapter, w) for w in ("model", "thinking", "cost"))
    cells = [f"`{name}`", versions, model, thinking, tools]
    cells += [tokens, cost, yes(adapter.promises_final_event)]
    return f"| {' | '.join(cells)} |\n"


def how_tools_come(adapter: type[Adapter], shown: Shown) -> str:
    if not shown.tools:
        return "-"
    if adapter.tools_late or not shown.live:
        return "when ended"
    late = sorted(shown.tools - shown.live)
    return f"live; when ended in {', '.join(late)}" if late else "live"


def table() -> str:
    """Give the table as Markdown."""
    lines = [
        "| adapter | versions checked | model | thinking | tools | tokens | cost | "
        "final event |\n",
        "|---|---|---|---|---|---|---|---|\n",
    ]
    found = look()
    lines += [row(name, KNOWN[name].load(), found[name]) for name in sorted(found)]
    return "".join(lines)


def test_every_agent_has_recordings() -> None:
    assert set(look()) | set(NOT_AGENTS) >= set(KNOWN)


def test_the_table(update_golden: bool) -> None:
    before, begin, rest = README.read_text().partition(BEGIN)
    written, end, after = rest.partition(END)
    assert begin, f"README.md has no line {BEGIN!r}"
    assert end, f"README.md has no line {END!r}"
    made = f"\n{table()}\n"
    if update_golden:
        README.write_text(before + begin + made + end + after)
        return
    assert written == made, "--update-golden writes it"


@pytest.mark.parametrize("name", sorted(set(KNOWN) - set(NOT_AGENTS)))
def test_what_an_adapter_declares_is_shown(name: str) -> None:
    adapter, shown = KNOWN[name].load(), look()[name]
    if adapter.promises_final_event:
        assert shown.final
    if not shown.live and shown.tools:
        assert not adapter.tools_late, "needs no saying: its recordings show it"


@pytest.mark.parametrize("name", sorted(set(KNOWN) - set(NOT_AGENTS)))
def test_what_an_adapter_says_of_itself_is_shown(name: str) -> None:
    adapter, shown = KNOWN[name].load(), look()[name]
    for word, is_shown in (("model", shown.model), ("thinking", shown.thinking)):
        told = cell(adapter, word)
        assert told == "where told" or (told == "yes") == is_shown, word
    # A scripted model has a price for few agents, so the cost may be told unseen.
    assert not shown.cost or cell(adapter, "cost") == "yes"
    assert ("each answer" in stated(adapter, "tokens")) == shown.of_answer
    assert ("of the run" in stated(adapter, "tokens")) == shown.of_run
