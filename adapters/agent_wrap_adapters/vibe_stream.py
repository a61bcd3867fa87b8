"""What Mistral Vibe prints with `--output streaming`, before and after 2.26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    SessionStarted,
    Thinking,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.shapes import as_args, get_dict, get_dicts, get_number, get_text
from agent_wrap_adapters.chat_messages import read_answer, read_result, text_of
from agent_wrap_adapters.reading import Reader

_FAILED = ("<tool_error>", "<user_cancellation>")
_OPEN = ("pending", "running", "blocked")
_TODO: dict[str, Any] = {"in_progress": "in_progress", "completed": "completed"}


class VibeStream(Reader):
    """Reads finished items of a session; chat messages of releases before 2.26."""

    def __init__(self) -> None:
        self._session = ""
        self._turn = ""
        self._settled_at: float | None = 0.0
        self._open: set[str] = set()

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        if session := get_text(event, "sessionId"):
            if session != self._session:
                self._session = session
                yield SessionStarted(session_id=session)
            yield from self._item(event)
        else:
            yield from _chat(event)

    def _item(self, item: dict[str, Any]) -> Iterator[Event]:
        kind, item_id = get_text(item, "type"), get_text(item, "id")
        outcome = get_dict(item, "outcome")
        if outcome.get("type") == "discarded":
            yield Notice(f"an answer was discarded: {get_text(outcome, 'cause')}")
        elif kind == "message" and item.get("role") == "user":
            yield Prompt(text_of(item))
        elif kind == "message" and item.get("role") == "assistant":
            yield from self._say(Message(text_of(item), item_id))
        elif kind == "reasoning":
            summary = item.get("summary")
            parts = summary if isinstance(summary, list) else []
            text = get_text(item, "text") or "\n\n".join(map(str, parts))
            yield from self._say(Thinking(text, item_id))
        elif kind == "effect":
            yield from self._effect(item, item_id)
        elif kind in ("notice", "checkpoint"):
            yield Notice(get_text(item, "message"))
        elif kind not in ("message", "callback"):
            yield Unknown(kind or "(no type)")

    def _say(self, fact: Message | Thinking) -> Iterator[Event]:
        """Give what an answer says: ids of its parts differ around a common middle."""
        if fact.text.strip():
            self._turn = fact.message_id.partition("-")[2][:36] or fact.message_id
            self._settled_at = None
            yield TurnStarted(self._turn)
            yield fact

    def _effect(self, item: dict[str, Any], item_id: str) -> Iterator[Event]:
        """Read a tool call. An answer of calls alone shows in their times only."""
        detail, state = get_dict(item, "detail"), get_dict(item, "state")
        if item_id not in self._open:
            created = get_number(item, "createdAt") or 0.0
            if self._settled_at is not None and created >= self._settled_at:
                yield TurnStarted(item_id)
            self._open.add(item_id)
            name = get_text(detail, "toolName") or get_text(item, "title")
            yield ToolStarted(item_id, name, as_args(detail.get("input")))
        if get_text(state, "status") in _OPEN:
            return
        self._open.discard(item_id)
        settled = get_number(item, "updatedAt") or 0.0
        self._settled_at = max(self._settled_at or 0.0, settled)
        ok = state.get("status") == "completed"
        ok = ok and get_dict(state, "display").get("success") is not False
        yield ToolFinished(item_id, _output(detail, state), ok)
        if detail.get("kind") == "todo" and ok:
            yield TodoUpdated(
                tuple(map(_todo, get_dicts(get_dict(state, "output"), "todos")))
            )


def _chat(message: dict[str, Any]) -> Iterator[Event]:
    """Read a line of the format before release 2.26."""
    role = get_text(message, "role")
    if role == "assistant":
        yield from read_answer(message, get_text(message, "message_id"))
    elif role == "tool":
        yield read_result(message, not text_of(message).startswith(_FAILED))
    elif role == "user":
        yield Prompt(text_of(message))
    elif role != "system":
        yield Unknown(role or "(no role)")


def _output(detail: dict[str, Any], state: dict[str, Any]) -> str:
    """Give what a tool said: it stands in another place for each kind of tool."""
    display, output = get_dict(state, "display"), get_dict(state, "output")
    text = get_text(state, "outputText")
    text = text or get_text(get_dict(state, "error"), "message")
    if detail.get("kind") == "file_read":
        text = text or get_text(output, "content")
    done = f"{get_text(display, 'verb')} {get_text(display, 'message')}".strip()
    return text or get_text(state, "reason") or done


def _todo(item: dict[str, Any]) -> TodoItem:
    status = _TODO.get(get_text(item, "status"), "pending")
    return TodoItem(get_text(item, "content"), status, get_text(item, "id"))
