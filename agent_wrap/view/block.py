"""Lines of rich text beside a margin, laid out for the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

NARROWEST = 20


class Block:
    """Lines beside a margin that is shown once (quicker than a grid of rich)."""

    def __init__(self, margin: str, lines: list[Text]) -> None:
        self._margin = margin
        self._lines = lines

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[Segment]:
        width = max(NARROWEST, options.max_width - len(self._margin))
        margin = Segment(self._margin, Style(dim=True))
        for line in self._lines:
            if line.cell_len <= width:
                pieces = [line]
            elif line.no_wrap:
                line.truncate(width, overflow="ellipsis")
                pieces = [line]
            else:
                pieces = list(line.wrap(console, width, overflow="fold"))
            for piece in pieces:
                yield margin
                if piece.spans:
                    yield from piece.render(console)
                else:  # rich would leave out the style of the text itself
                    yield Segment(piece.plain, console.get_style(piece.style))
                yield Segment.line()
                margin = Segment(" " * len(self._margin))
