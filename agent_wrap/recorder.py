"""Where the facts are projected: bytes -> events -> story, dialog, clocks, and files.

It owns the order: an entry is on disk before anybody is told of its event. What one
read brought is written together: each write takes longer than making an entry.
No event loop: the supervisor calls it, one chunk after the other.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent_wrap.clocks import Clocks
from agent_wrap.dialog import Dialog
from agent_wrap.encode import encode_own, encode_shortened
from agent_wrap.entries import Entry
from agent_wrap.events import Event, SessionStarted
from agent_wrap.jsonvalue import strip_terminal
from agent_wrap.keeper import Keeper
from agent_wrap.ledger import Ledger
from agent_wrap.outcome import Outcome
from agent_wrap.reader import Reader
from agent_wrap.redact import Redactor
from agent_wrap.story import TOLD_BY, Story
from agent_wrap.writer import Archive

AT_ONCE = 32 * 1024
"""Entries that one read brings are written together, up to so many bytes."""

LAST_WORD = 500
"""Characters of the agent's last line on stderr that its end may quote."""

Watcher = Callable[[Event | None, list[Entry]], None]


class Recorder:
    """Takes the agent's bytes and leaves entries on disk.

    `watchers` are told of each event and its entries, after these are written; of
    entries that no event led to (the first, the last) without one.
    """

    def __init__(
        self,
        reader: Reader,
        dialog: Dialog,
        archive: Archive,
        clocks: Clocks,
        ledger: Ledger,
        redactor: Redactor,
        *,
        sync_entries: bool = False,
    ) -> None:
        self.reader = reader
        self.dialog = dialog
        self._budget = dialog.budget
        self.archive = archive
        self.clocks = clocks
        self.ledger = ledger
        self.redactor = redactor
        self.keeper = Keeper(archive)
        self.story = Story()
        self.watchers: list[Watcher] = []
        self.written = dialog.seq
        self.cut = 0
        self._unwritten = 0
        self._entries: list[Entry] = []
        self._lines: list[bytes] = []
        self._size = 0
        self._stdout = redactor.stream()
        self._stderr = redactor.stream()
        self._stderr_end = b""
        self._sync_entries = sync_entries

    def start(self) -> None:
        """Record what the adapter says before the first line."""
        self._record(self.reader.start())

    def feed(self, data: bytes) -> None:
        """Record the next bytes of the agent's stdout."""
        self._feed(self._stdout.feed(data))

    def feed_stderr(self, data: bytes) -> None:
        """Keep the next bytes of the agent's stderr."""
        self._keep_stderr(self._stderr.feed(data))

    def begin(self) -> None:
        """Write `init` now with what is known, unless it is written."""
        if self.dialog.state == "NEW":
            first = self.dialog.begin(time.time())
            self._take(first)
            self._write()
            for watcher in self.watchers:
                watcher(None, first)

    def settle(self) -> None:
        """Read held lines as plain text, and give what is held for grouping."""
        self._record(self.reader.settle())
        self._record(self.reader.pause())

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> None:
        """Record what a decision on something the agent asked leads to."""
        self._record(self.reader.answer(interaction_id, resolution, content))

    def cancel(self) -> None:
        """Record what asking the agent to stop leads to."""
        self._record(self.reader.cancel())

    def close(self) -> None:
        """Record what the end of the streams brings."""
        self._feed(self._stdout.close())
        self._keep_stderr(self._stderr.close())
        self._record(self.reader.close())

    def learn(self, facts: Iterable[Event]) -> None:
        """Take figures that became known after the run; they make no entries."""
        account = self.dialog.account
        for event in facts:
            if isinstance(event, SessionStarted):
                self.story.learn(event)
            account.apply(event)
            for watcher in self.watchers:
                watcher(event, [])
        self.ledger.count(account.turns, *account.tokens_in_out)

    @property
    def lost(self) -> int:
        """Entries that are not in the dialog because it could not be written."""
        return self._unwritten + self.dialog.refused

    @property
    def losses(self) -> str:
        """What is missing from the dialog, in words; empty when nothing is."""
        parts = []
        if self.dialog.thinned:
            parts.append(f"{self.dialog.thinned} entries left out to bound its size")
        if self.lost:
            error = self.keeper.error
            why = f" ({error.strerror})" if error else ""
            parts.append(f"{self.lost} entries could not be written{why}")
        return "; ".join(parts)

    def complete(self, outcome: Outcome, duration_ms: int, message: str) -> None:
        """End the dialog."""
        last = self.dialog.complete(
            outcome.status,
            duration_ms=duration_ms,
            now=time.time(),
            message=message,
            unfinished=outcome.unfinished,
        )
        seq = last[0]["seq"]
        for entry in last:
            entry["seq"] = seq  # what cannot be written leaves no gap
            line = encode_own(entry)
            written = self.keeper.append_last(self._bounded(entry, line))
            seq += written
            self.written += written
        for watcher in self.watchers:
            watcher(None, last)

    @property
    def last_said(self) -> str:
        """The agent's last word about itself: its last notice, else on stderr."""
        if self.story.notices:
            return self.story.notices[-1]
        text = self._stderr_end.decode("utf-8", "replace").strip()
        return strip_terminal(text.rpartition("\n")[2]).strip()[:LAST_WORD]

    def _keep_stderr(self, data: bytes) -> None:
        self.archive.stderr.append(data)
        self._stderr_end = (self._stderr_end + data)[-4 * LAST_WORD :]

    def _feed(self, data: bytes) -> None:
        self._record(self.reader.feed(data))
        self.archive.stdout.append(data)

    def _record(self, events: Iterable[Event]) -> None:
        if self.dialog.state == "COMPLETE":  # somebody else's late words
            return
        now, moment = time.time(), time.monotonic()
        apply, watchers = self.dialog.apply, self.watchers
        kinds: set[type[Event]] = set()
        try:
            for event in events:
                kind = type(event)
                kinds.add(kind)
                try:
                    new = apply(event, now)
                except (AttributeError, TypeError, ValueError) as error:
                    # A fact of the wrong shape, by an adapter of somebody's.
                    self.reader.note_failure(error)
                    continue
                if new:
                    self._take(new)
                if kind in TOLD_BY:
                    self.story.apply(event)
                if watchers:
                    self._write()
                    for watcher in watchers:
                        watcher(event, new)
        finally:
            self._write()
        self.clocks.apply(kinds, moment)
        self.keeper.copy()
        account = self.dialog.account
        self.ledger.count(account.turns, *account.tokens_in_out)

    def _take(self, new: list[Entry]) -> None:
        """Encode entries; they are written with the next ones, or by `_write`."""
        for entry in new:
            line = encode_own(entry)
            if self._budget.is_too_long(line):
                line = self._bounded(entry, line)
            self._lines.append(line)
            self._size += len(line)
        self._entries += new
        if self._size > AT_ONCE:
            self._write()

    def _write(self) -> None:
        """Write the entries that were taken, as far as that goes."""
        if not self._entries:
            return
        entries, lines = self._entries, self._lines
        self._entries, self._lines, self._size = [], [], 0
        # A second look: what the raw stream spelt in another way, or told in pieces.
        if self.redactor.found(b"".join(lines)):
            lines = list(map(self.redactor.replace_line, lines))
        budget = self._budget
        written = self.keeper.append(lines, budget.open_tools)
        self.written += written
        budget.spend(sum(map(len, lines)), len(lines))
        if written < len(lines):
            self._unwritten += len(lines) - written
            budget.close()
            self.dialog.undo(entries[written:])
        if self._sync_entries:
            self.archive.dialog.sync()

    def _bounded(self, entry: Entry, line: bytes) -> bytes:
        """Take the secrets out of an entry's line, then cut it to what it may take."""
        clean = self.redactor.replace_line(line)
        if not self._budget.is_too_long(clean):
            return clean
        # After the secrets: half of one is not found any more.
        self.cut += 1
        if clean is not line or "args" in entry:  # which may hold anything
            entry = json.loads(clean)
        return encode_shortened(entry, len(clean), self._budget.longest_line)
