"""The routes, as an ASGI application, and the server that runs it on our loop.

Only this module, `bodies`, `login`, `page` and `posting` import the web server's
packages.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from socket import socket
from typing import Any, Protocol

import uvicorn
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_wrap.entries import timestamp
from agent_wrap.serve.access import Access
from agent_wrap.serve.feed import Feed, Hub, now_ms
from agent_wrap.serve.wire import frame

MAX_READERS = 500
GOODBYE = 1
"""Seconds that readers may take to get their last bytes when the server ends."""

STREAM_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
}
_SILENT = logging.CRITICAL + 1
_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "sse_starlette.sse")


class Sessions(Protocol):
    """What is served: one session of a run, or many."""

    hub: Hub

    def feed(self, session_id: str) -> Feed | None:
        """Give a session's feed, None when there is no such session."""
        ...

    def known_feeds(self) -> Iterable[Feed]:
        """Give the feeds whose state a reader of the list is told at first."""
        ...

    def describe(self) -> list[dict[str, Any]]:
        """Give the list of sessions."""
        ...

    def finished(self, session_id: str) -> bool:
        """Will nothing more ever come of this session?"""
        ...


def make_app(sessions: Sessions, access: Access, more: Sequence[Route] = ()) -> ASGIApp:
    """Make the application for some sessions; `more` routes come first."""
    slots = _Slots()
    routes = Routes(sessions)
    one = "/api/sessions/{session_id}"
    app = Starlette(
        routes=[
            *more,
            Route("/api/health", routes.health),
            Route("/health", routes.health),
            Route("/api/events", _Stream(routes.list_stream, slots), methods=["GET"]),
            Route("/api/sessions", routes.listing),
            Route(one, routes.session),
            Route(f"{one}/messages", routes.messages),
            Route(f"{one}/events", _Stream(routes.stream, slots), methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error},
    )
    return _Guarded(app, access)


def refuse(status: int, error: str, code: str, **more: Any) -> JSONResponse:
    """Answer with an error, in the protocol's shape."""
    return JSONResponse({"error": error, "code": code, **more}, status)


def http_error(status: int, error: str, code: str) -> HTTPException:
    """Make an error that ends the handling of a request."""
    return HTTPException(status, detail=f"{code}: {error}")


class Routes:
    """The handlers, each for one route."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions

    async def health(self, request: Request) -> Response:
        """Say that the server lives."""
        return JSONResponse({"status": "ok"})

    async def listing(self, request: Request) -> Response:
        """Give the list of sessions."""
        return JSONResponse({"sessions": self.sessions.describe()})

    async def session(self, request: Request) -> Response:
        """Describe one session."""
        session_id = session_id_of(request)
        for known in self.sessions.describe():
            if known["id"] == session_id:
                return JSONResponse(known)
        raise http_error(404, "Session not found", "SESSION_NOT_FOUND")

    async def messages(self, request: Request) -> Response:
        """Give the history of one session."""
        session = self._feed(request).session
        etag = f'"{session.epoch}-{session.kept}"'
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers={"ETag": etag})
        return Response(
            session.messages(),
            media_type="application/json",
            headers={"ETag": etag},
        )

    def stream(self, request: Request) -> ASGIApp:
        """Stream one session: snapshot or replay, then live."""
        feed = self._feed(request)
        position = feed.session.resume(
            request.headers.get("last-event-id") or request.query_params.get("resume"),
            request.query_params.get("after"),
        )
        done = self.sessions.finished(feed.session.id)
        if done and position == feed.session.cursor:
            return Response(status_code=204)  # a browser stops asking
        return _Pinned(feed, _event_stream(feed.read(position)))

    def list_stream(self, request: Request) -> ASGIApp:
        """Stream what changes in the list of sessions."""
        connected = b'{"connectedAt":"%b"}' % timestamp(now_ms() / 1000).encode()
        first = [frame("connected", connected)[0]]
        for feed in self.sessions.known_feeds():
            if feed.session.status["lifecycle"] in _SHOWN_FIRST:
                first.append(feed.status_frame())
        return _event_stream(self.sessions.hub.read(first))

    def _feed(self, request: Request) -> Feed:
        feed = self.sessions.feed(session_id_of(request))
        if feed is None:
            raise http_error(404, "Session not found", "SESSION_NOT_FOUND")
        return feed


_SHOWN_FIRST = frozenset({"streaming", "blocked", "error"})


def session_id_of(request: Request) -> str:
    """Give the id in the path of a request: a UUID, in lower case."""
    text = str(request.path_params["session_id"])
    try:
        if len(text) == 36:
            return str(uuid.UUID(text))
    except ValueError:
        pass
    raise http_error(400, "Invalid session ID", "INVALID_SESSION_ID")


def _event_stream(content: AsyncIterator[bytes]) -> Response:
    # No pings of theirs: one could fall into the middle of a frame.
    return EventSourceResponse(content, ping=0, sep="\n", headers=STREAM_HEADERS)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, found, text = error.detail.partition(": ")
    if not found:
        code, text = error.detail.upper().replace(" ", "_"), error.detail
    return refuse(error.status_code, text, code)


class _Slots:
    """How many streams are open."""

    def __init__(self) -> None:
        self.used = 0


class _Stream:
    """An endpoint that streams: its slot is free again however it ends."""

    def __init__(self, answer: Callable[[Request], ASGIApp], slots: _Slots) -> None:
        self._answer = answer
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._slots.used >= MAX_READERS:
            full = refuse(503, "Too many SSE clients", "TOO_MANY_CLIENTS")
            await full(scope, receive, send)
            return
        self._slots.used += 1
        try:
            await self._answer(Request(scope))(scope, receive, send)
        finally:
            self._slots.used -= 1


class _Pinned:
    """A stream that keeps its session in memory, however it ends."""

    def __init__(self, feed: Feed, response: ASGIApp) -> None:
        self._feed = feed
        self._response = response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._feed.pins += 1
        try:
            await self._response(scope, receive, send)
        finally:
            self._feed.pins -= 1


class _Guarded:
    """Asks who may ask, before anything else."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._access.refusal(
            Headers(scope=scope), scope["method"], scope["path"]
        )
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refuse(*refusal)(scope, receive, send)


class Server(uvicorn.Server):
    """A server on a loop that is not its own: signals are not its business."""

    def __init__(self, app: ASGIApp, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GOODBYE,
            )
        )
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(_SILENT)
        self._on_started = started

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to serve, and say so."""
        await super().startup(sockets)
        self._on_started()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals to those who own the process."""
        yield
