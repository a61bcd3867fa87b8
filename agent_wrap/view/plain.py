"""An entry as lines of plain text: the timeline where nothing prettier is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_wrap.jsonvalue import strip_terminal
from agent_wrap.view.words import count, known

WIDTH = 100
RESULT_LINES = 6
UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"

_PLAIN = {"\u200d": "\u200d", "\xa0": " ", "\u202f": " ", "\u3000": "  ", "\xad": ""}
"""What is not printable but harmless: joined emoji, spaces, the soft hyphen."""


def lines_of(entry: dict[str, Any]) -> Iterator[str]:
    """Give the lines that show one entry; nothing in it can control the terminal."""
    kind = entry.get("type")
    if kind == "init":
        data = entry["data"]
        task = known(data["task"])
        names = known(data["agent"], data["model"], task and f"task {task}")
        yield safe_line(f"● {names}")
        if known(data["cwd"]):
            yield safe_line(f"  in {data['cwd']}")
    elif kind == "prompt" and not entry["content"].strip():
        return  # it is not known
    elif kind == "prompt":
        yield from _block("> ", "  ", entry["content"], RESULT_LINES)
    elif kind == "message":
        yield from _block("", "", entry["content"], None)
    elif kind == "thinking":
        yield from _block("~ ", "  ", entry["content"], RESULT_LINES)
    elif kind == "tool":
        yield from _tool(entry)
    elif kind == "complete":
        yield from _complete(entry)


def _tool(entry: dict[str, Any]) -> Iterator[str]:
    if entry["status"] == "running":
        args = entry.get("args")
        shown = json.dumps(args, ensure_ascii=False) if args else ""
        yield from _block("▸ ", "  ", f"{entry['name']} {shown}", 1)
    else:
        mark = "✓ " if entry["status"] == "success" else "✗ "
        text = entry.get("result") or entry.get("error") or entry["name"]
        yield from _block(f"  {mark}", "    ", text, RESULT_LINES)


def _complete(entry: dict[str, Any]) -> Iterator[str]:
    tokens = entry["total_tokens"]
    used = f"{tokens['in']:,} tokens in, {tokens['out']:,} out"
    yield "■ " + known(
        entry["status"],
        count(entry["turns"], "turn"),
        used if tokens["in"] or tokens["out"] else "",
        f"{entry['duration_ms'] / 1000:.1f} s",
    )
    if entry.get("message"):
        yield from _block("  ", "  ", entry["message"], RESULT_LINES)


def _block(first: str, other: str, text: str, most: int | None) -> Iterator[str]:
    lines = [safe_line(line) for line in text.strip("\n").split("\n")] or [""]
    shown = lines if most is None else lines[:most]
    for number, line in enumerate(shown):
        cut = line if most is None or len(line) <= WIDTH else line[: WIDTH - 1] + "…"
        yield (other if number else first) + cut
    if len(lines) > len(shown):
        yield f"{other}… {count(len(lines) - len(shown), 'more line')}"


def safe_line(line: str) -> str:
    """Give a line that cannot control a terminal: what is not printable is replaced."""
    line = strip_terminal(line.removesuffix("\r")).expandtabs(4)
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else _PLAIN.get(c, UNPRINTABLE) for c in line)
