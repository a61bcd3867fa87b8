"""The family of Claude Code's stream-json: `assistant`, `user`, `result`, ... lines.

Claude Code prints it; Qwen Code and Amp print formats made after it. A subclass
reads what differs: `system`, `result`, usage, error texts, further types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Prompt,
    Thinking,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
    Usage,
)
from agent_wrap.shapes import (
    as_args,
    get_count,
    get_counts,
    get_dict,
    get_dicts,
    get_text,
)
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType

_ENTRIES = frozenset({Message, Thinking, ToolStarted})
"""What begins a turn of the main conversation."""

_TODO = {"in_progress": "in_progress", "completed": "completed"}


class StreamJson(ByType):
    """Reads the lines that the family shares."""

    def __init__(self) -> None:
        super().__init__()
        self.types = {"assistant": self.assistant, "user": self.user}
        self._turn = ""
        self._unnamed = 0

    def assistant(self, event: dict[str, Any]) -> Iterable[Event]:
        """Read an answer, or one block of it: the others have the same message id."""
        parent = get_text(event, "parent_tool_use_id")
        return self.read_answer(get_dict(event, "message"), parent)

    def read_answer(self, message: dict[str, Any], parent: str) -> list[Event]:
        """Read what the model said in the main conversation, or to a sub-agent."""
        message_id = get_text(message, "id")
        if not message_id:
            self._unnamed += 1
            message_id = f"message-{self._unnamed}"
        facts = [] if parent else [*self.usage(message, message_id)]
        begun = parent or message_id == self._turn
        for block in blocks(message):
            told = read_block(block, message_id, parent)
            if not begun and told and type(told[0]) in _ENTRIES:
                self._turn = begun = message_id
                facts.append(TurnStarted(message_id))
            facts += told
        return facts

    def user(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read tool results, and what else is said in the user's name."""
        parent = get_text(event, "parent_tool_use_id")
        for block in blocks(get_dict(event, "message")):
            if block.get("type") == "tool_result":
                yield tool_finished(block)
            elif not parent and (text := get_text(block, "text")):
                yield from self.user_text(event, text)

    def usage(self, message: dict[str, Any], message_id: str) -> Iterable[Event]:
        """Read the usage that an answer carries."""
        figures = get_dict(message, "usage")
        return (usage_of(figures, message_id),) if figures else ()

    def user_text(self, event: dict[str, Any], text: str) -> Iterator[Event]:
        """Read a text in the user's name in the main conversation."""
        if event.get("isReplay") is True:
            yield Prompt(text)


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the content blocks of a message; a bare string is one text block."""
    content = message.get("content")
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return [{"type": "text", "text": content}] if isinstance(content, str) else []


def read_block(
    block: dict[str, Any], message_id: str, parent: str
) -> tuple[Event, ...]:
    """Read one block of an answer. A sub-agent's text and thinking are left out."""
    kind = block.get("type")
    if kind == "text" or kind == "thinking":
        # Thinking is empty where the provider hides it.
        text = get_text(block, kind)
        if parent or not text or text.isspace():
            return ()
        make = Message if kind == "text" else Thinking
        return (make(text, message_id),)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        args = as_args(block.get("input"))
        name = get_text(block, "name")
        started = ToolStarted(get_text(block, "id"), name, args, parent)
        if args and not parent and name in ("TodoWrite", "todo_write"):
            return started, TodoUpdated(todo_items(args))
        return (started,)
    if kind == "redacted_thinking":
        return ()
    name = get_text(block, "type")
    if name.endswith("tool_result"):  # of a tool that the provider ran
        return (tool_finished(block),)
    return (unknown(name, "assistant/"),)


def tool_finished(block: dict[str, Any]) -> ToolFinished:
    """Read a tool result. `is_error` is absent on the success of several tools."""
    output = flatten(block.get("content"))
    ok = block.get("is_error") is not True
    return ToolFinished(get_text(block, "tool_use_id"), output, ok)


def todo_items(args: dict[str, Any]) -> tuple[TodoItem, ...]:
    """Read the plan out of the arguments of the tool that writes it."""
    items = []
    for todo in get_dicts(args, "todos"):
        status: Any = _TODO.get(get_text(todo, "status"), "pending")
        items.append(TodoItem(get_text(todo, "content"), status, get_text(todo, "id")))
    return tuple(items)


def usage_of(figures: dict[str, Any], message_id: str, *, final: bool = True) -> Usage:
    """Read the usage of one answer: `input_tokens` is the uncached rest here."""
    read, cached, cache_written, output = get_counts(
        figures,
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens",
    )
    details = figures.get("output_tokens_details")
    reasoning = get_count(details, "thinking_tokens") if type(details) is dict else 0
    return Usage(
        read,
        cached,
        cache_written,
        output,
        reasoning,
        None,
        message_id,
        "message",
        final,
    )


def unknown(kind: str, prefix: str = "") -> Unknown:
    """Name a type that is not known."""
    return Unknown(prefix + (kind or "(no type)"))
