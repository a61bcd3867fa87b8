"""A dialog as it grows: its entries, and a beat whenever nothing came."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.errors import UsageError
from agent_wrap.view.reading import Reader
from agent_wrap.view.source import CHUNK, is_held, summary

BEAT = 0.1
LOOK = 2.0
"""Seconds of silence after which it is looked whether the wrapper still lives."""


def follow(path: str, reader: Reader) -> Iterator[Entry | None]:
    """Give entries as they are written, None at each beat; end at `complete`.

    Also ends when the wrapper that held the archive is gone without an end, or when
    the file was replaced by another run's.
    """
    held, quiet = False, 0.0
    try:
        with open(path, "rb") as file:
            while True:
                data = file.read(CHUNK)
                for entry in reader.feed(data):
                    yield entry
                    if entry["type"] == "complete":
                        return
                if data:
                    quiet = 0.0
                    continue
                if reader.damaged and not reader.read:
                    raise UsageError(f"{path}: not a dialog: {reader.damage[0]}")
                yield None
                time.sleep(BEAT)
                quiet += BEAT
                if quiet >= LOOK:
                    quiet = 0.0
                    if _is_another(path, file.fileno(), file.tell()):
                        return
                    held, before = bool(is_held(path)), held
                    if before and not held:
                        yield from _rest(file.read(), reader)
                        return
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def late_summary(path: str) -> dict[str, Any]:
    """Give the summary of a run that has just ended: it is written after the end."""
    until = time.monotonic() + LOOK
    found = summary(path)
    while not found and is_held(path) and time.monotonic() < until:
        time.sleep(BEAT)
        found = summary(path)
    return found or summary(path)


def _rest(data: bytes, reader: Reader) -> Iterator[Entry]:
    """What was written between the last look at the file and the lock's end."""
    yield from reader.feed(data)
    yield from reader.close()


def _is_another(path: str, fd: int, read: int) -> bool:
    """Was the file replaced or cut by a new run?"""
    try:
        return os.stat(path).st_ino != os.fstat(fd).st_ino or (
            os.fstat(fd).st_size < read
        )
    except OSError:
        return True
