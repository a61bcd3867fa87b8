"""Texts of a dialog as text of a page: nothing in them is markup, or hidden."""

from __future__ import annotations

import html
import re

from agent_wrap.jsonvalue import strip_terminal

LINE = 300
"""Characters of a line that stands for a whole text."""
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


def visible(found: str) -> str:
    """Give a text in which what could reorder or hide it is replaced."""
    return _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", strip_terminal(found))


def text(found: str) -> str:
    """Escape a text for HTML and SVG."""
    return html.escape(visible(found))


def line(found: str, longest: int = LINE) -> str:
    """Give the beginning of a text as one escaped line."""
    return text(" ".join(found[: 2 * longest].split())[:longest])
