"""The client's side of `codex app-server`: requests, answers, interrupting.

The id spaces of the two sides are apart: the server counts its requests from 0 too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent_wrap import Brief
from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    Event,
    InteractionResolved,
    Notice,
    QuestionAsked,
    RunFinished,
    Send,
    Unknown,
)
from agent_wrap.shapes import get_dict, get_dicts, get_text
from agent_wrap_adapters.two_way import (
    NOT_OFFERED,
    answers_by,
    nothing_to_ask,
    resolved,
    send,
)

INITIALIZE, START_THREAD, START_TURN, INTERRUPT, RESUME_THREAD = range(1, 6)
_DECISIONS = {"approved": "accept", "answered": "accept", "denied": "decline"}


class Client:
    """One thread with one turn, and what the server asks meanwhile."""

    def __init__(self) -> None:
        self.thread = ""
        self.turn = ""
        self._brief = Brief()
        self._asked: dict[str, dict[str, Any]] = {}

    def start(self, brief: Brief) -> Iterator[Event]:
        """Say hello; the thread follows when the answer has come."""
        self._brief = brief
        if brief.two_way and not brief.prompt:
            yield from nothing_to_ask()
        elif brief.two_way:
            about = {"name": "agent-wrap", "title": "agent-wrap", "version": "1"}
            yield _request(INITIALIZE, "initialize", {"clientInfo": about})

    def answered(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read the answer to a request of ours, and go on to the next one."""
        request, error = event.get("id"), get_text(get_dict(event, "error"), "message")
        if error and self._brief.two_way and request == RESUME_THREAD:
            session = self._brief.session
            yield Notice(f"thread {session} cannot be continued: {error}")
            yield self._start_thread()
        elif error and self._brief.two_way and request != INTERRUPT:
            yield RunFinished(False, error, "error")
        elif error:
            yield Notice(error)
        elif not self._brief.two_way:
            return
        elif request == INITIALIZE:
            yield send({"method": "initialized"})
            yield (
                self._start_thread()
                if not self._brief.session
                else _request(
                    RESUME_THREAD,
                    "thread/resume",
                    {"threadId": self._brief.session, "cwd": self._brief.cwd},
                )
            )
        elif request in (START_THREAD, RESUME_THREAD):
            told = [{"type": "text", "text": self._brief.prompt}]
            params = {"threadId": self.thread, "input": told}
            if _could_do_nothing(get_dict(event, "result")):
                params["approvalPolicy"] = "untrusted"
            yield _request(START_TURN, "turn/start", params)

    def _start_thread(self) -> Send:
        return _request(START_THREAD, "thread/start", {"cwd": self._brief.cwd})

    def asked(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a request of the server."""
        method, params = get_text(event, "method"), get_dict(event, "params")
        asked = _interaction(str(event["id"]), method, params)
        if asked is not None:
            self._asked[str(event["id"])] = event
            yield asked
            return
        yield Unknown(method)
        if self._brief.two_way:  # it waits for an answer, whatever it asked
            yield send({"id": event["id"], "error": NOT_OFFERED})

    def resolved(self, request_id: str) -> Iterator[Event]:
        """Read that a request is settled; the line does not say what was decided."""
        if self._asked.pop(request_id, None) is not None:
            yield InteractionResolved(request_id, "answered")

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """Say what was decided on something that the server asked."""
        event = self._asked.pop(interaction_id, None)
        if event is None:
            return
        method, params = get_text(event, "method"), get_dict(event, "params")
        decision = _DECISIONS.get(resolution, "cancel")
        if method == "item/permissions/requestApproval":
            granted = get_dict(params, "permissions") if decision == "accept" else {}
            result: dict[str, Any] = {"permissions": granted}
        elif method.endswith("requestApproval"):
            result = {"decision": decision}
        elif method == "item/tool/requestUserInput":
            said = answers_by("id", get_dicts(params, "questions"), content or {})
            result = {"answers": {key: {"answers": [a]} for key, a in said.items()}}
        else:
            told = dict(content or {}) if resolution == "answered" else None
            result = {"action": decision, "content": told}
        yield send({"id": event["id"], "result": result})
        yield resolved(interaction_id, resolution)

    def cancel(self) -> Iterator[Event]:
        """Cancel what is asked, and interrupt the turn."""
        for interaction_id in list(self._asked):
            yield from self.answer(interaction_id, "cancelled")
        if self.turn:
            params = {"threadId": self.thread, "turnId": self.turn}
            yield _request(INTERRUPT, "turn/interrupt", params)


def _could_do_nothing(started: dict[str, Any]) -> bool:
    """Is this the default: to ask only when the model wants to, all else read-only?

    What a command writes fails then, and no line says so: it is to ask instead.
    Whatever else the configuration says stands.
    """
    sandbox = get_text(get_dict(started, "sandbox"), "type")
    return started.get("approvalPolicy") == "on-request" and sandbox == "readOnly"


def _interaction(
    request_id: str, method: str, params: dict[str, Any]
) -> ApprovalAsked | QuestionAsked | ElicitationAsked | None:
    """Give what a request asks a person; None: it asks no person."""
    item_id = get_text(params, "itemId")
    if method == "item/commandExecution/requestApproval":
        args = {"command": get_text(params, "command")}
        return ApprovalAsked(request_id, "bash", args, item_id)
    if method == "item/fileChange/requestApproval":
        args = {"reason": get_text(params, "reason")}
        return ApprovalAsked(request_id, "apply_patch", args, item_id)
    if method.startswith("item/") and method.endswith("/requestApproval"):
        return ApprovalAsked(request_id, method.split("/")[1], params, item_id)
    if method == "item/tool/requestUserInput":
        questions = tuple(get_dicts(params, "questions"))
        return QuestionAsked(request_id, questions, item_id)
    if method == "mcpServer/elicitation/request":
        return ElicitationAsked(
            request_id,
            get_text(params, "serverName"),
            get_text(params, "message"),
            get_dict(params, "requestedSchema"),
            get_text(params, "url"),
        )
    return None


def _request(number: int, method: str, params: dict[str, Any]) -> Send:
    return send({"id": number, "method": method, "params": params})
