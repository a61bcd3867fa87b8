"""`agent-wrap view PATH...`: a timeline, a table, two runs compared, or a page."""

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
from agent_wrap.view import compare, folder, show, side_by_side, source
from agent_wrap.view.facts import Facts, facts_of
from agent_wrap.view.follow import follow, late_summary
from agent_wrap.view.reading import Reader, seconds


def main(argv: Sequence[str]) -> int:
    """Show it; give 0, or 2 when it cannot be read or a part of it is damaged."""
    options = _parser().parse_args(list(argv))
    if options.web:
        return _web(options)
    if options.listen or options.open:
        raise UsageError("--listen and --open are for --web")
    if isinstance(sys.stdout, TextIOWrapper):  # an ASCII terminal is no reason to fail
        sys.stdout.reconfigure(errors="replace")
    first, *others = options.paths
    if len(others) > 1:
        raise UsageError("two runs are compared, or one path is shown: not more")
    if options.follow and not others:
        _check_begun(first)
    if not others and source.is_folder_of_archives(first):
        return folder.show_folder(first, options)
    for name in folder.OPTIONS:
        if getattr(options, name):
            raise UsageError(f"--{name} is for a folder of runs")
    return _compare(options) if others else _run(first, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-wrap view",
        description="Show a run as a timeline, or a folder of runs as a table. Colours "
        "and a live footer need an extra: pip install '.[view]' in the checkout.",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="DIALOG|ARCHIVE|FOLDER",
        help="a dialog.jsonl, the folder of a run, or a folder of such folders; "
        "two runs are shown side by side",
    )
    add = parser.add_argument
    add("-f", "--follow", action="store_true", help="while it runs, to its end")
    add("--web", action="store_true", help="as a page, served until a stop signal")
    add("--listen", metavar="HOST:PORT", help="of that page (127.0.0.1, a free port)")
    add("--open", action="store_true", help="open that page in a browser")
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
    add("--junit", metavar="FILE", help="a folder: also write JUnit XML")
    add("--summary", metavar="FILE", help="a folder: also write totals as JSON")
    return parser


def _web(options: argparse.Namespace) -> int:
    from agent_wrap.commands import view_web

    for name in ("follow", "full", "plain", "json", *folder.OPTIONS):
        if getattr(options, name):
            raise UsageError(f"--{name} is for the terminal, not for --web")
    if len(options.paths) > 1:
        raise UsageError("--web shows one path; a folder can hold many runs")
    listen = options.listen or "127.0.0.1:0"
    return view_web.serve(options.paths[0], listen, open_it=options.open)


def _check_begun(path: str) -> None:
    """Refuse to follow what is no run, or none yet."""
    if not os.path.lexists(path):
        raise UsageError(f"{path}: no run has begun here: it does not exist")
    if source.is_folder_of_archives(path):
        if source.archives(path):
            raise UsageError(f"{path}: --follow shows one run, not a folder of runs")
        raise UsageError(f"{path}: no run has begun here: no {source.DIALOG} in it")


# ---- one run ----------------------------------------------------------------


def _run(given: str, options: argparse.Namespace) -> int:
    path = source.dialog_path(given)
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
    row = facts_of(entries).row(summary, folder.unfinished(path))
    print(json.dumps({"dialog": path, **row, "timeline": entries}, indent=1))


# ---- two runs ---------------------------------------------------------------


def _compare(options: argparse.Namespace) -> int:
    if options.follow:
        raise UsageError("--follow shows one run, not two")
    paths = [source.dialog_path(given) for given in options.paths]
    readers = [Reader(), Reader()]
    left, right = (
        compare.tell(source.read(path, reader), partial(_row, given, path))
        for given, path, reader in zip(options.paths, paths, readers, strict=True)
    )
    if options.json:
        print(json.dumps(compare.as_json(left, right), indent=1))
    elif options.plain or not show.has_rich():
        side_by_side.plain(left, right)
    else:
        side_by_side.pretty(left, right, show.console())
    return max(map(_damage, paths, readers))


def _row(given: str, path: str, facts: Facts) -> dict[str, Any]:
    return {"run": given, **facts.row(source.summary(path), folder.unfinished(path))}
