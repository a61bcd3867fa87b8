"""HTML: a run as one page that asks for nothing and trusts nothing.

Every text of the dialog is escaped, none is read as markup; what could reorder or hide
text is made visible. The page is written piece by piece.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.export.html_page import HEAD, TAIL
from agent_wrap.export.run import Pair, Run, is_start
from agent_wrap.jsonvalue import strip_terminal
from agent_wrap.view import words
from agent_wrap.view.arguments import change, is_diff, is_shown, kind_of_line, one_line
from agent_wrap.view.reading import output_of, seconds

LINE = 300
"""Characters of a line that stands for a folded text."""
SHORT_PROMPT = 4000
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CLASSES = {"added": "a", "removed": "d", "place": "p"}
_MARKS = {"success": ("good", "✓"), "error": ("bad", "✗"), "": ("open", "…")}


def export(run: Run) -> Iterator[str]:
    """Give the run's page."""
    row = run.row
    title = f"{row['task']} · {row['agent']}: {row['status']}"
    yield HEAD
    yield f"<title>{_line(title)}</title>\n</head>\n<body>\n"
    yield from _header(run)
    yield '<main id="timeline">\n'
    began = seconds(row["started_at"])
    failed = 0
    for pair in run.paired():
        bad = (pair.result or pair.entry).get("status") == "error"
        is_failed_tool = bad and pair.entry["type"] == "tool"
        failed += is_failed_tool
        anchor = ' id="first-error"' if is_failed_tool and failed == 1 else ""
        body = "".join(_body(pair))
        if pair.entry["type"] == "complete":
            yield body
        elif body:
            at = words.clock(seconds(pair.entry["ts"]) - began)
            kind = pair.entry["type"]
            yield f'<article class="{kind}"{anchor}><time>{at}</time><div>'
            yield body
            yield "</div></article>\n"
    yield TAIL


def _header(run: Run) -> Iterator[str]:
    row = run.row
    style = {"success": "good", "unfinished": "open"}.get(row["status"], "bad")
    cached = run.summary.get("tokens", {})
    cached = cached.get("cached") if isinstance(cached, dict) else None
    facts = {
        "turns": str(row["turns"]),
        "tools": str(row["tools"])
        + (f" ({row['tools_failed']} failed)" if row["tools_failed"] else ""),
        "tokens in": f"{row['tokens_in']:,}"
        + (f" ({cached:,} cached)" if type(cached) is int and cached else ""),
        "tokens out": f"{row['tokens_out']:,}",
        "cost": words.cost(row["cost_usd"]),
        "time": words.duration(row["duration_ms"] / 1000),
        "exit code": "" if row["exit_code"] is None else str(row["exit_code"]),
        "started (UTC)": row["started_at"][:19].replace("T", " "),
    }
    yield f"<header><h1>{_line(row['task'])}"
    yield f'<span class="badge {style}">{_line(row["status"])}</span></h1>\n'
    yield f'<p class="sub">{_line(row["agent"])} · {_line(row["model"])}'
    yield f" · {_line(row['cwd'])}</p>\n<dl>"
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{name}</dt><dd>{value}</dd></div>"
    yield '</dl>\n<nav aria-label="Page">'
    if row["tools_failed"]:
        yield '<a href="#first-error">First failed tool</a>'
    if row["status"] != "unfinished":
        yield '<a href="#end">End</a>'
    yield '<span id="keys" hidden><button type="button">Open or close all</button> '
    yield "<small>j / k: next, previous · Enter: open</small></span></nav></header>\n"


def _body(pair: Pair) -> Iterator[str]:
    entry = pair.entry
    kind = entry["type"]
    if kind == "prompt":
        yield _folded("Prompt", entry["content"], len(entry["content"]) < SHORT_PROMPT)
    elif kind == "thinking":
        yield _folded("Thinking", entry["content"], is_open=False)
    elif kind == "message":
        yield from _message(entry)
    elif kind == "tool":
        yield from _tool(pair)
    elif kind == "complete":
        style, mark = _MARKS.get(entry["status"], _MARKS["error"])
        yield f'<footer id="end"><b class="{style}">{mark} {_line(entry["status"])}</b>'
        if entry.get("message"):
            yield f'<div class="text">{_text(entry["message"])}</div>'
        yield "</footer>\n"


def _folded(title: str, text: str, is_open: bool) -> str:
    text = text.strip("\n")
    state = " open" if is_open else ""
    return (
        f'<details{state}><summary><b>{title}</b><span class="line first">'
        f'{_line(text)}</span></summary><div class="text">{_text(text)}</div></details>'
    )


def _message(entry: Entry) -> Iterator[str]:
    """Prose as it is, what stands in code fences as code."""
    for is_code, part in _parts(entry["content"]):
        if is_code:
            yield f"<pre>{_text(part)}</pre>"
        elif part.strip("\n"):
            content = part.strip("\n")
            yield f'<div class="text">{_text(content)}</div>'
    tokens = entry.get("tokens")
    if tokens:
        used = f"{tokens['in']:,} → {tokens['out']:,} tokens"
        yield f'<div class="used">{used}</div>'


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Cut a text at its code fences; give (is it code, the part)."""
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        if line.startswith("```") and "`" not in line[3:]:
            yield is_code, "\n".join(lines)
            lines, is_code = [], not is_code
        else:
            lines.append(line)
    yield is_code, "\n".join(lines)


def _tool(pair: Pair) -> Iterator[str]:
    entry, result = pair
    if not is_start(entry):
        result = entry
    args = entry.get("args", {})
    style, mark = _MARKS.get(result["status"] if result else "", _MARKS["error"])
    yield f'<details><summary><span class="mark {style}">{mark}</span>'
    yield f"<b>{_line(entry['name'])}</b>"
    yield f'<span class="line">{_line(one_line(args))}</span>'
    if pair.result is not None:
        took = seconds(pair.result["ts"]) - seconds(entry["ts"])
        yield f'<span class="took">{words.duration(max(0.0, took))}</span>'
    yield "</summary>"
    lines = change(args)
    yield from _arguments(
        {k: v for k, v in args.items() if not (lines and is_shown(k))}
    )
    if lines:
        yield f'<p class="label">change</p>{_diff(lines)}'
    if result is None:
        yield '<p class="label">no result</p>'
    elif output_of(result):
        name = "result" if result["status"] == "success" else "error"
        text = output_of(result).strip("\n")
        shown = (
            _diff(text.split("\n")) if is_diff(text) else f"<pre>{_text(text)}</pre>"
        )
        yield f'<p class="label">{name}</p>{shown}'
    yield "</details>"


def _arguments(args: dict[str, Any]) -> Iterator[str]:
    """Short values together, each long text under its name."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in args.items()
    }
    long = {key for key, text in texts.items() if "\n" in text or len(text) > LINE}
    short = [f"{key}: {text}" for key, text in texts.items() if key not in long]
    if short:
        yield f'<p class="label">arguments</p><pre>{_text(chr(10).join(short))}</pre>'
    for key in texts:
        if key in long:
            yield f'<p class="label">{_line(key)}</p><pre>{_text(texts[key])}</pre>'


def _diff(lines: list[str]) -> str:
    parts = [
        f'<span class="{_CLASSES.get(kind_of_line(line), "")}">{_text(line)}</span>'
        for line in lines
    ]
    return f"<pre>{''.join(parts)}</pre>"


def _text(text: str) -> str:
    shown = _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", strip_terminal(text))
    return html.escape(shown)


def _line(text: str) -> str:
    """Give the beginning of a text as one line."""
    line = " ".join(text[: 2 * LINE].split())
    return _text(line[:LINE])
