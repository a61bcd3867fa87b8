"""Qwen Code's `system` lines: the session, background tasks, notices.

Except in `init`, what a line says stands under `data`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Notice,
    SessionStarted,
    SubagentUpdated,
    TaskStatus,
)
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap_adapters.stream_json import unknown

_SILENT = ("session_start", "session_end", "worktree_started", "worktree_restored")
_NOTICES = (
    "continue_turn_failed",
    "model_fallback",
    "session_recording_degraded",
    "vision_bridge",
    "vision_bridge_failed",
    "vision_routing",
)
_STATUS: dict[str, TaskStatus] = {
    "completed": "completed",
    "failed": "failed",
    "cancelled": "stopped",
}


class System:
    """Reads the `system` lines of one process, except retries."""

    def __init__(self) -> None:
        self._tasks: set[str] = set()

    def read(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        subtype, data = get_text(event, "subtype"), get_dict(event, "data")
        if subtype == "init":
            yield _init(event)
        elif subtype == "task_started":
            task_id = get_text(data, "task_id")
            self._tasks.add(task_id)
            yield SubagentUpdated(task_id, "running", get_text(data, "description"))
        elif subtype == "task_notification":
            yield from self._notified(data)
        elif subtype in _NOTICES:
            said = get_text(data, "notice") or get_text(data, "error")
            yield Notice(f"{subtype}: {said}" if said else subtype)
        elif subtype not in _SILENT:
            yield unknown(subtype, "system/")

    def close(self) -> Iterator[Event]:
        """End the tasks that nobody ended: a result comes when all are over."""
        tasks, self._tasks = sorted(self._tasks), set()
        return (SubagentUpdated(task_id, "completed") for task_id in tasks)

    def _notified(self, data: dict[str, Any]) -> Iterator[Event]:
        task_id, usage = get_text(data, "task_id"), get_dict(data, "usage")
        status = _STATUS.get(get_text(data, "status"), "running")
        if status != "running":
            self._tasks.discard(task_id)
        uses = get_count(usage, "tool_uses") if "tool_uses" in usage else None
        yield SubagentUpdated(task_id, status, tool_uses=uses)


def _init(event: dict[str, Any]) -> SessionStarted:
    return SessionStarted(
        session_id=get_text(event, "session_id"),
        model=get_text(event, "model"),
        cwd=get_text(event, "cwd"),
        agent_version=get_text(event, "qwen_code_version"),
    )
