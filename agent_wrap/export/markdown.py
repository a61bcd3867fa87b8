"""Markdown: a run to paste into an issue or a review.

What could be more than text to a renderer (HTML, images, links) is put into a code
block; a block's fence is longer than any in its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape

from agent_wrap.entries import Entry
from agent_wrap.export.markup import visible
from agent_wrap.export.run import Pair, Run, is_start
from agent_wrap.view import words
from agent_wrap.view.arguments import change, is_diff, one_line
from agent_wrap.view.reading import output_of, seconds, utc

_MORE_THAN_TEXT = re.compile(r"[<\x00-\x08\x0b-\x1f\x7f]|!\[|\]\(|\]:|\]\[|://|&")
_SPECIAL = re.compile(r"([\\`*_\[\]|#!~])")
_FENCES = re.compile(r"`{3,}")
TITLE = 100


def export(run: Run) -> Iterator[str]:
    """Give the run as Markdown."""
    yield from _head(run)
    began = seconds(run.row["started_at"])
    for pair in run.paired():
        entry = pair.entry
        kind = entry["type"]
        if kind == "prompt":
            if entry["content"].strip():  # else it is not known
                yield f"## Prompt\n\n{_fenced(entry['content'])}\n"
        elif kind == "thinking":
            yield _details("Thinking", _fenced(entry["content"]))
        elif kind == "message":
            yield from _message(entry, began)
        elif kind == "tool":
            yield from _tool(pair)
        elif kind == "complete":
            yield f"## End: {_plain(entry['status'])}\n\n"
            if entry.get("message"):
                yield f"{_fenced(entry['message'])}\n"


def _head(run: Run) -> Iterator[str]:
    row = run.row
    yield f"# {_plain(run.title)}: {_plain(row['status'])}\n\n"
    used = f"{row['tokens_in']:,} in, {row['tokens_out']:,} out"
    table = {
        "agent": _plain(words.known(row["agent"])),
        "model": _plain(words.known(row["model"])),
        "started": utc(row["started_at"]),
        "time": words.duration(row["duration_ms"] / 1000),
        "turns": f"{row['turns']:,}",
        "tokens": used if row["tokens_in"] or row["tokens_out"] else "",
        "cost": words.cost(row["cost_usd"]),
        "exit code": "" if row["exit_code"] is None else str(row["exit_code"]),
        "folder": _plain(words.known(row["cwd"])),
    }
    yield "| | |\n|---|---|\n"
    for name, value in table.items():
        if value:
            yield f"| {name} | {value} |\n"
    yield "\n"


def _message(entry: Entry, began: float) -> Iterator[str]:
    text = visible(entry["content"]).strip("\n")
    at = words.clock(seconds(entry["ts"]) - began)
    tokens = entry.get("tokens")
    used = words.tokens(tokens["in"], tokens["out"]) if tokens else ""
    yield f"**Assistant** · {words.known(at, used)}\n\n"
    if _MORE_THAN_TEXT.search(text):
        yield _fenced(text)
    else:
        yield "".join(f"> {line}\n" for line in text.split("\n"))
    yield "\n"


def _tool(pair: Pair) -> Iterator[str]:
    entry, result = pair
    args = entry.get("args", {})
    if not is_start(entry):
        entry, result = entry, entry
    mark = {"success": "✓", "error": "✗"}.get(result["status"] if result else "", "…")
    took = words.duration(_took(pair)) if pair.result else ""
    title = f"{mark} {entry['name']} {_cut(one_line(args))} {took}"
    parts = []
    lines = change(args)
    if args:
        parts.append(_fenced(json.dumps(args, indent=1, ensure_ascii=False), "json"))
    if lines:
        parts.append(_fenced("\n".join(lines), "diff"))
    if result is not None and output_of(result):
        text = output_of(result)
        parts.append(_fenced(text, "diff" if is_diff(text) else ""))
    yield _details(title, "\n".join(parts))


def _took(pair: Pair) -> float:
    if pair.result is None:
        return 0.0
    return max(0.0, seconds(pair.result["ts"]) - seconds(pair.entry["ts"]))


def _cut(text: str) -> str:
    return text if len(text) <= TITLE else text[: TITLE - 1] + "…"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{_html(title)}</summary>\n\n{body}\n</details>\n\n"


def _plain(text: str) -> str:
    """Give a text of one line in which nothing is Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", _escaped(text))


def _html(text: str) -> str:
    """Give the same within HTML, where a backslash would be seen."""
    return _escaped(text).replace("[", "&#91;").replace("]", "&#93;")


def _escaped(text: str) -> str:
    return escape(" ".join(visible(text).split()), quote=False)


def _fenced(text: str, language: str = "") -> str:
    text = visible(text).strip("\n")
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"
