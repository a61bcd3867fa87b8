"""The family of Claude Code's stream-json: `assistant`, `user`, `result`, ... lines.

Claude Code prints it; Qwen Code and Amp print formats made after it. A subclass
reads what differs: `system`, `result`, usage, error texts, further types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
from agent_wrap.shapes import as_args, get_count, get_dict, get_dicts, get_text
from agent_wrap_adapters.content import flatten

Read = Callable[[dict[str, Any]], Iterable[Event]]

_ENTRIES = frozenset({Message, Thinking, ToolStarted})
_TODO = {"in_progress": "in_progress", "completed": "completed"}


class StreamJson:
    """Reads the lines that the family shares.

    `types` says who reads which type; `silent` are types known to state no facts.
    """

    silent: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.types: dict[str, Read] = {"assistant": self.assistant, "user": self.user}
        self._turn = ""
        self._unnamed = 0

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        kind = get_text(event, "type")
        if kind in self.types:
            return self.types[kind](event)
        return () if kind in self.silent else (unknown(kind),)

    def assistant(self, event: dict[str, Any]) -> Iterable[Event]:
        """Read an answer, or one block of it: the others have the same message id."""
        message = get_dict(event, "message")
        parent = get_text(event, "parent_tool_use_id")
        message_id = get_text(message, "id")
        if not message_id:
            self._unnamed += 1
            message_id = f"message-{self._unnamed}"
        facts: list[Event] = []
        if not parent:
            if self.is_notice(event, message):
                return self.notice(message)
            facts.extend(self.usage(message, message_id))
        for block in blocks(message):
            for fact in read_block(block, message_id, parent):
                if message_id != self._turn and starts_turn(fact, parent):
                    self._turn = message_id
                    facts.append(TurnStarted(message_id))
                facts.append(fact)
        return facts

    def user(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read tool results, and what else is said in the user's name."""
        parent = get_text(event, "parent_tool_use_id")
        for block in blocks(get_dict(event, "message")):
            if block.get("type") == "tool_result":
                yield tool_finished(block)
            elif not parent and (text := get_text(block, "text")):
                yield from self.user_text(event, text)

    def is_notice(self, event: dict[str, Any], message: dict[str, Any]) -> bool:
        """Does the agent itself speak here, in the model's name?"""
        return False

    def notice(self, message: dict[str, Any]) -> Iterator[Event]:
        """Read what the agent itself says in the model's name."""
        return iter(())

    def usage(self, message: dict[str, Any], message_id: str) -> Iterator[Event]:
        """Read the usage that an answer carries."""
        if figures := get_dict(message, "usage"):
            yield usage_of(figures, message_id)

    def user_text(self, event: dict[str, Any], text: str) -> Iterator[Event]:
        """Read a text in the user's name in the main conversation."""
        if event.get("isReplay") is True:
            yield Prompt(text)


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the content blocks of a message; a bare string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return get_dicts(message, "content")


def starts_turn(fact: Event, parent: str) -> bool:
    """Does this fact make an entry of the main conversation?"""
    return not parent and type(fact) in _ENTRIES


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
    return Usage(
        input=get_count(figures, "input_tokens"),
        cached=get_count(figures, "cache_read_input_tokens"),
        cache_written=get_count(figures, "cache_creation_input_tokens"),
        output=get_count(figures, "output_tokens"),
        reasoning=get_count(
            get_dict(figures, "output_tokens_details"), "thinking_tokens"
        ),
        message_id=message_id,
        final=final,
    )


def unknown(kind: str, prefix: str = "") -> Unknown:
    """Name a type that is not known."""
    return Unknown(prefix + (kind or "(no type)"))
