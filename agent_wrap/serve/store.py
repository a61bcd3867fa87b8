"""Sessions on disk: what each is, and its numbered events, one line each.

    DATA/keys.json                    the keys' hashes
    DATA/sessions/ID/session.json     id, epoch, title, cwd, created
    DATA/sessions/ID/events.jsonl     {"at": MS, "event": {...}}
    DATA/sessions/ID/turns/0001/      the archive of a turn's run

An event is written before anybody can read it, so that what a client has seen is there
after a restart, also after one that nobody wanted.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from agent_wrap.errors import ArchiveError

META, EVENTS, TURNS = "session.json", "events.jsonl", "turns"


@dataclass
class Meta:
    """What a session is, apart from what happened in it."""

    id: str
    epoch: int
    title: str = ""
    cwd: str = ""
    created: int = 0
    updated: int = 0
    turns: int = 0
    running: bool = False
    agent_session: str = ""


class Store:
    """The data folder; only one server may have it. Raises ArchiveError."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._sessions = os.path.join(self.path, "sessions")
        try:
            os.makedirs(self._sessions, mode=0o700, exist_ok=True)
            self._lock = os.open(
                os.path.join(self.path, "lock"), os.O_CREAT | os.O_RDWR, 0o600
            )
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            reason = "another server has it" if error.errno == 11 else error.strerror
            raise ArchiveError(self.path, reason or str(error)) from None

    def close(self) -> None:
        """Let another server have the folder."""
        os.close(self._lock)

    def metas(self) -> Iterator[Meta]:
        """Give what is known of all sessions."""
        for name in os.listdir(self._sessions):
            try:
                with open(self._file(name, META), "rb") as file:
                    yield Meta(**json.load(file))
            except (OSError, ValueError, TypeError):
                continue  # no session, or one whose birth was cut off

    def save(self, meta: Meta) -> None:
        """Keep what a session is; nobody sees half of it."""
        os.makedirs(self._file(meta.id, TURNS), mode=0o700, exist_ok=True)
        path = self._file(meta.id, META)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(asdict(meta), file)
        os.replace(f"{path}.new", path)

    def turn_archive(self, meta: Meta) -> str:
        """Give the folder of a session's newest turn."""
        return self._file(meta.id, TURNS, f"{meta.turns:04d}")

    def summary(self, meta: Meta) -> dict[str, Any]:
        """Give how the newest turn's run ended; empty when it does not say."""
        try:
            with open(f"{self.turn_archive(meta)}/summary.json", "rb") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def events(self, session_id: str) -> EventFile:
        """Open a session's events."""
        return EventFile(self._file(session_id, EVENTS))

    def _file(self, *names: str) -> str:
        return os.path.join(self._sessions, *names)


class EventFile:
    """The events of one session; a line that is not whole is cut off."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._failed = False

    def read(self) -> Iterator[tuple[bytes, int]]:
        """Give each event's data and its moment."""
        try:
            file = open(self._path, "rb")  # noqa: SIM115
        except FileNotFoundError:
            return
        with file:
            whole = 0
            for line in file:
                head, comma, data = line.partition(b',"event":')
                if not line.endswith(b"}\n") or not comma:
                    break
                whole += len(line)
                yield data[:-2], int(head.partition(b":")[2])
        if whole < os.path.getsize(self._path):
            os.truncate(self._path, whole)

    def append(self, data: bytes, now_ms: int) -> None:
        """Write one event, at once. Raises OSError, once; then nothing is written."""
        if self._failed:
            return
        try:
            if self._fd < 0:
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
                self._fd = os.open(self._path, flags, 0o600)
            line = b'{"at":%d,"event":%b}\n' % (now_ms, data)
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError:
            self._failed = True  # what followed would have a gap before it
            raise

    def close(self) -> None:
        """Close the file, if it was written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
