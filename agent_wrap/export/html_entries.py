"""HTML of one entry: a text, a thought, a tool with its result, the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.export.markup import LINE, line
from agent_wrap.export.markup import text as escaped
from agent_wrap.export.run import Pair, is_start
from agent_wrap.view import words
from agent_wrap.view.arguments import change, is_diff, is_shown, kind_of_line, one_line
from agent_wrap.view.reading import output_of, seconds

SHORT_PROMPT = 4000
_CODE = re.compile("`([^`\n]{1,200})`")
_CLASSES = {"added": "a", "removed": "d", "place": "p"}
_MARKS = {"success": ("good", "✓"), "error": ("bad", "✗"), "": ("open", "…")}


def body(pair: Pair) -> Iterator[str]:
    """Give what shows an entry; nothing where there is nothing to show."""
    entry = pair.entry
    kind = entry["type"]
    if kind == "prompt" and not entry["content"].strip():
        return  # it is not known
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
        status = line(entry["status"])
        yield f'<footer id="end"><b class="{style}">{mark} {status}</b>'
        if entry.get("message"):
            yield f'<div class="text">{escaped(entry["message"])}</div>'
        yield "</footer>\n"


def _folded(title: str, text: str, is_open: bool) -> str:
    text = text.strip("\n")
    state = " open" if is_open else ""
    return (
        f'<details{state}><summary><b>{title}</b><span class="line first">'
        f'{line(text)}</span></summary><div class="text">{escaped(text)}</div>'
        "</details>"
    )


def _message(entry: Entry) -> Iterator[str]:
    """Prose as it is, what stands in code fences as code."""
    for is_code, part in _parts(entry["content"]):
        if is_code:
            yield f"<pre>{escaped(part)}</pre>"
        elif part.strip("\n"):
            content = _CODE.sub(r"<code>\1</code>", escaped(part.strip("\n")))
            yield f'<div class="text">{content}</div>'
    tokens = entry.get("tokens")
    if tokens and (used := words.tokens(tokens["in"], tokens["out"])):
        yield f'<div class="used">{used}</div>'


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Cut a text at its code fences; give (is it code, the part)."""
    lines: list[str] = []
    is_code = False
    for row in text.split("\n"):
        if row.startswith("```") and "`" not in row[3:]:
            yield is_code, "\n".join(lines)
            lines, is_code = [], not is_code
        else:
            lines.append(row)
    yield is_code, "\n".join(lines)


def _tool(pair: Pair) -> Iterator[str]:
    entry, result = pair
    if not is_start(entry):
        result = entry
    args = entry.get("args", {})
    style, mark = _MARKS.get(result["status"] if result else "", _MARKS["error"])
    yield f'<details><summary><span class="mark {style}">{mark}</span>'
    yield f"<b>{line(entry['name'])}</b>"
    yield f'<span class="line">{line(one_line(args))}</span>'
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
            _diff(text.split("\n")) if is_diff(text) else f"<pre>{escaped(text)}</pre>"
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
        yield f'<p class="label">arguments</p><pre>{escaped(chr(10).join(short))}</pre>'
    for key in texts:
        if key in long:
            yield f'<p class="label">{line(key)}</p><pre>{escaped(texts[key])}</pre>'


def _diff(lines: list[str]) -> str:
    parts = [
        f'<span class="{_CLASSES.get(kind_of_line(part), "")}">{escaped(part)}</span>'
        for part in lines
    ]
    return f"<pre>{''.join(parts)}</pre>"
