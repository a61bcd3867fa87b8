"""A folder of runs as a table: rows chosen, sorted, and laid out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from agent_wrap.entries import UNKNOWN
from agent_wrap.errors import UsageError
from agent_wrap.view import words
from agent_wrap.view.facts import KEYS
from agent_wrap.view.plain import safe_line

if TYPE_CHECKING:
    from rich.table import Table

Row = dict[str, Any]
COLUMNS = (
    *("run", "task", "model", "agent", "status", "turns", "tokens", "cost"),
    *("time", "exit"),
)
GIVES_WAY = ("model", "agent", "task", "cost", "exit", "tokens", "turns")
"""Which columns a narrow terminal loses, the first one first."""
MOST_RUN = 12
WIDEST = 40
"""Characters of a plain cell."""
RIGHT = frozenset({"turns", "tokens", "cost", "time", "exit"})
ALIASES = {
    "tokens": "tokens_in",
    "cost": "cost_usd",
    "time": "duration_ms",
    "exit": "exit_code",
    "start": "started_at",
}
STYLES = {"success": "green", "running": "blue"}


def key_of(name: str) -> str:
    """Give the row's key for the name of a key or column."""
    key = ALIASES.get(name, name)
    if key not in KEYS and key != "run":
        known = ", ".join(("run", *KEYS, *ALIASES))
        raise UsageError(f"no key {name!r}. Known: {known}")
    return key


def chosen(rows: Iterable[Row], filters: Iterable[str]) -> Iterator[Row]:
    """Give the rows that meet every KEY=VALUE (exactly) or KEY~VALUE (contains)."""
    wanted = [_condition(text) for text in filters]
    for row in rows:
        if all(
            value in _text(row[key]) if part else value in _names(row[key])
            for key, part, value in wanted
        ):
            yield row


def _condition(text: str) -> tuple[str, bool, str]:
    at = min((at for at in (text.find("="), text.find("~")) if at > 0), default=-1)
    if at < 0:
        raise UsageError(f"--filter {text!r}: expected KEY=VALUE or KEY~VALUE")
    return key_of(text[:at]), text[at] == "~", text[at + 1 :]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _names(value: Any) -> tuple[str, ...]:
    """An empty value means what is unknown, also where the dialog has a word for it."""
    return (UNKNOWN, "") if value == UNKNOWN else (_text(value),)


def ordered(rows: list[Row], name: str) -> list[Row]:
    """Sort rows by a key, `-KEY` for the largest first; what is unknown comes last."""
    key = key_of(name.removeprefix("-"))
    known = [row for row in rows if row[key] is not None]
    unknown = [row for row in rows if row[key] is None]
    known.sort(key=lambda row: row[key], reverse=name.startswith("-"))
    return known + unknown


def cells(row: Row) -> list[str]:
    """Give a row's cells as text, in the order of `COLUMNS`."""
    tokens = words.tokens(row["tokens_in"], row["tokens_out"], words.short)
    found = {
        **{key: row[key] for key in ("run", "status")},
        **{key: words.known(row[key]) for key in ("task", "model", "agent")},
        "turns": f"{row['turns']:,}",
        "tokens": tokens.removesuffix(" tokens"),
        "cost": words.cost(row["cost_usd"]),
        "time": words.duration(row["duration_ms"] / 1000),
        "exit": _text(row["exit_code"]),
    }
    return [safe_line(found[column].replace("\n", " ")) for column in COLUMNS]


def total(rows: list[Row]) -> str:
    """Say what all rows make together."""
    good = sum(row["status"] == "success" for row in rows)
    costs = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    given, made = (sum(row[key] for row in rows) for key in ("tokens_in", "tokens_out"))
    used = f"{words.short(given)} tokens in · {words.short(made)} out"
    parts = [
        f"{words.count(len(rows), 'run')}, {good:,} success",
        used if given or made else "",
        words.cost(sum(costs)) if costs else "",
        words.duration(sum(row["duration_ms"] for row in rows) / 1000),
    ]
    return " · ".join(part for part in parts if part)


def plain(rows: list[Row]) -> Iterator[str]:
    """Give the table's lines as plain text."""
    lines = [list(COLUMNS), *map(cells, rows)]
    lines = [[words.shortened(cell, WIDEST) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        parts = [
            (cell.rjust if name in RIGHT else cell.ljust)(width)
            for cell, width, name in zip(line, widths, COLUMNS, strict=True)
        ]
        yield "  ".join(parts).rstrip()
    yield total(rows)


def fitting(lines: list[list[str]], width: int) -> list[int]:
    """Give the numbers of the columns for which there is room, each whole.

    The run, its status and its time stay longest; the run may be shortened.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths[0] = min(widths[0], max(MOST_RUN, width // 3))
    left = list(range(len(COLUMNS)))
    for name in GIVES_WAY:
        if sum(widths[number] + 3 for number in left) <= width:
            break
        left.remove(COLUMNS.index(name))
    return left


def pretty(rows: list[Row], width: int) -> Table:
    """Give the table for rich, in which a narrow terminal has fewer columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, caption=total(rows), pad_edge=False)
    lines = [cells(row) for row in rows]
    whole = [list(COLUMNS), *lines]
    shown = fitting(whole, width)
    taken = sum(3 + max(len(line[number]) for line in whole) for number in shown[1:])
    room = max(MOST_RUN, width - 3 - taken)
    for number in shown:
        name = COLUMNS[number]
        table.add_column(
            name,
            justify="right" if name in RIGHT else "left",
            no_wrap=name != "run",
            overflow="fold" if name == "run" else "ellipsis",
        )
    for row, line in zip(rows, lines, strict=True):
        line[0] = words.shortened(line[0], room)
        styles = {"status": STYLES.get(row["status"], "red"), "run": "bold"}
        table.add_row(
            *(
                Text(line[number], style=styles.get(COLUMNS[number], ""))
                for number in shown
            )
        )
    return table
