"""`agent-wrap convert --to FORMAT PATH`: a dialog in the formats of others."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from agent_wrap.encode import encode
from agent_wrap.entries import Entry
from agent_wrap.errors import UsageError
from agent_wrap.export.atif_reading import Trajectory
from agent_wrap.export.run import Run
from agent_wrap.jsonvalue import one_object, too_deep
from agent_wrap.view import source
from agent_wrap.view.reading import Reader

FORMATS = {
    "html": "one self-contained page to look at and pass on",
    "svg": "a picture: who worked when, tokens, memory and CPU",
    "markdown": "for an issue or a review",
    "atif": "ATIF 1.8, the trajectory format of Harbor",
    "otel": "OpenTelemetry GenAI spans, as OTLP JSON",
    "ag-ui": "AG-UI events, as JSON lines",
}
"""Each is a module of `agent_wrap.export`."""
BACK = "dialog"
"""The way back: from an ATIF trajectory to a dialog."""
MOST_BYTES = 1 << 28


def main(argv: Sequence[str]) -> int:
    """Write the file; give 0, or 2 when a part of the dialog cannot be read."""
    options = _parser().parse_args(list(argv))
    if options.to == BACK:
        return _back(options.path, options.output)
    if source.is_folder_of_archives(options.path):
        raise UsageError(f"{options.path}: no {source.DIALOG} in this folder")
    path = source.dialog_path(options.path)
    output = options.output
    if output and os.path.exists(output) and os.path.samefile(path, output):
        raise UsageError(f"{output}: is the dialog itself")
    readers: list[Reader] = []

    def read() -> Iterator[Entry]:
        readers.append(Reader())
        return source.read(path, readers[-1])

    module = import_module(f"agent_wrap.export.{options.to.replace('-', '_')}")
    name = os.path.basename(os.path.dirname(os.path.abspath(path)))
    _write(module.export(Run(read, source.summary(path), name)), output)
    complaint = source.complaint(path, readers[0])
    if complaint:
        print(f"agent-wrap: {complaint}", file=sys.stderr)
    return 2 if complaint else 0


def _back(path: str, output: str | None) -> int:
    """Write the dialog that a trajectory tells of; what it lacks is said."""
    if output and os.path.exists(output) and os.path.samefile(path, output):
        raise UsageError(f"{output}: is the trajectory itself")
    if os.path.isdir(path):
        raise UsageError(f"{path}: expected a file, an ATIF trajectory")
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', error)}") from None
    found = one_object(data)
    _check_has_a_way_back(path, found or one_object(data.partition(b"\n")[0]))
    if found is None or too_deep(found):
        raise UsageError(f"{path}: expected one JSON object, an ATIF trajectory")
    try:
        trajectory = Trajectory(found)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    _write((encode(entry).decode() for entry in trajectory.entries()), output)
    for note in trajectory.notes:
        print(f"agent-wrap: {path}: {note}", file=sys.stderr)
    return 0


def _check_has_a_way_back(path: str, first: dict[str, Any] | None) -> None:
    """Refuse our other formats by name; `first` is the file's first object."""
    first = first or {}
    if "seq" in first:
        raise UsageError(f"{path}: is a dialog already")
    for key, name in (("resourceSpans", "OpenTelemetry"), ("threadId", "AG-UI")):
        if key in first:
            raise UsageError(
                f"{path}: this is {name}; a dialog is made only from ATIF "
                "(convert --to atif)"
            )


def _parser() -> argparse.ArgumentParser:
    formats = "; ".join(f"{name}: {what}" for name, what in FORMATS.items())
    parser = argparse.ArgumentParser(
        prog="agent-wrap convert",
        description=f"Write a dialog in another format. {formats}; {BACK}: the way "
        "back, from an ATIF trajectory.",
    )
    parser.add_argument("path", metavar="DIALOG|ARCHIVE|TRAJECTORY")
    choices = [*FORMATS, BACK]
    parser.add_argument("--to", metavar="FORMAT", choices=choices, required=True)
    parser.add_argument("-o", "--output", metavar="FILE", help="else standard output")
    return parser


def _write(pieces: Iterable[str], output: str | None) -> None:
    try:
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece.encode())
            sys.stdout.buffer.flush()
            return
        with open(output, "wb") as file:
            for piece in pieces:
                file.write(piece.encode())
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        where = output or "standard output"
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{where}: {reason}") from None
