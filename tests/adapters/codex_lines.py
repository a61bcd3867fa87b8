"""Lines as `codex exec` prints them."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent_wrap_adapters.codex import Codex

from .replays import play

DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}

run = partial(play, Codex)


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
