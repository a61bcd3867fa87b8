"""The client's side of ACP: requests, answers, how a prompt ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_wrap import Brief
from agent_wrap.events import (
    ApprovalAsked,
    Event,
    Notice,
    RunFinished,
    Send,
    SessionStarted,
    Unknown,
    Usage,
)
from agent_wrap.shapes import get_dict, get_dicts, get_text
from agent_wrap_adapters.acp_updates import Updates
from agent_wrap_adapters.acp_usage import LAST_ANSWER_ONLY, add, of_prompt
from agent_wrap_adapters.two_way import NOT_OFFERED, nothing_to_ask, resolved, send

INITIALIZE, NEW_SESSION, PROMPT, LOAD_SESSION = range(4)
_KINDS = {
    "approved": ("allow_once", "allow_always"),
    "denied": ("reject_once", "reject_always"),
}
_EXTENSIONS = ("_", "qwen/")
"""How the methods begin that an agent adds to the protocol."""


class Client:
    """One session with an agent."""

    def __init__(self) -> None:
        self._updates = Updates()
        self._prompt = self._session = self._earlier = ""
        self._place: dict[str, Any] = {}
        self._agent: dict[str, Any] = {}
        self._options: dict[str, list[dict[str, Any]]] = {}
        self._ids: dict[str, Any] = {}
        self._used = Usage(scope="total")
        self._loading = False

    def start(self, brief: Brief) -> Iterator[Event]:
        """Begin: what we offer is nothing but to be talked to."""
        self._prompt, self._earlier = brief.prompt, brief.session
        self._place = {"cwd": brief.cwd, "mcpServers": []}
        if brief.two_way and not brief.prompt:
            yield from nothing_to_ask()
            return
        files = {"readTextFile": False, "writeTextFile": False}
        params = {
            "protocolVersion": 1,
            "clientCapabilities": {"fs": files, "terminal": False},
            "clientInfo": {"name": "agent-wrap", "version": "1"},
        }
        yield _request(INITIALIZE, "initialize", params)

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read an answer to us, a request to us, or a notification."""
        method = get_text(event, "method")
        if method == "session/update":
            if self._loading:  # what was said before is told again
                return
            yield from self._updates.read(get_dict(get_dict(event, "params"), "update"))
        elif method == "session/request_permission":
            yield from self._permission(event.get("id"), get_dict(event, "params"))
        elif method and "id" in event:  # file and terminal methods: not offered
            yield _send({"id": event["id"], "error": NOT_OFFERED})
        elif method:
            if not method.startswith(_EXTENSIONS):
                yield Unknown(method)
        elif "error" in event and event.get("id") == LOAD_SESSION:
            yield from self._begin(get_text(get_dict(event, "error"), "message"))
        elif "error" in event:
            error = get_dict(event, "error")
            yield from self._finish(False, get_text(error, "message"), "error")
        elif "result" in event:
            yield from self._answered(event.get("id"), get_dict(event, "result"))
        else:
            yield Unknown("message")

    def flush(self) -> Iterator[Event]:
        """Give the text that has been collected, as one message."""
        return self._updates.flush()

    def answer(self, interaction_id: str, resolution: str) -> Iterator[Event]:
        """Choose an option by its kind: the ids differ from agent to agent."""
        options = self._options.pop(interaction_id, None)
        if options is None:
            return
        by_kind = {get_text(option, "kind"): option for option in reversed(options)}
        wanted = [k for k in _KINDS.get(resolution, ()) if k in by_kind]
        outcome: dict[str, Any] = {"outcome": "cancelled"}
        if wanted:
            option = by_kind[wanted[0]].get("optionId")
            outcome = {"outcome": "selected", "optionId": option}
        request_id = self._ids.pop(interaction_id)
        yield _send({"id": request_id, "result": {"outcome": outcome}})
        yield resolved(interaction_id, resolution if wanted else "cancelled")

    def cancel(self) -> Iterator[Event]:
        """Cancel what is asked and the prompt."""
        for interaction_id in list(self._options):
            yield from self.answer(interaction_id, "cancelled")
        if self._session:
            about = {"sessionId": self._session}
            yield _send({"method": "session/cancel", "params": about})

    def _answered(self, request: Any, result: dict[str, Any]) -> Iterator[Event]:
        """Read an answer: by what it says, as another client counts otherwise."""
        if "stopReason" in result or request == PROMPT:
            yield from self._prompted(result)
        elif "protocolVersion" in result or request == INITIALIZE:
            self._agent = get_dict(result, "agentInfo")
            yield self._started("")
            able = get_dict(result, "agentCapabilities").get("loadSession") is True
            self._loading = able and bool(self._earlier)
            if self._loading:
                about = {"sessionId": self._earlier, **self._place}
                yield _request(LOAD_SESSION, "session/load", about)
            else:
                yield from self._begin("it cannot load sessions")
        elif "sessionId" in result or request in (NEW_SESSION, LOAD_SESSION):
            self._loading = False
            self._session = get_text(result, "sessionId") or self._earlier
            yield self._started(_model(result))
            prompt = [{"type": "text", "text": self._prompt}]
            params = {"sessionId": self._session, "prompt": prompt}
            yield _request(PROMPT, "session/prompt", params)

    def _begin(self, why: str) -> Iterator[Event]:
        """Begin a session; say why an earlier one is not gone on with."""
        if self._earlier:
            yield Notice(f"session {self._earlier} cannot be continued: {why}")
        self._earlier, self._loading = "", False
        yield _request(NEW_SESSION, "session/new", self._place)

    def _started(self, model: str) -> SessionStarted:
        name, version = (get_text(self._agent, key) for key in ("name", "version"))
        return SessionStarted(self._session, model, "", name, version)

    def _prompted(self, result: dict[str, Any]) -> Iterator[Event]:
        reason = get_text(result, "stopReason")
        usage = of_prompt(result)
        if usage is not None and get_text(self._agent, "name") in LAST_ANSWER_ONLY:
            yield Notice("tokens: this agent reports those of its last answer only")
            yield replace(usage, message_id=self._updates.answer_id)
        elif usage is not None:
            self._used = add(self._used, usage)
            yield replace(self._used, message_id=self._updates.answer_id)
        if reason != "end_turn":
            yield from self._finish(False, f"stopped: {reason or 'unknown'}", reason)
        elif self._updates.error and usage is None:
            yield from self._finish(False, self._updates.error, "error")
        else:
            yield from self._finish(True, "", reason)

    def _finish(self, ok: bool, message: str, reason: str) -> Iterator[Event]:
        yield from self._updates.end()
        yield RunFinished(ok, message, reason)

    def _permission(self, request: Any, params: dict[str, Any]) -> Iterator[Event]:
        yield from self._updates.flush()
        call = get_dict(params, "toolCall")
        yield from self._updates.begin_turn()
        yield from self._updates.tools.ask(call)
        interaction_id = f"permission-{json.dumps(request)}"
        self._options[interaction_id] = get_dicts(params, "options")
        self._ids[interaction_id] = request
        name, args = self._updates.tools.describe(get_text(call, "toolCallId"))
        yield ApprovalAsked(interaction_id, name, args, get_text(call, "toolCallId"))


def _send(message: dict[str, Any]) -> Send:
    return send({"jsonrpc": "2.0", **message})


def _request(number: int, method: str, params: dict[str, Any]) -> Send:
    return _send({"id": number, "method": method, "params": params})


def _model(result: dict[str, Any]) -> str:
    """Find the model; an id that is made up from settings has a name beside it."""
    models = get_dict(result, "models")
    current = get_text(models, "currentModelId")
    listed = get_dicts(models, "availableModels")
    for option in get_dicts(result, "configOptions"):
        if option.get("id") == "model":
            current = get_text(option, "currentValue")
            listed = get_dicts(option, "options")
    if not current.startswith("$"):
        return current
    named = [m for m in listed if current in (m.get("modelId"), m.get("value"))]
    return get_text(named[0], "name") if named else current
