"""Dialogs for the tests of exports: all recordings, and ones that are hard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_wrap import entries
from agent_wrap.export.run import Run
from agent_wrap.view.reading import Reader

from ..dialogs import RECORDINGS, arguments, complete, opening, ts

HOSTILE = (
    "</pre></div></details><script>alert(1)</script><img src=http://evil onerror=x>"
    "\x1b[31m\x00\u202e ```\n```\n````\n![x](http://evil/a.png) [y](javascript:x)\n"
    "\"'&amp;&lt;--><!--]]>"
)


def dialog(text: str = "hello", *, end: bool = True) -> list[dict[str, Any]]:
    """Two tools at once, one that fails, one without a result, a stray result."""
    command, patch = arguments(text)
    found = [
        *opening(text, (1500, 42)),
        entries.tool_start(4, ts(3), "t1" + text, text, command),
        entries.tool_start(5, ts(4), "t2" + text, text, patch),
        entries.tool_result(6, ts(5), "t2" + text, text, text, ok=False),
        entries.tool_result(7, ts(7.5), "t1" + text, text, text, ok=True),
        entries.thinking(8, ts(8), text),
        entries.thinking(9, ts(9), text),
        entries.tool_start(10, ts(10), "t3" + text, text, None),
        entries.tool_result(11, ts(10), "stray" + text, text, "", ok=True),
        entries.message(12, ts(11), "```py\nprint(1)\n```\n" + text),
    ]
    if end:
        found.append(complete(13, text, "timeout", 2, (1500, 42)))
    return found


SUMMARY: dict[str, Any] = {
    "cost_usd": 0.25,
    "exit_code": 124,
    "session_id": "s-1",
    "agent_version": "2.0",
    "tokens": {"in": 1500, "out": 42, "cached": 1000, "reasoning": 7},
}
SAMPLES: dict[str, Run] = {
    "plain": Run(lambda: iter(dialog()), SUMMARY),
    "hostile": Run(lambda: iter(dialog(HOSTILE))),
    "unfinished": Run(lambda: iter(dialog(end=False)), {"tokens": 5}),
    "init": Run(lambda: iter(dialog()[:1])),
    "headless": Run(lambda: iter(dialog()[3:])),
    "empty": Run(lambda: iter(dialog("", end=True))),
}


def recorded(path: Path) -> Run:
    """Give a recording's golden dialog."""

    def read() -> Iterator[dict[str, Any]]:
        yield from Reader().feed(path.read_bytes())

    return Run(read)


def runs() -> dict[str, Run]:
    """Give all runs by name."""
    found = {f"{p.parent.parent.name}/{p.parent.name}": recorded(p) for p in RECORDINGS}
    return SAMPLES | found
