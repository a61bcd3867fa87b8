"""ACP's tool calls: told piece by piece, and without a name.

A start is held until its arguments are whole: at the request for permission, when it
runs with arguments or prints, or at its end. The name is the first title where that
is one word (later titles are the command), else the kind. An agent that tells no
arguments at all has them in its title.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agent_wrap.events import Event, ToolFinished, ToolProgress, ToolStarted
from agent_wrap.shapes import get_dict, get_dicts, get_text
from agent_wrap_adapters.content import flatten

_ONE_WORD = re.compile(r"[\w.:/-]+")


class _Call:
    def __init__(self, update: dict[str, Any]) -> None:
        self.id = get_text(update, "toolCallId")
        self.name = self.title = self.kind = ""
        self.args: dict[str, Any] = {}
        self.text = ""
        self.started = self._tells_args = False
        self.take(update)

    def take(self, update: dict[str, Any]) -> None:
        """Merge an update: a field that is absent is unchanged."""
        title, more = get_text(update, "title"), get_dict(update, "_meta")
        told = get_text(more, "tool_name") or get_text(more, "toolName")
        if not self.name:
            self.name = told or (title if _ONE_WORD.fullmatch(title) else "")
        if not _ONE_WORD.fullmatch(title):
            self.title = title or self.title
        self.kind = get_text(update, "kind") or self.kind
        if args := get_dict(update, "rawInput"):
            self.args = args
        self._tells_args = self._tells_args or "rawInput" in update
        self.text = _output(update) or self.text

    @property
    def shown_args(self) -> dict[str, Any]:
        if self.args or self._tells_args or not self.title:
            return self.args
        return {"title": self.title}

    @property
    def shown_name(self) -> str:
        return self.name or self.kind or "tool"


class Tools:
    """The calls of one session."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    def update(self, update: dict[str, Any]) -> Iterator[Event]:
        """Read `tool_call` and `tool_call_update`."""
        call = self._merge(update)
        status = get_text(update, "status")
        runs = call.started
        if status in ("completed", "failed"):
            yield from self._start(call)
            del self._calls[call.id]
            failed = status == "failed" or _exit_code(update) != 0
            yield ToolFinished(call.id, call.text, not failed)
        elif runs and (text := _output(update)):
            yield ToolProgress(call.id, text)
        elif status == "in_progress" and call.shown_args:
            yield from self._start(call)
            call.text = ""  # until here, some agents stream the arguments in it

    def ask(self, update: dict[str, Any]) -> Iterator[Event]:
        """Read the call of a request for permission: it may be its first sign."""
        call = self._merge(update)
        if call.shown_args:
            yield from self._start(call)
            call.text = ""

    def describe(self, call_id: str) -> tuple[str, dict[str, Any]]:
        """Give a call's name and arguments, as far as they are known."""
        call = self._calls.get(call_id)
        return (call.shown_name, call.shown_args) if call else ("tool", {})

    def abandon(self) -> Iterator[Event]:
        """End of the prompt: what was asked for and never ran has failed."""
        for call in list(self._calls.values()):
            if not call.started:
                yield from self._start(call)
                yield ToolFinished(call.id, "the call was not carried out", False)
                del self._calls[call.id]

    def _merge(self, update: dict[str, Any]) -> _Call:
        call_id = get_text(update, "toolCallId")
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = _Call(update)
        else:
            call.take(update)
        return call

    def _start(self, call: _Call) -> Iterator[Event]:
        if not call.started:
            call.started = True
            yield ToolStarted(call.id, call.shown_name, call.shown_args or None)


def _output(update: dict[str, Any]) -> str:
    """Give a call's text: its content, else its raw output."""
    parts = []
    for block in get_dicts(update, "content"):
        if block.get("type") == "diff":
            parts.append(f"[diff {get_text(block, 'path')}]")
        else:
            parts.append(flatten(block.get("content")))
    if text := "\n".join(filter(None, parts)):
        return text
    raw = update.get("rawOutput")
    if isinstance(raw, dict):
        for key in ("output", "content", "message", "error"):
            if text := get_text(raw, key):
                return text
        return json.dumps(raw)
    return raw if isinstance(raw, str) else ""


def _exit_code(update: dict[str, Any]) -> int:
    """Give a command's exit code: a call may be `completed` and have failed."""
    raw = get_dict(update, "rawOutput")
    for told in (raw, get_dict(raw, "metadata"), *get_dicts(raw, "contents")):
        code = told.get("exit", told.get("exitCode"))
        if isinstance(code, int):
            return code
    return 0
