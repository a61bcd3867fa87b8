"""The page: its files out of the package, and what this server lets it do.

Its policy allows its own files and nothing else: no script in the markup, no other
site, no text that becomes markup (Trusted Types).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib import resources

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agent_wrap.serve.access import Access
from agent_wrap.serve.login import Login
from agent_wrap.serve.logins import Logins
from agent_wrap.serve.web import Sessions, http_error
from agent_wrap.serve.web import make_app as make_api

INDEX = "index.html"
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def make_app(
    sessions: Sessions,
    host: str,
    knows_key: Callable[[str], bool] | None,
    logins: Logins,
    more: Sequence[Route] = (),
) -> ASGIApp:
    """Make the application for some sessions, with their page."""
    access = Access(host, knows_key, logins.know)
    login = Login(knows_key, logins).routes() if knows_key else []
    return make_api(sessions, access, [*more, *login, *Page().routes()])


class Page:
    """The files, read once."""

    def __init__(self) -> None:
        folder = resources.files("agent_wrap.serve").joinpath("static")
        self._files = {
            file.name: file.read_bytes()
            for file in folder.iterdir()
            if file.name.rpartition(".")[2] in TYPES
        }

    def routes(self) -> list[Route]:
        """Give the routes."""
        return [
            Route("/", self.index),
            Route("/page/{name}", self.file),
            Route("/api/features", self.features),
        ]

    async def index(self, request: Request) -> Response:
        """Give the page."""
        return self._answer(request, INDEX)

    async def file(self, request: Request) -> Response:
        """Give a file of the page."""
        return self._answer(request, request.path_params["name"])

    async def features(self, request: Request) -> Response:
        """Say what can be done here: that for which there is a route."""
        there = {
            (method, route.path.rpartition("/")[2])
            for route in request.app.routes
            if isinstance(route, Route)
            for method in route.methods or ()
        }
        return JSONResponse(
            {
                "send": ("POST", "messages") in there,
                "interrupt": ("POST", "interrupt") in there,
                "answer": ("POST", "approve") in there,
                "logout": ("POST", "logout") in there,
            }
        )

    def _answer(self, request: Request, name: str) -> Response:
        data = self._files.get(name)
        if data is None:
            raise http_error(404, "No such file", "NOT_FOUND")
        etag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
        headers = {**HEADERS, "ETag": etag}
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        kind = TYPES[name.rpartition(".")[2]]
        return Response(data, headers=headers, media_type=kind)
