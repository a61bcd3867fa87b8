"""Codex's items (messages, reasoning, tools, plans), as `exec --json` spells them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    Thinking,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.shapes import as_args, get_dict, get_dicts, get_text
from agent_wrap_adapters.content import flatten

_SILENT = frozenset({"context_compaction", "plan", "hook_prompt"})
_BAD = ("failed", "declined", "errored", "cancelled")


class Items:
    """Turns items into facts; one instance a run.

    Codex asks the model again when the stream breaks, and an answer that came whole
    before comes again: told right after a notice (`retried`), it is dropped.
    """

    def __init__(self) -> None:
        self.retried = False
        self._messages = 0
        self._last_message = ""
        self._open: set[str] = set()
        self._plan: list[dict[str, Any]] = []

    def started(self, item: dict[str, Any]) -> Iterator[Event]:
        """Read `item.started`: of interest for tools and plans."""
        name = tool_name(item)
        if name:
            self.retried = False
            self._open.add(get_text(item, "id"))
            yield ToolStarted(get_text(item, "id"), name, tool_args(item))
        elif get_text(item, "type") == "todo_list":
            yield from self._todo_list(item)

    def updated(self, item: dict[str, Any]) -> Iterator[Event]:
        """Read `item.updated`: of interest for plans."""
        if get_text(item, "type") == "todo_list":
            yield from self._todo_list(item)

    def completed(self, item: dict[str, Any]) -> Iterator[Event]:
        """Read `item.completed`; older versions give it without a start."""
        kind, item_id = get_text(item, "type"), get_text(item, "id")
        retried, self.retried = self.retried, False
        if kind == "agent_message":
            yield from self._message(get_text(item, "text"), item_id, retried)
        elif kind == "reasoning":
            yield from _reasoning(item)
        elif kind == "todo_list":
            yield from self._todo_list(item)
        elif kind == "user_message":
            yield Prompt(flatten(item.get("content")))
        elif kind == "error":  # a warning; the run goes on
            self.retried = retried
            yield Notice(get_text(item, "message"))
        elif name := tool_name(item):
            if item_id not in self._open:
                yield ToolStarted(item_id, name, tool_args(item))
            self._open.discard(item_id)
            yield ToolFinished(item_id, tool_output(item), tool_ok(item))
        elif kind not in _SILENT:
            yield Unknown(f"item/{kind or '(no type)'}")

    def _message(self, text: str, item_id: str, retried: bool) -> Iterator[Event]:
        """Give a message. The stream shows no API calls: each one counts as a turn."""
        if not text.strip() or (retried and text == self._last_message):
            return
        self._last_message = text
        self._messages += 1
        yield TurnStarted(f"message-{self._messages}")
        yield Message(text, item_id)

    def _todo_list(self, item: dict[str, Any]) -> Iterator[Event]:
        """Give a plan when it changed: it comes again unchanged at the turn's end."""
        plan = get_dicts(item, "items")
        if plan == self._plan:
            return
        self._plan = plan
        todos = (
            TodoItem(
                get_text(step, "text"),
                "completed" if step.get("completed") is True else "pending",
            )
            for step in plan
        )
        yield TodoUpdated(tuple(todos))
        item_id = get_text(item, "id")
        yield ToolStarted(item_id, "update_plan", {"items": plan})
        yield ToolFinished(item_id, "")


def tool_name(item: dict[str, Any]) -> str:
    """Give the tool that an item stands for; empty: it is no tool."""
    kind = get_text(item, "type")
    if kind == "command_execution":
        return "bash"
    if kind == "file_change":
        return "apply_patch"
    if kind == "mcp_tool_call":
        return f"mcp__{get_text(item, 'server')}__{get_text(item, 'tool')}"
    if kind == "web_search":
        return "web_search"
    if kind.startswith("collab") and kind.endswith("tool_call"):
        return get_text(item, "tool") or "collab"
    if kind == "dynamic_tool_call":
        return get_text(item, "tool")
    return ""


def tool_args(item: dict[str, Any]) -> dict[str, Any] | None:
    """Give a tool's arguments."""
    kind = get_text(item, "type")
    if kind == "command_execution":
        return {"command": item.get("command")}
    if kind == "file_change":
        return {"changes": item.get("changes")}
    if kind in ("mcp_tool_call", "dynamic_tool_call"):
        return as_args(item.get("arguments"))
    if kind == "web_search":
        return {key: item[key] for key in ("query", "action") if item.get(key)}
    return {
        key: item[key] for key in ("prompt", "receiver_thread_ids") if item.get(key)
    }


def tool_output(item: dict[str, Any]) -> str:
    """Give what a tool said: a command's output, MCP content, sub-agents' states."""
    if output := get_text(item, "aggregated_output"):
        return output
    error = item.get("error")
    if isinstance(error, dict):
        error = get_text(error, "message")
    if error:
        return str(error)
    if content := get_dict(item, "result").get("content"):
        return flatten(content)
    if states := get_dict(item, "agents_states"):
        return "\n".join(_agent_state(get_dict(states, thread)) for thread in states)
    if tool_ok(item):
        return ""
    code = item.get("exit_code")  # a silent failure still says how it failed
    return f"exit code {code}" if code else get_text(item, "status")


def tool_ok(item: dict[str, Any]) -> bool:
    """Did the tool work? A command that exits with another code than 0 did not."""
    return get_text(item, "status") not in _BAD and item.get("exit_code") in (None, 0)


def _agent_state(state: dict[str, Any]) -> str:
    status, message = get_text(state, "status"), get_text(state, "message")
    return f"{status}: {message}" if message else status


def _reasoning(item: dict[str, Any]) -> Iterator[Event]:
    text = get_text(item, "text")
    parts = item.get("summary") or item.get("content")
    if not text and isinstance(parts, list):
        text = "\n\n".join(part for part in parts if isinstance(part, str))
    if text.strip():
        yield Thinking(text, get_text(item, "id"))
