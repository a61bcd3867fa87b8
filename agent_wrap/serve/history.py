"""From the events of a finished turn to its messages in the history. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_ERROR_KEYS = ("type", "message", "code")
_TOOL_KEYS = ("toolCallId", "toolName", "input", "result", "status")


def messages_of(
    events: Iterable[dict[str, Any]], name: str, timestamp: str
) -> list[dict[str, Any]]:
    """Give what was asked and what was answered; `name` makes their ids."""
    found = _Answer()
    asked: dict[str, Any] | None = None
    for event in events:
        if event["type"] == "turn_start":
            asked = event.get("userMessage")
        else:
            found.take(event)
    out: list[dict[str, Any]] = []
    if asked is not None:
        said = {"role": "user", "content": asked, "timestamp": timestamp}
        out.append({"id": f"{name}-user", **said})
    if found.parts:
        out.append({"id": f"{name}-assistant", **found.message(timestamp)})
    return out


class _Answer:
    """The assistant's message of a turn while it is put together."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []
        self._texts: list[list[str]] = []
        self._tools: dict[str, dict[str, Any]] = {}

    def take(self, event: dict[str, Any]) -> None:
        """Take one event of the turn."""
        kind = event["type"]
        if kind in ("text_delta", "thinking_delta"):
            self._say("text" if kind == "text_delta" else "thinking", event["text"])
        elif kind in ("tool_call", "tool_result"):
            self._tool(event)
        elif kind == "tool_progress" and event["toolCallId"] in self._tools:
            tool = self._tools[event["toolCallId"]]
            tool.setdefault("progressOutput", []).append(event["content"])
        elif kind == "error":
            self._add({key: event[key] for key in _ERROR_KEYS if key in event})

    def message(self, timestamp: str) -> dict[str, Any]:
        """Give the message, whole."""
        for part, texts in zip(self.parts, self._texts, strict=True):
            if texts:
                part["text"] = "".join(texts)
        for tool in self._tools.values():
            if "progressOutput" in tool:
                tool["progressOutput"] = "".join(tool["progressOutput"])
        texts = [part["text"] for part in self.parts if part["type"] == "text"]
        content = "\n\n".join(texts)
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if self._tools:
            message["toolCalls"] = [
                {key: value for key, value in tool.items() if key != "type"}
                for tool in self._tools.values()
            ]
        return {**message, "parts": self.parts, "timestamp": timestamp}

    def _add(self, part: dict[str, Any]) -> None:
        self.parts.append(part)
        self._texts.append([])

    def _say(self, kind: str, text: str) -> None:
        if not self.parts or self.parts[-1]["type"] != kind:
            self._add({"type": kind, "text": ""})
        self._texts[-1].append(text)

    def _tool(self, event: dict[str, Any]) -> None:
        fields = {key: event[key] for key in _TOOL_KEYS if key in event}
        tool = self._tools.get(event["toolCallId"])
        if tool is None:
            tool = self._tools[event["toolCallId"]] = {"type": "tool_call"}
            self._add(tool)
        tool.update(fields)
