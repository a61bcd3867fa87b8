"""What Claude Code prints with `--output-format stream-json --verbose`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TurnStarted,
)
from agent_wrap.shapes import get_dict, get_text
from agent_wrap_adapters.claude_result import Results
from agent_wrap_adapters.claude_system import System
from agent_wrap_adapters.claude_tasks import Tasks
from agent_wrap_adapters.control import Control
from agent_wrap_adapters.stream_json import StreamJson, blocks, unknown, usage_of

_SILENT_PARTS = ("content_block_stop", "message_stop", "ping")


class ClaudeStream(StreamJson):
    """Reads Claude Code's lines; one instance a run."""

    silent = frozenset(
        {
            "auth_status",
            "keep_alive",
            "prompt_suggestion",
            "tool_progress",
            "tool_use_summary",
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self._tasks = Tasks()
        self._results = Results()
        self._streaming: dict[str, Any] = {}
        self._has_pieces = False
        self._pieces: dict[str, list[str]] = {"text": [], "thinking": []}
        self._settled = ""
        self._told: tuple[str, dict[str, Any]] = ("", {})
        self.control = Control()
        self.types |= {
            "system": System(self._tasks).read,
            "stream_event": self._stream_event,
            "result": self._results.read,
            "control_request": self.control.request,
            "control_response": self.control.response,
            "control_cancel_request": self.control.taken_back,
            "rate_limit_event": _rate_limit,
        }

    def close(self) -> Iterator[Event]:
        """Give what was still being said when the stream ended."""
        message_id = get_text(self._streaming, "id")
        thought, said = map("".join, (self._pieces["thinking"], self._pieces["text"]))
        if thought or said:
            yield TurnStarted(message_id)
        if thought:
            yield Thinking(thought, message_id)
        if said:
            yield Message(said, message_id)

    def assistant(self, event: dict[str, Any]) -> Iterable[Event]:
        """Read a whole block; its pieces, which came before, have done their part."""
        message = get_dict(event, "message")
        parent = get_text(event, "parent_tool_use_id")
        if not parent:
            if self._has_pieces:
                self._drop_pieces()
            synthetic = message.get("model") == "<synthetic>"
            if synthetic or event.get("is_api_error_message") is True:
                return self._notice(message)
        return self.read_answer(message, parent)

    def _notice(self, message: dict[str, Any]) -> Iterator[Event]:
        """Keep an API error, printed as if the model had spoken, for the run's end."""
        text = "\n".join(get_text(block, "text") for block in blocks(message)).strip()
        if text:
            self._results.said = text
            yield Notice(text)

    def usage(self, message: dict[str, Any], message_id: str) -> Iterable[Event]:
        """Read the usage of `message_start`: its output is a placeholder."""
        figures = get_dict(message, "usage")
        told = (message_id, figures)
        if not figures or message_id == self._settled or told == self._told:
            return ()
        self._told = told  # each block of an answer repeats it
        return (usage_of(figures, message_id, final=False),)

    def user(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read tool results; they close foreground tasks too."""
        yield from super().user(event)
        yield from self._tasks.tool_finished(event)

    def user_text(self, event: dict[str, Any], text: str) -> Iterator[Event]:
        """Read replayed prompts and the mark of an interruption."""
        if text.startswith("[Request interrupted"):
            self._results.said = text
            yield Notice(text)
        else:
            yield from super().user_text(event, text)

    def _stream_event(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read partial messages: their text comes whole in `assistant` as well."""
        if get_text(event, "parent_tool_use_id"):
            return
        part = get_dict(event, "event")
        kind = get_text(part, "type")
        message_id = get_text(self._streaming, "id")
        if kind == "message_start":
            self._streaming = get_dict(part, "message")
        elif kind == "content_block_delta":
            self._has_pieces = True
            delta = get_dict(part, "delta")
            if text := get_text(delta, "text"):
                self._pieces["text"].append(text)
                yield TextDelta(text, message_id)
            elif text := get_text(delta, "thinking"):
                self._pieces["thinking"].append(text)
                yield ThinkingDelta(text, message_id)
        elif kind == "message_delta":
            told = get_dict(part, "usage").items()
            figures = {key: value for key, value in told if value is not None}
            if figures and message_id:
                self._settled = message_id
                started = get_dict(self._streaming, "usage")
                yield usage_of(started | figures, message_id)
        elif kind == "content_block_start":
            self._drop_pieces()
        elif kind not in _SILENT_PARTS:
            yield unknown(kind, "stream_event/")

    def _drop_pieces(self) -> None:
        self._has_pieces = False
        for pieces in self._pieces.values():
            pieces.clear()


def _rate_limit(event: dict[str, Any]) -> Iterator[Event]:
    status = get_text(get_dict(event, "rate_limit_info"), "status")
    if status not in ("", "allowed"):
        yield Notice(f"rate limit: {status}")
