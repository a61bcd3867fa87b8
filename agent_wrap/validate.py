"""The dialog protocol as a checker: a file's bytes in, its breaches out.

Pure, and complete: nothing stops at the first breach, and a line that cannot be read
does not hide what is wrong with the others. The rules stand in `agent_wrap.rules`;
this module alone owns how they are put together, and how many breaches are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent_wrap.rules.clauses import MAX_BYTES, MAX_ENTRIES, RULES, WARNINGS
from agent_wrap.rules.fields import check_entry, is_count
from agent_wrap.rules.lines import read_line
from agent_wrap.rules.order import ORDER_RULES, Breach, Line

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "MOST", "RULES", "Problem", "check"]

MOST = 10_000
"""Problems that are listed of one rule; more are counted (a file of garbage)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One breach: `line` counts from 1, 0 is the file; `rule` is a key of `RULES`."""

    line: int
    rule: str
    what: str
    warning: bool = False


def check(data: bytes) -> list[Problem]:
    """Give every breach of the protocol in a dialog file, in the order of its lines."""
    entries: list[Line] = []
    breaches = list(_lines(data, entries))
    for rule in ORDER_RULES:
        breaches.extend(rule(entries))
    breaches.sort(key=lambda breach: breach[0])
    return list(_problems(breaches))


def _problems(breaches: Iterable[Breach]) -> Iterator[Problem]:
    seen: Counter[str] = Counter()
    for line, rule, what in breaches:
        seen[rule] += 1
        if seen[rule] <= MOST:
            yield Problem(line, rule, what, rule in WARNINGS)
    for rule, count in seen.items():
        if count > MOST:
            more = f"and {count - MOST} more like these"
            yield Problem(0, rule, more, rule in WARNINGS)


def _lines(data: bytes, entries: list[Line]) -> Iterator[Breach]:
    """Check each line by itself; what could be read goes into `entries`."""
    if len(data) > MAX_BYTES:
        yield 0, "size-bytes", f"{len(data)} bytes, more than {MAX_BYTES}"
    lines = data.split(b"\n")
    if lines[-1]:
        yield len(lines), "final-newline", "the last line has no line feed: it is torn"
    else:
        lines.pop()
    count = len(lines) - sum(map(_is_blank, lines))
    if count > MAX_ENTRIES:
        yield 0, "size-entries", f"{count} entries, more than {MAX_ENTRIES}"
    due, unread = 0, 0  # the next seq, and lines that may or may not have had one
    for number, line in enumerate(lines, 1):
        if _is_blank(line):
            yield number, "blank-line", "a blank line"
            continue
        entry, breaches = read_line(line)
        for rule, what in breaches:
            yield number, rule, what
        if entry is None:
            unread += 1
            continue
        entries.append((number, entry))
        for rule, what in check_entry(entry, range(due, due + unread + 1)):
            yield number, rule, what
        seq = entry.get("seq")
        if isinstance(seq, int) and is_count(seq):
            due, unread = seq + 1, 0
        else:
            unread += 1


def _is_blank(line: bytes) -> bool:
    return not line or line.isspace()
