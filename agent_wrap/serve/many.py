"""Many sessions: loaded from disk, each with at most one turn at a time.

A turn is a run with an archive of its own. A session is locked as long as its run
lives, whoever asks; it is free again before the turn's end can be read.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from agent_wrap import api
from agent_wrap.entries import timestamp
from agent_wrap.errors import AgentWrapError
from agent_wrap.events import RunFinished, SessionStarted
from agent_wrap.options import is_plain
from agent_wrap.serve.feed import Bell, Feed, Hub, now_ms
from agent_wrap.serve.session import Session
from agent_wrap.serve.store import EventFile, Meta, Store
from agent_wrap.stderr import say

LONGEST_TITLE = 80
LOADED = 50
"""Sessions in memory; the idle ones beyond it are loaded again when asked for."""

CUT = "the server ended while this turn ran"
PATIENCE = 15.0
"""Seconds that the run of an earlier server may take to end when it is told to."""


class Turn:
    """A turn under way: who asked for it, since when, and its run once it is there."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.since = timestamp(now_ms() / 1000)
        self.run: api.Run | None = None
        self.stopped = False

    def stop(self) -> None:
        """End it as a stop signal would."""
        self.stopped = True
        if self.run is not None:
            self.run.stop()


class Held:
    """A session in memory."""

    def __init__(
        self, meta: Meta, session: Session, feed: Feed, file: EventFile
    ) -> None:
        self.meta = meta
        self.session = session
        self.feed = feed
        self.file = file
        self.turn: Turn | None = None

    @property
    def idle(self) -> bool:
        """Does nobody need it now?"""
        return self.turn is None and not self.feed.pins


