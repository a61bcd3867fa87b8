"""The timeline with rich: one block an entry, its time at the left.

Every text goes through `safe_line` and is never read as markup: nothing that an agent
says can control the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.text import Text

from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.view import words
from agent_wrap.view.arguments import change, is_diff, kind_of_line, one_line
from agent_wrap.view.block import Block
from agent_wrap.view.facts import cached_tokens
from agent_wrap.view.plain import safe_line
from agent_wrap.view.reading import output_of, seconds, utc

FOLDED = 8
PROMPT_LINES = 12
WIDEST = 2000
"""Characters of a folded line that are shown at all."""
DIFF_STYLES = {"added": "green", "removed": "red", "place": "cyan", "same": "dim"}


class Timeline:
    """Turns entries into blocks; `full` folds nothing, `summary` is for the end."""

    def __init__(
        self, summary: Callable[[], dict[str, Any]], *, full: bool = False
    ) -> None:
        self._summary = summary
        self._full = full
        self._started = 0.0
        self._begun: dict[str, float] = {}
        self._last_start = ""

    def block(self, entry: Entry) -> Block:
        """Give what shows one entry."""
        now = seconds(entry["ts"])
        self._started = self._started or now
        lines = list(self._lines(entry, now))
        if entry["type"] in ("init", "complete"):
            return Block("", lines)
        result = entry["type"] == "tool" and entry["status"] != "running"
        at = "" if result else words.clock(now - self._started)
        return Block(f"{at:>7} ", lines)

    def _lines(self, entry: Entry, now: float) -> Iterator[Text]:
        kind = entry["type"]
        if kind == "init":
            yield from _init(entry)
        elif kind == "prompt":
            if entry["content"].strip():  # else it is not known
                text = entry["content"]
                yield from self._text(words.PROMPT, "bold cyan", text, PROMPT_LINES)
        elif kind == "message":
            yield from self._message(entry)
        elif kind == "thinking":
            yield from self._text("✻ ", "dim italic", entry["content"], FOLDED)
        elif kind == "complete":
            yield from _complete(entry, self._summary())
        elif entry["status"] == "running":
            self._begun[entry["tool_id"]] = now
            self._last_start = entry["tool_id"]
            yield from self._call(entry)
        else:
            begun = self._begun.pop(entry["tool_id"], None)
            yield from self._result(entry, None if begun is None else now - begun)
            self._last_start = ""

    def _message(self, entry: Entry) -> Iterator[Text]:
        yield from self._text("", "", entry["content"], None)
        tokens = entry.get("tokens")
        if tokens:
            said = words.tokens(tokens["in"], tokens["out"], words.short)
            yield from [Text(said, style="dim")] if said else []

    def _call(self, entry: Entry) -> Iterator[Text]:
        args = entry.get("args", {})
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append("▸ ", style="bold yellow")
        line.append(safe_line(entry["name"]), style="bold")
        if args:
            line.append("  " + safe_line(one_line(args)[:WIDEST]), style="yellow")
        yield line
        yield from self._diff(change(args))

    def _result(self, entry: Entry, took: float | None) -> Iterator[Text]:
        good = entry["status"] == "success"
        line = Text(no_wrap=not self._full, overflow="ellipsis")
        line.append("  ✓ " if good else "  ✗ ", style="green" if good else "bold red")
        if entry["tool_id"] != self._last_start:  # not the call right above
            line.append(safe_line(entry["name"]) + "  ", style="bold")
        if took:
            line.append(f"{words.duration(took)}  ", style="green" if good else "red")
        text = output_of(entry).strip("\n")
        if is_diff(text):
            yield line
            yield from self._diff(text.split("\n"))
            return
        first, *rest = self._text("    ", "dim" if good else "red", text, FOLDED)
        line.append_text(first[4:])
        yield line
        yield from rest

    def _diff(self, lines: list[str]) -> Iterator[Text]:
        shown = lines if self._full else lines[: 2 * FOLDED]
        for line in shown:
            style = DIFF_STYLES[kind_of_line(line)]
            yield Text("    " + safe_line(line[:WIDEST]), style=style)
        yield from _more(len(lines) - len(shown), "    ")

    def _text(
        self, first: str, style: str, text: str, most: int | None
    ) -> Iterator[Text]:
        """Give a text's lines, the second and later ones indented like the first."""
        lines = text.strip("\n").split("\n")
        indent = " " * len(first)
        folded = most is not None and not self._full
        shown = lines[:most] if folded else lines
        for number, line in enumerate(shown):
            cut = line[:WIDEST] if folded else line
            yield Text(
                (indent if number else first) + safe_line(cut),
                style=style,
                no_wrap=folded,
                overflow="ellipsis" if folded else "fold",
            )
        yield from _more(len(lines) - len(shown), indent)


def _more(number: int, indent: str) -> Iterator[Text]:
    if number > 0:
        yield Text(f"{indent}… {words.count(number, 'more line')}", style="dim")


def _init(entry: Entry) -> Iterator[Text]:
    data = {key: safe_line(value) for key, value in entry["data"].items()}
    line = Text.assemble(("● ", "bold blue"))
    line.append(words.known(data["agent"]), style="bold")
    if data["model"] != UNKNOWN:
        line.append(f" · {data['model']}")
    if data["task"] != UNKNOWN:
        line.append(f" · task {data['task']}")
    yield line
    yield Text(f"  {words.known(data['cwd'], utc(entry['ts']))}", style="dim")


def _complete(entry: Entry, summary: dict[str, Any]) -> Iterator[Text]:
    good = entry["status"] == "success"
    style = "bold green" if good else "bold red"
    line = Text.assemble(("■ ", style))
    line.append(safe_line(entry["status"]), style=style)
    tokens, cached = entry["total_tokens"], cached_tokens(summary)
    used = f"{tokens['in']:,} tokens in" + (f" ({cached:,} cached)" if cached else "")
    parts = [
        words.count(entry["turns"], "turn"),
        f"{used} · {tokens['out']:,} out" if tokens["in"] or tokens["out"] else "",
        words.cost(summary.get("cost_usd")),
        words.duration(entry["duration_ms"] / 1000),
    ]
    if type(summary.get("exit_code")) is int:
        parts.append(f"exit {summary['exit_code']}")
    line.append(" · " + " · ".join(part for part in parts if part))
    yield line
    for said in entry.get("message", "").strip("\n").split("\n"):
        if said:
            yield Text("  " + safe_line(said[:WIDEST]), style="" if good else "red")
