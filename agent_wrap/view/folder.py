"""A folder of runs: read, chosen, sorted; shown as a table, reported as files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from agent_wrap.errors import UsageError
from agent_wrap.view import report, show, source, table, words
from agent_wrap.view.facts import facts_of
from agent_wrap.view.reading import Reader

OPTIONS = ("sort", "filter", "junit", "summary")
"""Options of `view` that are for a folder only."""


def show_folder(folder: str, options: argparse.Namespace) -> int:
    """Show the runs below a folder; give 0, or 2 when one of them cannot be read."""
    found = source.archives(folder)
    if not found:
        raise UsageError(f"{folder}: no {source.DIALOG} in it, nor below it")
    sort = options.sort or "run"
    table.key_of(sort.removeprefix("-"))
    rows: list[table.Row] = []
    complaints: list[str] = []
    for archive in found:
        try:
            rows.append(_row(archive, folder))
        except UsageError as error:
            complaints.append(str(error))
    number = len(rows)
    rows = table.ordered(list(table.chosen(rows, options.filter)), sort)
    name = os.path.basename(os.path.abspath(folder))
    if options.junit:
        _write(options.junit, report.junit(name, rows))
    if options.summary:
        _write(options.summary, json.dumps(report.totals(rows), indent=1) + "\n")
    if number and not rows and not options.json:
        print(f"none of the {words.count(number, 'run')} passes the filter")
    else:
        _show(rows, options)
    sys.stdout.flush()
    for complaint in complaints:
        print(f"agent-wrap: {complaint}", file=sys.stderr)
    return 2 if complaints else 0


def unfinished(path: str) -> str:
    """Give the status of a dialog without its end."""
    return "running" if source.is_held(path) else "unfinished"


def _show(rows: list[table.Row], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(rows, indent=1))
    elif options.plain or not show.has_rich():
        for line in table.plain(rows):
            print(line)
    else:
        screen = show.console()
        screen.print(table.pretty(rows, screen.width))


def _row(archive: str, folder: str) -> table.Row:
    path = source.dialog_path(archive)
    facts = facts_of(source.read(path, Reader()))
    row = facts.row(source.summary(path), "")
    if not row["status"]:
        row["status"] = unfinished(path)
    return {"run": os.path.relpath(archive, folder), **row}


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: {reason}") from None
