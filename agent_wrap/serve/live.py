"""The live session of one run: told what is recorded, served beside it.

Nothing here may delay or fail the run: what goes wrong is said once, and the run goes
on without its live session. The web server is loaded in a thread, while the agent
works.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import anyio
import anyio.to_thread

from agent_wrap.entries import Entry, timestamp
from agent_wrap.events import Event
from agent_wrap.outcome import Outcome
from agent_wrap.serve.access import only_key
from agent_wrap.serve.feed import Feed, Hub, now_ms
from agent_wrap.serve.listener import Listener
from agent_wrap.serve.logins import Logins
from agent_wrap.serve.session import Session
from agent_wrap.stderr import say

SHUTDOWN = 3.0
"""Seconds within which the server must have ended; it allows its readers one."""

LONGEST_TITLE = 80

Answerer = Callable[[str, str, Mapping[str, Any] | None], bool]
"""Takes the agent's own id of what it asked, a resolution, and content."""


class Live:
    """One session that one run fills. Made on the run's event loop."""

    def __init__(
        self,
        listener: Listener,
        *,
        title: str,
        cwd: str,
        runtime: Callable[[], str],
        prompt: str | None,
        heartbeat: float,
        ask_timeout: float,
        announce: str,
        clean: Callable[[bytes], bytes],
    ) -> None:
        now = now_ms()
        self.hub = Hub(heartbeat)
        self.session = Session(
            str(uuid.uuid4()), now, clean=clean, interaction_ms=int(ask_timeout * 1000)
        )
        self.answer: Answerer = lambda interaction_id, resolution, content: False
        """Hands an answer to the agent; false: it does not wait for it."""
        self.session.listener = self._heard
        self._feed = Feed(self.session, self.hub, cwd)
        self._listener = listener
        self._announce_to = announce
        self._title = title[:LONGEST_TITLE]
        self._created = timestamp(now / 1000)
        self._updated = self._created
        self._runtime = runtime
        self._done = False
        self._broken = False
        self._stop = anyio.Event()
        self._ended = anyio.Event()
        self._server: Any = None
        if prompt is not None:
            self.session.begin_turn(prompt)

    def watch(self, event: Event | None, new: list[Entry]) -> None:
        """Take a fact that was recorded (a recorder's watcher)."""
        if event is not None and not self._broken:
            try:
                self.session.apply(event, now_ms())
            except Exception as error:  # a bug of ours: the run goes on
                self._break(error)

    def finish(self, outcome: Outcome, message: str, agents_word: str) -> None:
        """Take the end of the run, once its dialog is complete."""
        try:
            self._done = True
            self.session.end_turn(
                outcome.reason,
                message,
                now_ms(),
                agents_word=agents_word,
                unfinished=outcome.unfinished,
            )
        except Exception as error:
            self._break(error)

    def stop(self) -> None:
        """Do not linger any longer."""
        self._stop.set()

    async def serve(self) -> None:
        """Serve until told to end."""
        try:
            load = anyio.to_thread.run_sync
            page = await load(import_module, "agent_wrap.serve.page")
            answering = await load(import_module, "agent_wrap.serve.answering")
            more = answering.Answering(self).routes()
            knows_key = only_key(self._listener.key)
            app = page.make_app(self, self._listener.host, knows_key, Logins(), more)
            web = import_module("agent_wrap.serve.web")
            self._server = web.Server(app, self._started)
            self._server.should_exit = self._stop.is_set() and self._done
            await self._server.serve([self._listener.socket])
        except (Exception, SystemExit) as error:
            self._break(error)
        finally:
            self._stop.set()
            self._ended.set()

    async def linger(self, seconds: float) -> None:
        """Serve on for so long, then give the readers what is left, and end."""
        with anyio.move_on_after(seconds):
            await self._stop.wait()
        self._stop.set()
        self._feed.close()
        self.hub.close()
        if self._server is not None:
            self._server.should_exit = True
        with anyio.move_on_after(SHUTDOWN):
            await self._ended.wait()

    def feed(self, session_id: str) -> Feed | None:
        """Give the session's feed; there is only this one."""
        return self._feed if session_id == self.session.id else None

    def knows(self, session_id: str) -> bool:
        """Is it this session?"""
        return session_id == self.session.id

    async def settle(
        self,
        session_id: str,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None,
    ) -> None:
        """Hand an answer to the agent; what does not wait ends with its turn."""
        self.answer(interaction_id, resolution, content)

    def finished(self, session_id: str) -> bool:
        """Has the run ended?"""
        return self._done

    def known_feeds(self) -> list[Feed]:
        """Give the session's feed."""
        return [self._feed]

    def describe(self) -> list[dict[str, Any]]:
        """Give the list of sessions: this one."""
        status = self.session.status
        told = {
            "id": self.session.id,
            "title": self._title,
            "createdAt": self._created,
            "updatedAt": self._updated,
            "permissionMode": status["permissionMode"],
            "runtime": self._runtime() or "agent",
            "cwd": self._feed.cwd,
        }
        return [told if status["model"] is None else {**told, "model": status["model"]}]

    def _heard(self, kind: str) -> None:
        self._feed.changed()
        if kind in ("turn_start", "turn_end"):
            self._updated = timestamp(now_ms() / 1000)
            self.hub.publish("session_upserted", session=self.describe()[0])

    def _started(self) -> None:
        listener, session_id = self._listener, self.session.id
        say(f"live session: {listener.url}/api/sessions/{session_id}/events")
        say(f"its page: {listener.url}/#{session_id}")
        if self._announce_to:
            told = json.dumps({"port": listener.port, "session": session_id})
            _write_whole(self._announce_to, told.encode() + b"\n")

    def _break(self, error: BaseException) -> None:
        if not self._broken:
            self._broken = True
            say(f"the live session has ended: {type(error).__name__}: {error}")
        self._feed.close()


def _write_whole(path: str, data: bytes) -> None:
    """Write a file that nobody sees half of."""
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "wb") as file:
            file.write(data)
        os.replace(draft, path)
    except OSError as error:
        say(f"--serve-announce {path}: {error.strerror or error}")
