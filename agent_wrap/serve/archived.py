"""One archive: what the list says of it; its dialog as a session that follows it."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from typing import Any

from agent_wrap.entries import UNKNOWN, Entry, timestamp
from agent_wrap.serve.feed import Feed, Hub, now_ms
from agent_wrap.serve.from_dialog import facts_in, reason_of
from agent_wrap.serve.session import Session
from agent_wrap.shapes import get_number
from agent_wrap.view.reading import Reader, seconds
from agent_wrap.view.source import CHUNK, is_held, summary

PART = 64 * 1024
"""Bytes at each end of a dialog that the list is made from."""

QUIET = 60.0
"""Seconds after which a dialog that nobody holds, and that does not grow, is dead."""

LONGEST_TITLE = 120
SETTLING = 2.0
"""Seconds within which a summary follows the end of its dialog."""

Stamp = tuple[int, int, int]


def stamp_of(path: str) -> Stamp:
    """Give what changes whenever a file does."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def is_dead(path: str, touched: float) -> bool:
    """Will a dialog without its end get no more? `touched` is when it last did."""
    return not is_held(path) and time.time() - touched > QUIET


@dataclass
class Card:
    """What the list says of an archive."""

    path: str
    stamp: Stamp
    described: dict[str, Any]

    @property
    def settled(self) -> bool:
        """Is its run over, as far as its file tells?"""
        return self.described["outcome"] not in ("running", "unfinished")


def card_of(path: str, name: str) -> Card:
    """Read both ends of a dialog. Raises OSError."""
    stamp = stamp_of(path)
    with open(path, "rb") as file:
        first = list(Reader().feed(file.read(PART)))
        file.seek(max(0, stamp[1] - PART))
        last = file.read(PART).rpartition(b"\n")[0].rpartition(b"\n")[2] + b"\n"
    end = next((e for e in Reader().feed(last) if e["type"] == "complete"), None)
    told = {e["type"]: e for e in reversed(first)}
    data = told["init"]["data"] if "init" in told else {}
    known = {key: value for key, value in data.items() if value != UNKNOWN}
    asked = told["prompt"]["content"] if "prompt" in told else known.get("task", "")
    line = next(iter(asked.strip().splitlines()), "")
    title = " · ".join(filter(None, (name, line)))[:LONGEST_TITLE]
    touched = stamp[2] / 1e9
    described = {
        "id": session_id(path),
        "title": title or os.path.basename(os.path.dirname(os.path.abspath(path))),
        "createdAt": first[0]["ts"] if first else timestamp(touched),
        "updatedAt": timestamp(touched),
        "permissionMode": "default",
        "runtime": known.get("agent", "agent"),
        "cwd": known.get("cwd", ""),
        "outcome": _outcome(path, end, touched),
    }
    if "model" in known:
        described["model"] = known["model"]
    return Card(path, stamp, described)


def session_id(path: str) -> str:
    """Give the id of an archive's session: the same as long as it lies there."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "file:" + os.path.realpath(path)))


def _outcome(path: str, end: Entry | None, touched: float) -> str:
    if end is not None:
        return str(end["status"])
    return "unfinished" if is_dead(path, touched) else "running"


class Archived:
    """The session of one dialog. `read` takes what there is of it by now."""

    def __init__(self, card: Card, hub: Hub) -> None:
        self.path = card.path
        self.session = Session(card.described["id"], now_ms())
        self.feed = Feed(self.session, hub, card.described["cwd"])
        self.session.listener = lambda kind: self.feed.changed()
        self.ended = False
        self._file = open(card.path, "rb")  # noqa: SIM115  (closed by `close`)
        self._reader = Reader()
        self._end: Entry | None = None
        self._latest = now_ms()
        self._ended_at = 0.0

    def close(self) -> None:
        """Let the readers end."""
        self._file.close()
        self.feed.close()

    def read(self) -> None:
        """Take what was written, and the end once there is one."""
        while not self.ended and (data := self._file.read(CHUNK)):
            for entry in self._reader.feed(data):
                self._take(entry)
        if self._end is not None and not self.ended:
            self._finish(self._end)
        elif not self.ended and self._is_dead():
            self.ended = True
            why = "the dialog has no end: its run was cut off"
            self.session.end_turn("unfinished", why, self._latest)

    @property
    def is_another(self) -> bool:
        """Was the file replaced, or written to after its end?"""
        try:
            inode, size, _ = stamp_of(self.path)
        except OSError:
            return True
        return inode != os.fstat(self._file.fileno()).st_ino or (
            size < self._file.tell() or (self.ended and size > self._file.tell())
        )

    def _take(self, entry: Entry) -> None:
        self._latest = round(seconds(entry["ts"]) * 1000)
        if entry["type"] == "complete":
            self._end, self._ended_at = entry, time.monotonic()
            return
        for fact in facts_in(entry):
            self.session.apply(fact, self._latest)

    def _finish(self, end: Entry) -> None:
        """End the turn, as soon as the summary is there that tells why."""
        told = summary(self.path)
        late = time.monotonic() - self._ended_at > SETTLING
        if not told and not late and is_held(self.path):
            return
        self.ended = True
        cost = get_number(told, "cost_usd")
        if cost is not None:
            self.session.change({"cost": cost})
        message = end.get("message", "")
        self.session.end_turn(reason_of(end, told), message, self._latest)

    def _is_dead(self) -> bool:
        touched = os.fstat(self._file.fileno()).st_mtime
        return is_dead(self.path, touched)
