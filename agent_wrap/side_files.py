"""Side files: what an agent leaves beside its stream, read once it is gone.

The adapter says where they are and what they mean; this alone touches them, in a
process of its own: as the run's user, only regular files that were written since the
run began, in bounded time and size. Whatever goes wrong is one note, never a run.
"""

from __future__ import annotations

import glob
import os
import select
import signal
import stat
import time
from collections.abc import Iterable, Iterator

from agent_wrap.adapter import Adapter, SideFile, Surroundings
from agent_wrap.event_lines import from_line, to_line
from agent_wrap.events import Event, Notice, SessionStarted, Usage
from agent_wrap.identity import Identity

MAX_FILE = 64 * 1024 * 1024
MAX_FILES = 64
MAX_PLACES = 8
"""How many of the newest places of one pattern are tried."""

_MAX_ANSWER = 1 << 20
_CLOCKS_DIFFER = 1.0
"""Seconds by which a file system's clock may be behind ours."""

_NEVER = float("-inf")

FACTS = (Usage, SessionStarted)
"""What a side file may tell; anything else is left out."""


class Told:
    """What side files told: facts, and notes about what went wrong."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        given = list(events)
        self.facts = [event for event in given if isinstance(event, FACTS)]
        self.notes = [event.text for event in given if isinstance(event, Notice)]


def read(
    adapter: type[Adapter],
    ran: Surroundings,
    *,
    since: float,
    patience: float,
    identity: Identity | None = None,
) -> Told:
    """Read the side files of a run that began at `since`, within `patience` seconds."""
    try:
        places = list(adapter.side_files(ran))
    except Exception as error:
        return Told([_note(f"{type(error).__name__}: {error}")])
    if not places:
        return Told()
    try:
        answer = _ask_child(adapter, places, ran, since, identity, patience)
    except OSError as error:
        return Told([_note(str(error))])
    if answer is None:
        return Told([_note(f"not read within {patience:g} s")])
    return Told(filter(None, map(from_line, answer.splitlines())))


def look(
    adapter: type[Adapter], places: Iterable[SideFile], ran: Surroundings, since: float
) -> Iterator[Event]:
    """Give what the first place that is this run's tells. May raise anything."""
    for place in places:
        found: list[list[Event]] = []
        for paths in _newest(place, since)[:MAX_PLACES]:
            found.append(list(adapter.read_side([_content(p) for p in paths], ran)))
            fitting = [facts for facts in found if facts]
            if fitting and (ran.session_id or len(fitting) > 1):
                break
        fitting = [facts for facts in found if facts]
        if fitting:
            yield from fitting[0]
            if len(fitting) > 1:
                yield _note("several fit this run; the newest was taken")
            return


def _newest(place: SideFile, since: float) -> list[list[str]]:
    """Give the files of each match that were written since then, the newest first."""
    found: list[tuple[float, list[str]]] = []
    for match in glob.iglob(place.pattern):
        inside = glob.escape(match) + "/" + place.inside if place.inside else ""
        paths = sorted(glob.glob(inside)) if inside else [match]
        times = {path: _written(path) for path in paths[:MAX_FILES]}
        fresh = [path for path, at in times.items() if at >= since - _CLOCKS_DIFFER]
        if fresh:
            found.append((max(times.values()), fresh))
    return [paths for _, paths in sorted(found, reverse=True)]


def _written(path: str) -> float:
    """Say when a regular file was last written; a link or a pipe never was."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return _NEVER
    return found.st_mtime if stat.S_ISREG(found.st_mode) else _NEVER


def _content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path}: is no regular file any more")
        if found.st_size > MAX_FILE:
            raise OSError(f"{path}: {found.st_size} bytes are more than we read")
        return file.read(MAX_FILE)


def _ask_child(
    adapter: type[Adapter],
    places: list[SideFile],
    ran: Surroundings,
    since: float,
    identity: Identity | None,
    patience: float,
) -> bytes | None:
    """Let a child look, which can be given up; None: it took too long."""
    _rehearse(adapter, ran)
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if identity is not None:
                identity.take()
            lines = b"".join(map(to_line, look(adapter, places, ran, since)))
        except BaseException as error:
            lines = to_line(_note(f"{type(error).__name__}: {error}"))
        finally:
            _leave(theirs, lines[:_MAX_ANSWER])
    os.close(theirs)
    try:
        return _read_until(ours, time.monotonic() + patience)
    finally:
        os.close(ours)
        _end(pid)


def _rehearse(adapter: type[Adapter], ran: Surroundings) -> None:
    """Let the adapter read nothing, so that it has imported all that it needs.

    The child may be a user who cannot read our code.
    """
    try:
        list(adapter.read_side((), ran))
    except Exception:
        pass  # it will say why where it has something to read


def _leave(fd: int, data: bytes) -> None:
    """Hand over the answer and end this process, with nothing else done."""
    try:
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os._exit(0)


def _read_until(fd: int, deadline: float) -> bytes | None:
    data = b""
    while len(data) <= _MAX_ANSWER:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return None
        piece = os.read(fd, 1 << 16)
        if not piece:
            break
        data += piece
    return data


def _end(pid: int) -> None:
    """End the child; one that the kernel holds fast is left to the reaper."""
    try:
        os.kill(pid, signal.SIGKILL)
        for _ in range(20):
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.002)
    except (ProcessLookupError, ChildProcessError):
        pass


def _note(text: str) -> Notice:
    return Notice(f"side files: {text}"[:500])


def remove_folder(path: str) -> None:
    """Remove the run's own folder of side files: nothing unredacted is left."""
    if path:
        import shutil  # it loads compressors: two out of a hundred of a run's start

        shutil.rmtree(path, ignore_errors=True)
