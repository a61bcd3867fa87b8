"""How the tests of ACP talk: lines as agents print them, and one conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

from agent_wrap import Brief
from agent_wrap.events import (
    Event,
    Send,
)
from agent_wrap_adapters.acp import Acp

from .replays import play

OPTIONS = [
    {"optionId": "always", "kind": "allow_always"},
    {"optionId": "once", "kind": "allow_once"},
    {"optionId": "no", "kind": "reject_once"},
]


def rpc(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **fields}


def hello(name: str = "Agent") -> dict[str, Any]:
    info = {"name": name, "version": "1.2"}
    return rpc(id=0, result={"protocolVersion": 1, "agentInfo": info})


MODEL = {"id": "model", "currentValue": "m/1"}
SESSION = rpc(id=1, result={"sessionId": "s", "configOptions": [MODEL]})


def done(reason: str = "end_turn", /, **usage: int) -> dict[str, Any]:
    more = {"usage": usage} if usage else {}
    return rpc(id=2, result={"stopReason": reason, **more})


def update(kind: str, /, **fields: Any) -> dict[str, Any]:
    told = {"sessionUpdate": kind, **fields}
    return rpc(method="session/update", params={"sessionId": "s", "update": told})


def said(text: str, message_id: str = "", kind: str = "message") -> dict[str, Any]:
    more = {"messageId": message_id} if message_id else {}
    content = {"type": "text", "text": text}
    return update(f"agent_{kind}_chunk", content=content, **more)


def call(kind: str = "tool_call_update", /, **fields: Any) -> dict[str, Any]:
    return update(kind, toolCallId="t", **fields)


def content(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def ask(number: Any = 0, options: Any = OPTIONS, **tool: Any) -> dict[str, Any]:
    params = {"toolCall": {"toolCallId": "t", **tool}, "options": options}
    return rpc(id=number, method="session/request_permission", params=params)


def sent(events: Iterable[Event]) -> list[Any]:
    return [json.loads(event.data) for event in events if isinstance(event, Send)]


class Talk:
    """One conversation: what was said to the agent and what it said."""

    def __init__(self, *lines: dict[str, Any], prompt: str = "do") -> None:
        self.adapter = Acp()
        self.adapter.brief = Brief(prompt, "/w", two_way=True)
        self.events: list[Event] = list(self.adapter.start())
        for line in lines:
            self.feed(line)

    def feed(self, line: dict[str, Any]) -> list[Event]:
        new = list(self.adapter.feed(line))
        self.events += new
        return new

    @property
    def sent(self) -> list[Any]:
        return sent(self.events)

    def of(self, *kinds: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kinds)]


run = partial(play, Acp)
