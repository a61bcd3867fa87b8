"""The control protocol of the stream-json family: what is asked over stdin and stdout.

The agent asks for permission (`can_use_tool`), for an answer to a question of the
model, for a form to be filled in; we ask it to begin and to stop. Each side chooses
the ids of its own requests.
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
)
from agent_wrap.shapes import get_dict, get_dicts, get_text
from agent_wrap_adapters.stream_json import unknown
from agent_wrap_adapters.two_way import answers_by, nothing_to_ask, resolved, send

_INITIALIZE, _INTERRUPT = "agent-wrap-initialize", "agent-wrap-interrupt"
_QUESTION = "AskUserQuestion"
_ACTIONS = {"approved": "accept", "answered": "accept", "denied": "decline"}
_REFUSALS = {"denied": "Permission denied.", "cancelled": "Nobody is there to answer."}


class Control:
    """The requests of one process, theirs and ours."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[str, Any]] = {}
        self._talks = False

    def start(self, brief: Brief) -> Iterator[Event]:
        """Begin, and ask what is to be asked; a prompt in the command is not read."""
        self._talks = brief.two_way
        if not self._talks:
            return
        if not brief.prompt:
            yield from nothing_to_ask()
            return
        yield _request(_INITIALIZE, {"subtype": "initialize", "hooks": None})
        content = [{"type": "text", "text": brief.prompt}]
        message = {"role": "user", "content": content}
        more = {"parent_tool_use_id": None, "session_id": ""}
        yield send({"type": "user", "message": message, **more})

    def request(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read what the agent asks of us."""
        request = get_dict(event, "request")
        request_id = get_text(event, "request_id")
        subtype = get_text(request, "subtype")
        given = get_dict(request, "input")
        if subtype == "can_use_tool" and get_text(request, "tool_name") == _QUESTION:
            self._asked[request_id] = request
            questions = tuple(get_dicts(given, "questions"))
            tool_id = get_text(request, "tool_use_id")
            yield QuestionAsked(request_id, questions, tool_id)
        elif subtype == "can_use_tool":
            self._asked[request_id] = request
            name, tool_id = (get_text(request, k) for k in ("tool_name", "tool_use_id"))
            yield ApprovalAsked(request_id, name, given, tool_id)
        elif subtype == "elicitation":
            self._asked[request_id] = request
            yield ElicitationAsked(
                request_id,
                get_text(request, "mcp_server_name"),
                get_text(request, "message"),
                get_dict(request, "requested_schema"),
                get_text(request, "url"),
            )
        else:
            yield unknown(subtype, "control_request/")
            if self._talks:  # it waits for an answer, whatever it asked
                error = f"not offered by this client: {subtype}"
                yield _response(request_id, {"subtype": "error", "error": error})

    def response(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read an answer: to us, or one of ours that the agent echoes."""
        response = get_dict(event, "response")
        request_id = get_text(response, "request_id")
        if self._asked.pop(request_id, None) is not None:
            behavior = get_text(get_dict(response, "response"), "behavior")
            allowed = behavior == "allow"
            yield InteractionResolved(request_id, "approved" if allowed else "denied")
        elif get_text(response, "subtype") == "error":
            error = get_text(response, "error")
            if request_id == _INITIALIZE:
                yield RunFinished(False, error, "error")
            else:
                yield Notice(error)

    def taken_back(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read that a question no longer waits for an answer."""
        request_id = get_text(event, "request_id")
        if self._asked.pop(request_id, None) is not None:
            yield InteractionResolved(request_id, "cancelled")

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """Say what was decided on something that the agent asked."""
        request = self._asked.pop(interaction_id, None)
        if request is None:
            return
        if get_text(request, "subtype") == "elicitation":
            said: dict[str, Any] = {"action": _ACTIONS.get(resolution, "cancel")}
            if resolution == "answered":
                said["content"] = dict(content or {})
        elif resolution == "approved":
            said = {"behavior": "allow", "updatedInput": get_dict(request, "input")}
        elif resolution == "answered":
            given = get_dict(request, "input")
            answers = answers_by(
                "question", get_dicts(given, "questions"), content or {}
            )
            said = {"behavior": "allow", "updatedInput": {**given, "answers": answers}}
        else:
            message = _REFUSALS.get(resolution, _REFUSALS["cancelled"])
            said = {"behavior": "deny", "message": message}
        yield _response(interaction_id, {"subtype": "success", "response": said})
        yield resolved(interaction_id, resolution)

    def cancel(self) -> Iterator[Event]:
        """Interrupt the agent; it takes back itself what it still asks."""
        yield _request(_INTERRUPT, {"subtype": "interrupt"})
        for interaction_id in self._asked:
            yield InteractionResolved(interaction_id, "cancelled")
        self._asked.clear()


def _request(request_id: str, request: dict[str, Any]) -> Send:
    about = {"type": "control_request", "request_id": request_id}
    return send({**about, "request": request})


def _response(request_id: str, response: dict[str, Any]) -> Send:
    told = {"request_id": request_id, **response}
    return send({"type": "control_response", "response": told})
