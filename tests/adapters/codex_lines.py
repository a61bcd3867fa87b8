"""Lines as `codex exec` prints them, and what a replay of them shows."""

from __future__ import annotations

import json
from typing import Any

from agent_wrap.testing import Replay, replay
from agent_wrap_adapters.codex import Codex

DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}


def run(*lines: Any, code: int = 0) -> Replay:
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return replay(stream, Codex(), code=code)


def item(kind: str, item_id: str = "item_0", ev: str = "completed", **more: Any) -> Any:
    return {"type": f"item.{ev}", "item": {"id": item_id, "type": kind, **more}}


def say(text: str) -> Any:
    return item("agent_message", text=text)


def command(ev: str, status: str = "in_progress", code: int | None = None) -> Any:
    more: dict[str, Any] = {
        "command": "ls",
        "aggregated_output": "out",
        "exit_code": code,
    }
    return item("command_execution", ev=ev, status=status, **more)


def tools(replayed: Replay) -> list[dict[str, Any]]:
    return [e for e in replayed.entries if e["type"] == "tool"]


def texts(replayed: Replay) -> list[str]:
    return [e["content"] for e in replayed.entries if e["type"] == "message"]
