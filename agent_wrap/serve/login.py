"""Logging in and out: a key in, a cookie out, so that a browser's EventSource may ask.

The cookie is not for scripts (HttpOnly) and is sent for our own pages alone
(SameSite=Strict); what it asks for must say its Origin (`access`).
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_wrap.serve.access import COOKIE, tokens_in
from agent_wrap.serve.bodies import invalid, read_object
from agent_wrap.serve.logins import LIFE, Logins
from agent_wrap.serve.web import refuse


class Login:
    """The handlers of a server with keys."""

    def __init__(self, knows_key: Callable[[str], bool], logins: Logins) -> None:
        self._knows_key = knows_key
        self._logins = logins

    def routes(self) -> list[Route]:
        """Give the routes."""
        return [
            Route("/api/login", self.login, methods=["POST"]),
            Route("/api/logout", self.logout, methods=["POST"]),
        ]

    async def login(self, request: Request) -> Response:
        """Give a cookie for a key."""
        key = (await read_object(request)).get("key")
        if not isinstance(key, str):
            raise invalid()
        key = key.strip()
        if not self._knows_key(key):
            return refuse(401, "This is not a key of this server", "AUTH_REQUIRED")
        response = Response(status_code=204)
        _set_cookie(request, response, self._logins.open(key), LIFE)
        return response

    async def logout(self, request: Request) -> Response:
        """Forget the login, here and in the browser."""
        for token in tokens_in(request.headers.get("cookie", "")):
            self._logins.close(token)
        response = Response(status_code=204)
        _set_cookie(request, response, "", 0)
        return response


def _set_cookie(request: Request, response: Response, value: str, life: int) -> None:
    port = request.headers.get("host", "").rpartition(":")[2]
    response.set_cookie(
        f"{COOKIE}-{port}" if port.isdigit() else COOKIE,
        value,
        max_age=life,
        httponly=True,
        samesite="strict",
        # Whether a proxy in front speaks TLS, only the browser can say.
        secure=request.headers.get("origin", "").startswith("https://"),
    )
