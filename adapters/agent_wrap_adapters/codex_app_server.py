"""What `codex app-server` prints: JSON-RPC without its version, items in camelCase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Notice,
    RunFinished,
    RunResumed,
    SessionStarted,
    TextDelta,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
    ToolProgress,
    Unknown,
    Usage,
)
from agent_wrap.shapes import get_dict, get_dicts, get_text
from agent_wrap_adapters.codex_client import Client
from agent_wrap_adapters.codex_exec import total_of
from agent_wrap_adapters.codex_items import Items

_SILENT = (  # beginnings of methods that state no facts
    "account/",
    "app/",
    "codex/event/",
    "fs/",
    "fuzzyFileSearch/",
    "hook/",
    "item/fileChange/",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "mcpServer/",
    "model/",
    "rawResponseItem/",
    "remoteControl/",
    "skills/",
    "thread/",
    "windows",
)
_STEP = {"inProgress": "in_progress", "completed": "completed"}
_WARNINGS = ("configWarning", "deprecationNotice", "warning", "guardianWarning")


class AppServerStream:
    """Reads the lines of one process: of its first thread, sub-agents' left out."""

    def __init__(self) -> None:
        self.client = Client()
        self._items = Items()
        self._thread = ""
        self._total: Usage | None = None
        self._finished = False

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one response, notification or request states."""
        method, params = get_text(event, "method"), get_dict(event, "params")
        if not method:
            yield from self._response(event)
        elif "id" in event:  # a sub-agent's requests wait for an answer too
            yield from self.client.asked(event)
        elif self._thread and get_text(params, "threadId") not in ("", self._thread):
            return
        elif method in ("item/started", "item/completed"):
            item = as_exec_item(get_dict(params, "item"))
            started = method == "item/started"
            yield from (self._items.started if started else self._items.completed)(item)
        elif method.startswith("turn/"):
            yield from self._turn(method, params)
        else:
            yield from self._notification(method, params)

    def _response(self, event: dict[str, Any]) -> Iterator[Event]:
        result = get_dict(event, "result")
        yield from self._thread_started(result, get_text(result, "model"))
        yield from self.client.answered(event)

    def _thread_started(self, said: dict[str, Any], model: str) -> Iterator[Event]:
        thread = get_dict(said, "thread")
        if self._thread or not thread:
            return
        self._thread = self.client.thread = get_text(thread, "id")
        yield SessionStarted(
            session_id=self._thread,
            model=model or get_text(thread, "model"),
            cwd=get_text(thread, "cwd"),
            agent_version=get_text(thread, "cliVersion"),
        )

    def _turn(self, method: str, params: dict[str, Any]) -> Iterator[Event]:
        if method == "turn/started":
            if self._finished:
                yield RunResumed()
            self._finished = False
            self.client.turn = get_text(get_dict(params, "turn"), "id")
        elif method == "turn/completed":
            self._finished = True
            turn = get_dict(params, "turn")
            status = get_text(turn, "status")
            ok = status == "completed"
            message = get_text(get_dict(turn, "error"), "message")
            message = (
                "" if ok else message or f"the turn ended as {status or 'unknown'}"
            )
            yield RunFinished(ok, message, reason=status, totals=self._total)
        elif method == "turn/plan/updated":
            yield TodoUpdated(tuple(map(_step, get_dicts(params, "plan"))))
        elif not method.startswith("turn/diff/"):
            yield Unknown(method)

    def _notification(self, method: str, params: dict[str, Any]) -> Iterator[Event]:
        item_id = get_text(params, "itemId")
        if method == "thread/started":
            yield from self._thread_started(params, "")
        elif method == "thread/tokenUsage/updated":
            figures = get_dict(get_dict(params, "tokenUsage"), "total")
            self._total = total_of({_snake(k): v for k, v in figures.items()})
            if self._total is not None:
                yield self._total
        elif method == "item/agentMessage/delta":
            yield TextDelta(get_text(params, "delta"), item_id)
        elif method in ("item/reasoning/summaryTextDelta", "item/reasoning/textDelta"):
            yield ThinkingDelta(get_text(params, "delta"), item_id)
        elif method == "item/commandExecution/outputDelta":
            yield ToolProgress(item_id, get_text(params, "delta"))
        elif method == "error":
            self._items.retried = True
            yield Notice(get_text(get_dict(params, "error"), "message"))
        elif method in _WARNINGS:
            yield Notice(get_text(params, "summary") or get_text(params, "message"))
        elif method == "serverRequest/resolved":
            yield from self.client.resolved(str(params.get("requestId")))
        elif not method.startswith(_SILENT):
            yield Unknown(method)


def as_exec_item(item: dict[str, Any]) -> dict[str, Any]:
    """Spell an item as `exec --json` does: `commandExecution`, `inProgress`, ..."""
    spelt = {_snake(key): value for key, value in item.items()}
    for key in ("type", "status"):
        spelt[key] = _snake(get_text(item, key))
    return spelt


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def _step(step: dict[str, Any]) -> TodoItem:
    status: Any = _STEP.get(get_text(step, "status"), "pending")
    return TodoItem(get_text(step, "step"), status)
