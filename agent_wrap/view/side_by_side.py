"""A comparison on standard output: figures, then two timelines in two columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent_wrap.view import compare, words
from agent_wrap.view.align import ALIKE, LEFT, RIGHT, SAME, Moment, aligned
from agent_wrap.view.compare import Told
from agent_wrap.view.show import WIDTH_OF_A_PIPE

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NAME, VALUE = 14, 32
STYLES = {SAME: "dim", ALIKE: "", LEFT: "red", RIGHT: "green"}
LEGEND = "= the same   ~ alike   < only left   > only right"


def plain(left: Told, right: Told) -> None:
    """Print it as plain text."""
    for name, one, other, change in compare.figures(left, right):
        print(f"{name[:NAME]:<{NAME}}  {_end(one)}  {_end(other)}  {change}".rstrip())
    print(f"\n{LEGEND}\n")
    width = (WIDTH_OF_A_PIPE - 3) // 2
    for mark, one_step, other_step in aligned(left.moments, right.moments):
        first, second = _line(one_step)[:width], _line(other_step)[:width]
        print(f"{first.ljust(width)} {mark} {second}".rstrip())
    for line in _left_out(left, right):
        print(line)
    sys.stdout.flush()


def pretty(left: Told, right: Told, screen: Console) -> None:
    """Print it with rich."""
    from rich.text import Text

    screen.print(_figures(left, right))
    screen.print(Text(LEGEND, style="dim"))
    width = max(10, (screen.width - 3) // 2)
    for mark, one, other in aligned(left.moments, right.moments):
        style = STYLES[mark]
        row = Text()
        cells = [Text(_line(step), style=style) for step in (one, other)]
        cells[0].truncate(width, overflow="ellipsis", pad=True)
        cells[1].truncate(width, overflow="ellipsis")
        row.append_text(cells[0])
        row.append(f" {mark} ", style=style or "yellow")
        row.append_text(cells[1])
        screen.print(row, no_wrap=True, overflow="crop")
    for line in _left_out(left, right):
        screen.print(Text(line, style="dim"))


def _figures(left: Told, right: Told) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    for _ in range(2):
        table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    for name, one, other, change in compare.figures(left, right):
        style = "bold" if change else ""
        values = (Text(one, style=style), Text(other, style=style))
        table.add_row(Text(name), *values, Text(change, style="yellow"))
    return table


def _line(step: Moment | None) -> str:
    if step is None:
        return ""
    sign = ""
    if step.kind.startswith("tool "):
        sign = "✗ " if step.failed else "▸ "
    return f"{words.clock(step.elapsed_ms / 1000):>7} {sign}{step.text}"


def _end(value: str) -> str:
    """Give the end of a value, which tells paths apart."""
    cut = value if len(value) <= VALUE else "…" + value[1 - VALUE :]
    return cut.ljust(VALUE)


def _left_out(left: Told, right: Told) -> Iterator[str]:
    for side, told in (("left", left), ("right", right)):
        if told.left_out:
            yield f"… {words.count(told.left_out, 'more step')} of the {side} run"
