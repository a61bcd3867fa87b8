"""An agent that prints the entries of the dialog protocol itself, one a line.

What breaks the protocol is named (`Unparsed`), and what can be used of it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agent_wrap import Adapter
from agent_wrap.events import (
    Event,
    Message,
    Prompt,
    RunFinished,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
    Unparsed,
    Usage,
)
from agent_wrap.shapes import as_args, get_count, get_dict, get_text

_TEXT, _COUNT, _OBJECT = "a string", "a whole number", "an object"

_FIELDS: dict[str, dict[str, str]] = {
    "init": {"data": _OBJECT},
    "prompt": {"content": _TEXT},
    "message": {"role": _TEXT, "content": _TEXT},
    "thinking": {"content": _TEXT},
    "tool": {"tool_id": _TEXT, "name": _TEXT, "status": _TEXT},
    "complete": {
        "status": _TEXT,
        "turns": _COUNT,
        "duration_ms": _COUNT,
        "total_tokens": _OBJECT,
    },
}
_DATA = dict.fromkeys(("task", "cwd", "model", "agent"), _TEXT)
_TOKENS = {"in": _COUNT, "out": _COUNT}


class Dialog(Adapter):
    """Reads the dialog protocol from stdout."""

    names_agent = True
    gives = "whatever the agent writes: all that the dialog protocol has"

    def __init__(self) -> None:
        self._seq = 0
        self._messages = 0
        self._over = False
        self._open: set[str] = set()
        self._types: dict[str, Callable[[dict[str, Any]], Iterator[Event]]] = {
            "init": self._init,
            "prompt": lambda entry: iter((Prompt(get_text(entry, "content")),)),
            "message": self._message,
            "thinking": lambda entry: iter((Thinking(get_text(entry, "content")),)),
            "tool": self._tool,
            "complete": self._complete,
        }

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the protocol by its first entry."""
        first = event.get("type") == "init" and event.get("seq") == 0
        return first and isinstance(event.get("data"), dict)

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Check an entry, then give the facts that it states."""
        kind = get_text(event, "type")
        if kind not in self._types:
            yield Unknown(kind or "(no type)")
            return
        yield from self._check(kind, event)
        yield from self._types[kind](event)

    def _check(self, kind: str, entry: dict[str, Any]) -> Iterator[Event]:
        expected, seq = self._seq, entry.get("seq")
        if not _is(seq, _COUNT) or seq != expected:
            yield breach(f"seq: {seq!r} where {expected} should stand")
        self._seq = (seq if isinstance(seq, int) and seq >= expected else expected) + 1
        yield from check(entry, {"ts": _TEXT, **_FIELDS[kind]}, kind)
        if (kind == "init") != (expected == 0):
            yield breach("order: init is the first entry, and only the first")
        if self._over:
            yield breach("order: nothing follows complete")

    def _init(self, entry: dict[str, Any]) -> Iterator[Event]:
        data = get_dict(entry, "data")
        yield from check(data, _DATA, "init.data")
        known = {
            k: "" if data.get(k) == "unknown" else get_text(data, k) for k in _DATA
        }
        yield SessionStarted(
            model=known["model"],
            cwd=known["cwd"],
            agent=known["agent"],
            task=known["task"],
        )

    def _message(self, entry: dict[str, Any]) -> Iterator[Event]:
        self._messages += 1
        message_id = f"message-{self._messages}"
        yield TurnStarted(message_id)
        if "tokens" in entry:
            tokens = get_dict(entry, "tokens")
            yield from check(tokens, _TOKENS, "message.tokens")
            read, wrote = get_count(tokens, "in"), get_count(tokens, "out")
            yield Usage(input=read, output=wrote, message_id=message_id)
        yield Message(get_text(entry, "content"), message_id)

    def _tool(self, entry: dict[str, Any]) -> Iterator[Event]:
        tool_id, status = get_text(entry, "tool_id"), get_text(entry, "status")
        if status == "running":
            self._open.add(tool_id)
            name, args = get_text(entry, "name"), as_args(entry.get("args"))
            yield ToolStarted(tool_id, name, args)
        elif status in ("success", "error"):
            if tool_id not in self._open:
                yield breach(f"pairing: a result of {tool_id!r}, which is not running")
            self._open.discard(tool_id)
            key = "result" if status == "success" else "error"
            output = get_text(entry, key) or get_text(entry, "result")
            yield ToolFinished(tool_id, output, status == "success")
        else:
            yield breach(f"tool.status: {status!r} is none of running, success, error")

    def _complete(self, entry: dict[str, Any]) -> Iterator[Event]:
        self._over = True
        status = get_text(entry, "status")
        if status not in ("success", "error", "timeout"):
            yield breach(f"complete.status: {status!r} is no status")
        tokens = get_dict(entry, "total_tokens")
        yield from check(tokens, _TOKENS, "complete.total_tokens")
        read, wrote = get_count(tokens, "in"), get_count(tokens, "out")
        ok = status == "success"
        message = get_text(entry, "message")
        yield RunFinished(
            ok,
            message or ("" if ok else f"the agent ended with status {status}"),
            reason=status,
            totals=Usage(input=read, output=wrote, scope="total"),
            turns=get_count(entry, "turns"),
        )


def check(entry: dict[str, Any], fields: dict[str, str], where: str) -> Iterator[Event]:
    """Name the fields that are missing or of the wrong type."""
    for name, wanted in fields.items():
        if name not in entry:
            yield breach(f"{where}.{name}: missing")
        elif not _is(entry[name], wanted):
            yield breach(f"{where}.{name}: is not {wanted}")


def breach(rule: str) -> Unparsed:
    """Report what breaks the protocol; the line itself is in the raw stream."""
    return Unparsed(b"", f"dialog protocol: {rule}")


def _is(value: Any, wanted: str) -> bool:
    if wanted == _COUNT:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, str if wanted == _TEXT else dict)
