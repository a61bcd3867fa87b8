"""A timeline on standard output: with rich where it is installed, else plain."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agent_wrap.entries import Entry
from agent_wrap.view import words
from agent_wrap.view.facts import Facts
from agent_wrap.view.plain import lines_of, safe_line
from agent_wrap.view.reading import seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH_OF_A_PIPE = 120
BATCH = 100


def has_rich() -> bool:
    """Is the `view` extra installed?"""
    return find_spec("rich") is not None


def console() -> Console:
    """Give rich's console for standard output; nothing is read as markup."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            raise  # the error at hand: for `cli`, which knows its code

    width = None if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    return Ours(
        file=sys.stdout, width=width, highlight=False, markup=False, emoji=False
    )


def plain(entries: Iterable[Entry | None], facts: Facts) -> None:
    """Print entries as plain text."""
    for entry in entries:
        if entry is not None:
            facts.feed(entry)
            for line in lines_of(entry):
                print(line)
        else:
            sys.stdout.flush()


def pretty(
    entries: Iterable[Entry | None],
    facts: Facts,
    summary: Callable[[], dict[str, Any]],
    *,
    full: bool,
    live: bool,
) -> None:
    """Print entries with rich; `live` keeps a line at the bottom that says how far."""
    from rich.console import Group

    from agent_wrap.view.timeline import Timeline

    screen, timeline = console(), Timeline(summary, full=full)
    if not (live and screen.is_terminal):
        for batch in _batches(entries):
            for found in batch:
                facts.feed(found)
            screen.print(Group(*map(timeline.block, batch)))
        return
    from rich.live import Live

    with Live(console=screen, auto_refresh=False, transient=True) as footer:
        for number, entry in enumerate(entries):
            if entry is not None:
                facts.feed(entry)
                screen.print(timeline.block(entry))
            footer.update(_footer(facts, number), refresh=entry is None)


def _batches(entries: Iterable[Entry | None]) -> Iterator[list[Entry]]:
    """Give entries in lists, at each beat what there is: one print is dear."""
    batch: list[Entry] = []
    for entry in entries:
        if entry is not None:
            batch.append(entry)
        if batch and (entry is None or len(batch) == BATCH):
            yield batch
            batch = []
    if batch:
        yield batch


def _footer(facts: Facts, beat: int) -> Text:
    from rich.text import Text

    line = Text("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[beat % 10] + " ", style="bold blue")
    line.append(running(facts, time.time()), style="reverse")
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def running(facts: Facts, now: float) -> str:
    """Say in one line how far a run is."""
    began = seconds(facts.started_at) if facts.started_at else now
    parts = [
        words.duration(max(0.0, now - began)),
        words.count(facts.messages, "message"),
        words.count(facts.tools, "tool"),
        words.tokens(facts.tokens_in, facts.tokens_out, words.short),
    ]
    for entry in list(facts.open.values())[:3]:
        took = words.duration(max(0.0, now - seconds(entry["ts"])))
        parts.append(f"{safe_line(entry['name'])[:40]} for {took}")
    return f" {words.known(*parts)} "


def ending(facts: Facts, held: bool | None) -> str:
    """Say what a dialog without its end is; empty: it has one."""
    if facts.complete is not None:
        return ""
    if held:
        return "… still running (--follow shows it live)"
    return "… unfinished: no complete entry (agent-wrap repair ARCHIVE finishes it)"
