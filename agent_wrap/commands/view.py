"""`agent-wrap view PATH`: a run as a timeline, a folder of runs as a table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from io import TextIOWrapper
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.errors import UsageError
from agent_wrap.view import show, source, table
from agent_wrap.view.facts import Facts, facts_of
from agent_wrap.view.follow import follow, late_summary
from agent_wrap.view.reading import Reader, seconds


def main(argv: Sequence[str]) -> int:
    """Show it; give 0, or 2 when it cannot be read or a part of it is damaged."""
    options = _parser().parse_args(list(argv))
    if isinstance(sys.stdout, TextIOWrapper):  # an ASCII terminal is no reason to fail
        sys.stdout.reconfigure(errors="replace")
    if source.is_folder_of_archives(options.path):
        if options.follow:
            raise UsageError(f"{options.path}: --follow shows one run, not a folder")
        return _folder(options)
    if options.sort or options.filter:
        raise UsageError("--sort and --filter are for a folder of runs")
    return _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-wrap view",
        description="Show a run as a timeline, or a folder of runs as a table. Colours "
        "and a live footer need the extra: pip install 'agent-wrap[view]'.",
    )
    parser.add_argument(
        "path",
        metavar="DIALOG|ARCHIVE|FOLDER",
        help="a dialog.jsonl, the folder of a run, or a folder of such folders",
    )
    add = parser.add_argument
    add("-f", "--follow", action="store_true", help="while it runs, to its end")
    add("--full", action="store_true", help="fold nothing")
    add("--plain", action="store_true", help="no colours, no layout")
    add("--json", action="store_true", help="for programs")
    add("--sort", metavar="KEY", help="a folder: by this key, -KEY the other way round")
    add(
        "--filter",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a folder: only such runs; KEY~VALUE: that contain it. May be repeated",
    )
    return parser


# ---- one run ----------------------------------------------------------------


def _run(options: argparse.Namespace) -> int:
    path = source.dialog_path(options.path)
    if options.json and options.follow:
        raise UsageError("--json and --follow do not go together: use tail -f")
    reader, facts = Reader(), Facts()
    if options.json:
        _print_json(path, reader, source.summary(path))
        return _damage(path, reader)
    entries: Iterator[Entry | None] = (
        follow(path, reader) if options.follow else source.read(path, reader)
    )
    if options.plain or not show.has_rich():
        show.plain(entries, facts)
    else:
        read = late_summary if options.follow else source.summary
        summary = partial(read, path)
        show.pretty(entries, facts, summary, full=options.full, live=options.follow)
    note = show.ending(facts, source.is_held(path))
    if note:
        print(note)
    return _damage(path, reader)


def _damage(path: str, reader: Reader) -> int:
    complaint = source.complaint(path, reader)
    if complaint:
        sys.stdout.flush()
        print(f"agent-wrap: {complaint}", file=sys.stderr)
    return 2 if complaint else 0


def _print_json(path: str, reader: Reader, summary: dict[str, Any]) -> None:
    """Print the run's row, and its entries with the milliseconds since its start."""
    entries = list(source.read(path, reader))
    began = seconds(entries[0]["ts"])
    for entry in entries:
        entry["elapsed_ms"] = round((seconds(entry["ts"]) - began) * 1000)
    row = facts_of(entries).row(summary, _unfinished(path))
    print(json.dumps({"dialog": path, **row, "timeline": entries}, indent=1))


def _unfinished(path: str) -> str:
    return "running" if source.is_held(path) else "unfinished"


# ---- a folder of runs -------------------------------------------------------


def _folder(options: argparse.Namespace) -> int:
    found = source.archives(options.path)
    if not found:
        raise UsageError(f"{options.path}: no {source.DIALOG} in it, nor below it")
    sort = options.sort or "run"
    table.key_of(sort.removeprefix("-"))
    rows: list[table.Row] = []
    complaints: list[str] = []
    for archive in found:
        try:
            rows.append(_row(archive, options.path))
        except UsageError as error:
            complaints.append(str(error))
    rows = table.ordered(list(table.chosen(rows, options.filter)), sort)
    if options.json:
        print(json.dumps(rows, indent=1))
    elif options.plain or not show.has_rich():
        for line in table.plain(rows):
            print(line)
    else:
        show.console().print(table.pretty(rows))
    sys.stdout.flush()
    for complaint in complaints:
        print(f"agent-wrap: {complaint}", file=sys.stderr)
    return 2 if complaints else 0


def _row(archive: str, folder: str) -> table.Row:
    path = source.dialog_path(archive)
    facts = facts_of(source.read(path, Reader()))
    row = facts.row(source.summary(path), "")
    if not row["status"]:
        row["status"] = _unfinished(path)
    return {"run": os.path.relpath(archive, folder), **row}
