"""Lines as Claude Code prints them, and what a replay of them shows."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent_wrap.testing import Replay
from agent_wrap_adapters.claude_code import ClaudeCode

from .replays import play

OK = {"type": "result", "subtype": "success", "is_error": False}

run = partial(play, ClaudeCode)


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **fields}


def answer(message_id: str, *content: Any, parent: str = "", **more: Any) -> Any:
    message = {"id": message_id, "model": "m", "content": list(content), **more}
    return {
        "type": "assistant",
        "parent_tool_use_id": parent or None,
        "message": message,
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(tool_id: str, name: str = "Bash", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": args}


def result_of(tool_id: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool_id, "content": content}
    block |= {key: fields.pop(key) for key in ("is_error",) if key in fields}
    return {"type": "user", "message": {"content": [block]}, **fields}


def usage(read: int, wrote: int, cached: int = 0, written: int = 0) -> dict[str, int]:
    return {
        "input_tokens": read,
        "output_tokens": wrote,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }


def used(read: int, wrote: int, cost: float = 0.5) -> dict[str, Any]:
    return {"m": {"inputTokens": read, "outputTokens": wrote, "costUSD": cost}}


def part(kind: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    event = {"type": kind, **fields}
    return {"type": "stream_event", "parent_tool_use_id": parent, "event": event}


def tools(replayed: Replay) -> list[tuple[str, str, str]]:
    found = [e for e in replayed.entries if e["type"] == "tool"]
    return [(e["tool_id"], e["name"], e["status"]) for e in found]


def last(replayed: Replay) -> dict[str, Any]:
    return replayed.entries[-1]
