"""Where a dialog lies: a path to its file, its summary, the archives below a folder."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.errors import UsageError
from agent_wrap.jsonvalue import clean
from agent_wrap.view.reading import Reader

DIALOG, SUMMARY = "dialog.jsonl", "summary.json"
CHUNK = 1 << 20
MAX_SUMMARY = 1 << 24
DEEPEST = 6
"""Folders below the one named in which archives are looked for."""


def dialog_path(path: str) -> str:
    """Give the dialog that a path names: the file itself, or an archive's."""
    found = os.path.join(path, DIALOG) if os.path.isdir(path) else path
    try:
        mode = os.stat(found).st_mode
    except (OSError, ValueError) as error:
        if found != path:
            raise UsageError(f"{path}: no {DIALOG} in this folder") from None
        raise UsageError(f"{path}: {_reason(error)}") from None
    if not stat.S_ISREG(mode):
        raise UsageError(f"{found}: is no regular file")
    return found


def is_folder_of_archives(path: str) -> bool:
    """Is this a folder that has no dialog itself?"""
    return os.path.isdir(path) and not os.path.lexists(os.path.join(path, DIALOG))


def archives(folder: str) -> list[str]:
    """Give the archives below a folder, sorted; those inside an archive are not."""
    found: list[str] = []
    root = folder.rstrip("/") or "/"
    for place, folders, files in os.walk(root):
        if DIALOG in files:
            found.append(place)
            folders.clear()
        elif place.count("/") - root.count("/") >= DEEPEST:
            folders.clear()
        folders.sort()
    return sorted(found)


def read(path: str, reader: Reader) -> Iterator[Entry]:
    """Give the entries of a dialog as they are read; `reader` knows the damage.

    What has no entry at all is no dialog: `UsageError`.
    """
    try:
        with open(path, "rb") as file:
            while data := file.read(CHUNK):
                yield from reader.feed(data)
                if not reader.read and reader.damaged > 1000:
                    break
            else:
                yield from reader.close()
    except OSError as error:
        raise UsageError(f"{path}: {_reason(error)}") from None
    if not reader.read:
        why = f": {reader.damage[0]}" if reader.damage else ": it is empty"
        raise UsageError(f"{path}: not a dialog{why}")


def summary(dialog: str) -> dict[str, Any]:
    """Give the `summary.json` beside a dialog, or an empty object."""
    path = os.path.join(os.path.dirname(dialog), SUMMARY)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return {}
        with open(path, "rb") as file:
            found = json.loads(file.read(MAX_SUMMARY))
    except (OSError, ValueError, RecursionError):
        return {}
    return clean(found) if isinstance(found, dict) else {}


def complaint(path: str, reader: Reader) -> str:
    """Say in one line what of a dialog could not be read; empty: nothing."""
    if not reader.damaged:
        return ""
    more = reader.damaged - 1
    rest = f", and {more} more" if more else ""
    return f"{path}: {reader.damage[0]}{rest}; the rest was read"


def is_held(dialog: str) -> bool | None:
    """Is the archive of this dialog locked by a wrapper? None: cannot be known."""
    try:
        node = os.stat(os.path.dirname(dialog) or ".").st_ino
        with open("/proc/locks") as file:  # looking takes no lock, trying would
            lines = file.read().split("\n")
    except OSError:
        return None
    return any(" FLOCK " in line and f":{node} " in line for line in lines)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