class Many:
    """The sessions of one server."""

    def __init__(
        self,
        store: Store,
        tasks: TaskGroup,
        *,
        command: Sequence[str],
        next_command: Sequence[str],
        options: Mapping[str, Any],
        heartbeat: float,
        ask_timeout: float,
        home: str,
        clean: Callable[[bytes], bytes] = lambda line: line,
    ) -> None:
        self.hub = Hub(heartbeat)
        self.home = home
        self.closing = False
        self._store = store
        self._tasks = tasks
        self._command = list(command)
        self._next_command = list(next_command)
        self._options = dict(options)
        self._clean = clean
        self._interaction_ms = int(ask_timeout * 1000)
        self._metas = {meta.id: meta for meta in store.metas()}
        self._held: dict[str, Held] = {}
        self._ends = Bell()

    def feed(self, session_id: str) -> Feed:
        """Give a session's feed; one that nobody has named yet is empty."""
        return self.hold(session_id).feed

    def knows(self, session_id: str) -> bool:
        """Has anybody written to this session?"""
        return session_id in self._metas

    async def settle(
        self,
        session_id: str,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None,
    ) -> None:
        """Hand an answer to the turn's run."""
        turn = self.hold(session_id).turn
        if turn is not None and turn.run is not None:
            await turn.run.answer(interaction_id, resolution, content)

    def finished(self, session_id: str) -> bool:
        """Sessions of a server are never finished."""
        return False

    def known_feeds(self) -> Iterator[Feed]:
        """Give the feeds of all sessions, one after the other."""
        return map(self.feed, list(self._metas))

    def describe(self) -> list[dict[str, Any]]:
        """Give the list of sessions, the latest first."""
        latest = sorted(self._metas.values(), key=lambda meta: -meta.updated)
        return [self._described(meta) for meta in latest]

    def hold(self, session_id: str) -> Held:
        """Give a session, loaded."""
        held = self._held.pop(session_id, None) or self._load(session_id)
        self._held[session_id] = held  # the last used is the last
        if len(self._held) > LOADED:
            for other in [*self._held.values()][:-1]:
                if other.idle and len(self._held) > LOADED:
                    other.file.close()
                    del self._held[other.meta.id]
        return held

    def start(self, held: Held, content: str, cwd: str, client: str) -> None:
        """Begin a turn. Whoever calls has seen that there is none."""
        turn = held.turn = Turn(client)
        meta = held.meta
        meta.cwd = cwd
        meta.title = meta.title or next(iter(content.splitlines()), "")[:LONGEST_TITLE]
        meta.turns += 1
        meta.running = True
        self._touch(meta)
        held.session.begin_turn(content)
        self._tasks.start_soon(self._run, held, turn, content)

    def stop_all(self) -> None:
        """End all turns, and begin no more."""
        self.closing = True
        for held in self._held.values():
            if held.turn is not None:
                held.turn.stop()

    async def until_idle(self) -> None:
        """Wait until no turn is under way."""
        while self.busy:
            await self._ends.wait()

    @property
    def busy(self) -> bool:
        """Is any turn under way?"""
        return any(held.turn is not None for held in self._held.values())

    def close(self) -> None:
        """Let all readers end."""
        for held in self._held.values():
            held.feed.close()
            held.file.close()
        self.hub.close()

    async def finish_cut_turns(self) -> None:
        """End the turns that an earlier server left, and their runs if they live."""
        for meta in [meta for meta in self._metas.values() if meta.running]:
            await _end_runs_of(self._store.turn_archive(meta))
            held = self.hold(meta.id)
            if held.session.in_turn:
                summary = self._store.summary(meta)
                if summary.get("reason", "stopped") == "stopped":  # by us, just now
                    held.session.end_turn("wrapper_killed", CUT, now_ms())
                else:
                    reason, said = str(summary["reason"]), str(summary.get("message"))
                    held.session.end_turn(reason, said, now_ms())
            meta.running = False
            self._touch(meta)

    async def _run(self, held: Held, turn: Turn, content: str) -> None:
        """Run the agent for one turn, and tell how it ended."""
        reason, message, word = "internal", "", ""
        meta, session = held.meta, held.session
        try:
            async with api.open_run(
                self._words(meta),
                **self._options,
                resume=None if self._next_command else meta.agent_session or None,
                archive=self._store.turn_archive(meta),
                prompt=content,
                cwd=meta.cwd,
            ) as run:
                turn.run = run
                if turn.stopped:
                    run.stop()
                async for event in run:
                    if isinstance(event, SessionStarted) and is_plain(event.session_id):
                        meta.agent_session = event.session_id
                    elif isinstance(event, RunFinished):
                        word = event.reason
                    session.apply(event, now_ms())
                result = await run.result()
                reason, message = result.reason, result.message
        except AgentWrapError as error:
            message = str(error)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        held.turn = (
            None  # before the end can be read: the next message may come at once
        )
        session.end_turn(reason, message, now_ms(), agents_word=word)
        meta.running = False
        self._touch(meta)
        self._ends.ring()

    def _words(self, meta: Meta) -> list[str]:
        again = self._next_command and meta.agent_session
        words = self._next_command if again else self._command
        return [word.replace("{agent_session}", meta.agent_session) for word in words]

    def _load(self, session_id: str) -> Held:
        meta = self._metas.get(session_id)
        if meta is None:
            meta = Meta(session_id, now_ms())
        session = Session(
            session_id,
            meta.epoch,
            clean=self._clean,
            interaction_ms=self._interaction_ms,
        )
        file = self._store.events(session_id)
        for data, at in file.read():
            if not session.restore(data, at):
                break
        held = Held(meta, session, Feed(session, self.hub, meta.cwd), file)
        session.sink = lambda data: _write(session, file, data)
        session.listener = lambda kind: held.feed.changed()
        return held

    def _touch(self, meta: Meta) -> None:
        """Keep a session's changes, and tell the list."""
        meta.updated = now_ms()
        meta.created = meta.created or meta.updated
        self._metas[meta.id] = meta
        self._store.save(meta)
        held = self._held[meta.id]
        held.feed.cwd = meta.cwd
        self.hub.publish("session_upserted", session=self._described(meta))

    def _described(self, meta: Meta) -> dict[str, Any]:
        return {
            "id": meta.id,
            "title": meta.title,
            "createdAt": timestamp(meta.created / 1000),
            "updatedAt": timestamp(meta.updated / 1000),
            "permissionMode": "default",
            "runtime": os.path.basename(self._command[0]),
            "cwd": meta.cwd,
        }


def _write(session: Session, file: EventFile, data: bytes) -> None:
    """Write an event. If that fails, later ids must not be taken for those on disk."""
    try:
        file.append(data, now_ms())
    except OSError as error:
        session.epoch = max(now_ms(), session.epoch + 1)
        say(f"session {session.id} cannot be written: {error.strerror}")


async def _end_runs_of(archive: str) -> None:
    """End a run that still writes an archive, and wait for it, within bounds."""
    with anyio.move_on_after(PATIENCE):
        told: set[int] = set()
        while found := set(_processes_of(archive)):
            for pid in found - told:
                try:
                    os.kill(pid, signal.SIGTERM)
                except OSError:
                    continue
            told |= found
            await anyio.sleep(0.05)


def _processes_of(archive: str) -> list[int]:
    """Find the first process of the run that has this archive, by its command line."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue
        before = words[: words.index(b"--")] if b"--" in words else words
        if b"agent_wrap" in before and os.fsencode(archive) in before:
            found[int(name)] = parent
    return [pid for pid, parent in found.items() if parent not in found]
