"""What clients can do: begin a turn, interrupt it. Everything else is reading."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent_wrap.serve.bodies import invalid, read_object, text_of
from agent_wrap.serve.many import Many
from agent_wrap.serve.web import http_error, refuse, session_id_of

LONGEST_CLIENT = 200


class Posting:
    """The handlers; `roots` (real paths) are where a turn may work."""

    def __init__(self, many: Many, roots: Sequence[str]) -> None:
        self._many = many
        self._roots = list(roots)

    def routes(self) -> list[Route]:
        """Give the routes."""
        one = "/api/sessions/{session_id}"
        return [
            Route(f"{one}/messages", self.message, methods=["POST"]),
            Route(f"{one}/interrupt", self.interrupt, methods=["POST"]),
        ]

    async def message(self, request: Request) -> Response:
        """Begin a turn; its events come on the session's stream alone."""
        session_id = session_id_of(request)
        body = await read_object(request)
        content, cwd = text_of(body, "content"), body.get("cwd")
        if not isinstance(cwd, str | None):
            raise invalid()
        held = self._many.hold(session_id)
        place = self._place(cwd or held.meta.cwd or self._many.home)
        client = request.headers.get("x-client-id") or str(uuid.uuid4())
        if held.turn is not None:
            return refuse(
                409,
                "Session locked",
                "SESSION_LOCKED",
                lockedBy=held.turn.client,
                lockedAt=held.turn.since,
            )
        if self._many.closing:
            raise http_error(503, "The server is ending", "SHUTTING_DOWN")
        self._many.start(held, content, place, client[:LONGEST_CLIENT])
        return JSONResponse({"sessionId": session_id}, 202)

    async def interrupt(self, request: Request) -> Response:
        """End the turn under way, if there is one."""
        turn = self._many.hold(session_id_of(request)).turn
        if turn is not None:
            turn.stop()
        return JSONResponse({"ok": turn is not None})

    def _place(self, cwd: str) -> str:
        """Give the real path of a folder, which must lie below a root."""
        if "\0" in cwd:
            raise invalid()
        place = os.path.realpath(cwd)
        if not any(os.path.commonpath([place, root]) == root for root in self._roots):
            raise http_error(403, "This folder is not served", "CWD_NOT_ALLOWED")
        if not os.path.isdir(place):
            raise http_error(400, "No such folder", "VALIDATION_ERROR")
        return place
