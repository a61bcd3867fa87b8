"""HTML: a run as one page that asks for nothing and trusts nothing.

Every text of the dialog is escaped, none is read as markup; what could reorder or hide
text is made visible. The page is written piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.export.html_entries import body
from agent_wrap.export.html_page import FOOT, HEAD, TOOLS
from agent_wrap.export.markup import line
from agent_wrap.export.run import Run
from agent_wrap.export.svg import drawing
from agent_wrap.shapes import get_dict, get_number
from agent_wrap.view import words
from agent_wrap.view.facts import cached_tokens
from agent_wrap.view.reading import seconds, utc


def export(run: Run) -> Iterator[str]:
    """Give the run's page."""
    row = run.row
    agent = words.known(row["agent"])
    names = run.title if run.title == agent else words.known(run.title, agent)
    title = f"{names}: {row['status']}"
    yield HEAD
    yield f"<title>{line(title)}</title>\n</head>\n<body>\n"
    yield from _header(run)
    yield '<main id="timeline">\n'
    began = seconds(row["started_at"])
    is_first = True
    for pair in run.paired():
        entry, shown = pair.entry, "".join(body(pair))
        kind = entry["type"]
        if kind == "complete":
            yield shown
        elif shown:
            anchor = ""
            if kind == "tool" and (pair.result or entry)["status"] == "error":
                kind, anchor = "tool failed", ' id="first-failed"' if is_first else ""
                is_first = False
            at = words.clock(seconds(entry["ts"]) - began)
            yield f'<article class="{kind}" id="e{entry["seq"]}"><time>{at}</time>'
            yield f"<div{anchor}>{shown}</div></article>\n"
    yield FOOT


def _header(run: Run) -> Iterator[str]:
    row = run.row
    style = {"success": "good", "unfinished": "open"}.get(row["status"], "bad")
    cached = cached_tokens(run.summary)
    cache = f" ({cached:,} cached)" if cached else ""
    used = words.tokens(row["tokens_in"], row["tokens_out"])
    facts = {
        "turns": f"{row['turns']:,}",
        "tools": f"{row['tools']:,}"
        + (f" ({row['tools_failed']:,} failed)" if row["tools_failed"] else ""),
        "tokens in": used and f"{row['tokens_in']:,}{cache}",
        "tokens out": used and f"{row['tokens_out']:,}",
        "cost": words.cost(row["cost_usd"]),
        "time": words.duration(row["duration_ms"] / 1000),
        **_used(get_dict(run.summary, "resources")),
        "exit code": "" if row["exit_code"] is None else str(row["exit_code"]),
        "started": utc(row["started_at"]),
    }
    yield f"<header><h1>{line(run.title)}"
    yield f'<span class="badge {style}">{line(row["status"])}</span></h1>\n'
    where = words.known(row["agent"], row["model"], row["cwd"])
    yield f'<p class="sub">{line(where)}</p>\n<dl>'
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{name}</dt><dd>{value}</dd></div>"
    yield "</dl>\n"
    yield from drawing(run)
    yield '</header>\n<nav aria-label="Page">'
    yield TOOLS
    if row["tools_failed"]:
        yield '<a href="#first-failed">First failed tool</a>'
    if row["status"] != "unfinished":
        yield '<a href="#end">End</a>'
    yield "</nav>\n"


def _used(resources: dict[str, Any]) -> dict[str, str]:
    """Say what the agent and all that it started used, as far as it is known."""
    memory = get_number(resources, "peak_rss_bytes")
    cpu = get_number(resources, "cpu_s")
    return {
        "memory, peak": words.size(memory) if memory else "",
        "CPU time": words.duration(cpu) if cpu else "",
    }
