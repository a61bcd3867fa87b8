"""A live session on a real socket whose facts the test gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal

from agent_wrap.events import Event
from agent_wrap.outcome import Outcome
from agent_wrap.serve.listener import listen
from agent_wrap.serve.live import Live
from agent_wrap.serve.log import Log

from ..harness import wait_for
from .client import ListParser, Parser, Stream, get

GOOD = Outcome("success", 0, "completed")


class Served:
    """The session and its server; every call happens on the server's loop."""

    def __init__(self, portal: BlockingPortal, live: Live, port: int) -> None:
        self.portal = portal
        self.live = live
        self.port = port
        self.id = live.session.id
        self.path = f"/api/sessions/{self.id}"

    def tell(self, *events: Event) -> None:
        def tell() -> None:
            for event in events:
                self.live.watch(event, [])

        self.portal.call(tell)

    def finish(
        self, outcome: Outcome = GOOD, message: str = "", word: str = ""
    ) -> None:
        self.portal.call(self.live.finish, outcome, message, word)

    def open(
        self, last: str | None = None, *, query: str = "", buffer: int = 0
    ) -> Stream:
        """Connect; a client that resumes has what its id says."""
        mark = int(last.rpartition("-")[2]) if last else None
        return Stream(
            self.port,
            f"{self.path}/events{query}",
            parser=Parser(mark),
            last=last,
            buffer=buffer,
        )

    def open_list(self) -> Stream:
        return Stream(self.port, "/api/events", parser=ListParser())

    def frame_id(self, seq: object) -> str:
        return f"{self.id}-{self.live.session.epoch}-{seq}"

    @property
    def readers(self) -> int:
        feed = self.live.feed(self.id)
        assert feed is not None
        return len(feed.readers)


@contextmanager
def serve(
    *,
    heartbeat: float = 60.0,
    prompt: str | None = None,
    log: Log | None = None,
    key: str = "",
    announce: Path | None = None,
) -> Iterator[Served]:
    """Serve a session until the block ends."""
    listener = listen("127.0.0.1", 0, key)
    with start_blocking_portal("asyncio") as portal:

        def make() -> Live:
            live = Live(
                listener,
                title="a test",
                cwd="/somewhere",
                runtime=lambda: "tester",
                prompt=None,
                heartbeat=heartbeat,
                ask_timeout=600.0,
                announce=str(announce or ""),
                clean=lambda line: line,
            )
            if log is not None:
                live.session.log = log
            if prompt is not None:
                live.session.begin_turn(prompt)
            return live

        live = portal.call(make)
        serving = portal.start_task_soon(live.serve)
        timing = portal.start_task_soon(live.hub.run)
        served = Served(portal, live, listener.port)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        wait_for(lambda: get(served.port, "/health", **headers)[0] == 200, "a server")
        try:
            yield served
        finally:
            portal.call(live.linger, 0.0)
            serving.result(20)
            timing.cancel()
