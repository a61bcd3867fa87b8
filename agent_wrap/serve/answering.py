"""What clients answer to what an agent asked: approve, deny, answers, forms.

The first answer wins. It is told as done only once the agent's side has settled it so:
whoever comes when the time is over, or the turn, is told that it was too late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent_wrap.serve.bodies import invalid, read_object, text_of
from agent_wrap.serve.feed import Feed
from agent_wrap.serve.web import http_error, refuse, session_id_of

PATIENCE = 10.0
"""Seconds that a run may take to hand an answer to its agent."""

_ACTIONS = {"accept": "answered", "decline": "denied", "cancel": "cancelled"}


class Asking(Protocol):
    """Sessions whose agents ask."""

    def knows(self, session_id: str) -> bool:
        """Is there such a session?"""
        ...

    def feed(self, session_id: str) -> Feed | None:
        """Give a session's feed, None when there is no such session."""
        ...

    async def settle(
        self,
        session_id: str,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None,
    ) -> None:
        """Hand an answer to the agent's run."""
        ...


class Answering:
    """The handlers."""

    def __init__(self, sessions: Asking) -> None:
        self._sessions = sessions

    def routes(self) -> list[Route]:
        """Give the routes."""
        handlers = {
            "approve": self.approve,
            "deny": self.deny,
            "batch-approve": self.approve_all,
            "batch-deny": self.deny_all,
            "submit-answers": self.answer,
            "submit-elicitation": self.fill_in,
        }
        return [
            Route(f"/api/sessions/{{session_id}}/{name}", handler, methods=["POST"])
            for name, handler in handlers.items()
        ]

    async def approve(self, request: Request) -> Response:
        """Let a tool run."""
        return await self._decide(request, "approved")

    async def deny(self, request: Request) -> Response:
        """Do not let a tool run."""
        return await self._decide(request, "denied")

    async def approve_all(self, request: Request) -> Response:
        """Let several tools run."""
        return await self._decide_all(request, "approved")

    async def deny_all(self, request: Request) -> Response:
        """Do not let several tools run."""
        return await self._decide_all(request, "denied")

    async def answer(self, request: Request) -> Response:
        """Answer questions: number -> text."""
        session_id, body = session_id_of(request), await read_object(request)
        tool, answers = text_of(body, "toolCallId"), body.get("answers")
        if not isinstance(answers, dict):
            raise invalid()
        if not all(isinstance(text, str) for text in answers.values()):
            raise invalid()
        done = await self._settle(session_id, tool, "question", "answered", answers)
        return _told(done)

    async def fill_in(self, request: Request) -> Response:
        """Answer a form: its fields, or that it is not filled in."""
        session_id, body = session_id_of(request), await read_object(request)
        form, content = text_of(body, "interactionId"), body.get("content")
        resolution = _ACTIONS.get(text_of(body, "action"))
        if resolution is None or not isinstance(content, dict | None):
            raise invalid()
        fields = (content or {}) if resolution == "answered" else None
        return _told(
            await self._settle(session_id, form, "elicitation", resolution, fields)
        )

    async def _decide(self, request: Request, resolution: str) -> Response:
        session_id, body = session_id_of(request), await read_object(request)
        tool = text_of(body, "toolCallId")
        return _told(await self._settle(session_id, tool, "approval", resolution))

    async def _decide_all(self, request: Request, resolution: str) -> Response:
        session_id, body = session_id_of(request), await read_object(request)
        tools = body.get("toolCallIds")
        if not isinstance(tools, list) or not tools:
            raise invalid()
        if not all(isinstance(tool, str) for tool in tools):
            raise invalid()
        results = []
        for tool in tools:
            done = await self._settle(session_id, tool, "approval", resolution)
            results.append({"toolCallId": tool, "ok": done})
        return JSONResponse({"results": results})

    async def _settle(
        self,
        session_id: str,
        shown: str,
        kind: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> bool:
        """Hand an answer on; say whether it is the one that counts."""
        feed = self._sessions.feed(session_id)
        if feed is None or not self._sessions.knows(session_id):
            code = f"NO_PENDING_{kind.upper()}"
            raise http_error(404, "There is no such session", code)
        asked = feed.session.claim(shown, kind)
        if asked is None:
            return False
        await self._sessions.settle(session_id, asked, resolution, content)
        settled = await feed.settled(shown, PATIENCE)
        if settled is None:
            raise http_error(503, "The run does not take the answer", "NOT_DELIVERED")
        return settled == resolution


def _told(done: bool) -> Response:
    if done:
        return JSONResponse({"ok": True})
    return refuse(409, "Interaction already resolved", "INTERACTION_ALREADY_RESOLVED")
