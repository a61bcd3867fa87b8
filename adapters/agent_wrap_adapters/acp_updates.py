"""What ACP's updates say: text in chunks, tools, plans.

Turns are answers between tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Notice,
    TodoItem,
    TodoUpdated,
    TurnStarted,
    Unknown,
)
from agent_wrap.fragments import Fragments
from agent_wrap.shapes import get_dict, get_dicts, get_text
from agent_wrap_adapters.acp_tools import Tools
from agent_wrap_adapters.acp_usage import usage

_SILENT = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
        "user_message_chunk",
    }
)
_SPOKEN_NOTICES = ("Info: ", "Error: ")
"""How an agent without usage prints its own notices, as if the model spoke."""


class Updates:
    """Reads the updates of one session; `error` is the last one that was spoken."""

    def __init__(self) -> None:
        self.tools = Tools()
        self.turns = 0
        self.error = ""
        self._fragments = Fragments()
        self._in_turn = False

    @property
    def answer_id(self) -> str:
        """The id of the answer that is given, or was last."""
        return f"answer-{self.turns}"

    def read(self, update: dict[str, Any]) -> Iterator[Event]:
        """Read one update."""
        kind = get_text(update, "sessionUpdate")
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            yield from self._chunk(kind, update)
        elif kind in ("tool_call", "tool_call_update"):
            yield from self.flush()
            if kind == "tool_call":
                yield from self.begin_turn()
            yield from self.tools.update(update)
            # What comes after a tool's result is another answer of the model.
            if get_text(update, "status") in ("completed", "failed"):
                self._in_turn = False
        elif kind == "plan":
            yield TodoUpdated(tuple(map(_todo, get_dicts(update, "entries"))))
        elif kind not in _SILENT:
            yield Unknown(f"session/update/{kind}")

    def flush(self) -> Iterator[Event]:
        """Give the text that has been collected, as one message."""
        return self._fragments.whole()

    def end(self) -> Iterator[Event]:
        """End the prompt: what was said is whole, what did not run never will."""
        yield from self.flush()
        yield from self.tools.abandon()
        self._in_turn = False

    def begin_turn(self) -> Iterator[Event]:
        """Begin an answer of the model, unless one has begun."""
        if not self._in_turn:
            self._in_turn = True
            self.turns += 1
            yield TurnStarted(self.answer_id)

    def _chunk(self, kind: str, update: dict[str, Any]) -> Iterator[Event]:
        text = get_text(get_dict(update, "content"), "text")
        message_id = get_text(update, "messageId")
        if figures := get_dict(get_dict(update, "_meta"), "usage"):
            yield usage(figures, self.answer_id)
        if not text:
            return
        begins = not self._fragments and not message_id
        if text.startswith(_SPOKEN_NOTICES) and begins:
            self.error = text if text.startswith("Error: ") else self.error
            yield Notice(text)
            return
        yield from self.begin_turn()
        thought = kind == "agent_thought_chunk"
        take = self._fragments.think if thought else self._fragments.say
        yield from take(text, message_id)


def _todo(entry: dict[str, Any]) -> TodoItem:
    status = get_text(entry, "status")
    known = status if status in ("in_progress", "completed") else "pending"
    return TodoItem(get_text(entry, "content"), known)  # type: ignore[arg-type]  # one of the three words
