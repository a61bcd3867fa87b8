"""Claude Code's sub-agents and background commands: which of them still run.

A run is not over while one does (a `result` is printed before it ends), so none may
stay open by mistake: a task in the foreground ends with the result of its tool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import SubagentUpdated, TaskStatus
from agent_wrap.shapes import get_count, get_dict, get_dicts, get_text

_STATUS: dict[str, TaskStatus] = {
    "pending": "running",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "killed": "stopped",
    "stopped": "stopped",
    "cancelled": "stopped",
}


class Tasks:
    """Follows the `system` events about tasks."""

    def __init__(self) -> None:
        self._running: dict[str, str] = {}  # the tool whose result ends it, if any
        self._listed: set[str] = set()

    def started(self, event: dict[str, Any]) -> Iterator[SubagentUpdated]:
        """Read `task_started`."""
        task_id = get_text(event, "task_id")
        background = event.get("is_backgrounded") is True
        self._running[task_id] = "" if background else get_text(event, "tool_use_id")
        yield SubagentUpdated(task_id, "running", get_text(event, "description"))

    def progress(self, event: dict[str, Any]) -> Iterator[SubagentUpdated]:
        """Read `task_progress`; a late one does not open the task again."""
        task_id = get_text(event, "task_id")
        if task_id in self._running:
            text, uses = get_text(event, "description"), _tool_uses(event)
            yield SubagentUpdated(task_id, "running", text, uses)

    def changed(self, event: dict[str, Any]) -> Iterator[SubagentUpdated]:
        """Read `task_updated` and `task_notification`."""
        known = get_text(get_dict(event, "patch") or event, "status")
        status = _STATUS.get(known)
        if status is not None:
            task_id = get_text(event, "task_id")
            if status != "running":
                self._running.pop(task_id, None)
            yield SubagentUpdated(
                task_id,
                status,
                tool_uses=_tool_uses(event),
                summary=get_text(event, "summary"),
            )

    def listed(self, event: dict[str, Any]) -> Iterator[SubagentUpdated]:
        """Read `background_tasks_changed`, the list of what runs now."""
        tasks = {get_text(t, "task_id"): t for t in get_dicts(event, "tasks")}
        for task_id, task in tasks.items():
            if task_id not in self._running:
                self._running[task_id] = ""
                text = get_text(task, "description")
                yield SubagentUpdated(task_id, "running", text)
        for task_id in self._listed - tasks.keys():
            if task_id in self._running:
                del self._running[task_id]
                yield SubagentUpdated(task_id, "completed")
        self._listed = set(tasks)

    def tool_finished(self, event: dict[str, Any]) -> Iterator[SubagentUpdated]:
        """Close the foreground tasks of a tool whose result came."""
        if not self._running or _in_background(get_dict(event, "tool_use_result")):
            return
        results = get_dicts(get_dict(event, "message"), "content")
        ended = {get_text(r, "tool_use_id") for r in results} - {""}
        for task_id, tool_id in list(self._running.items()):
            if tool_id in ended and task_id not in self._listed:
                del self._running[task_id]
                yield SubagentUpdated(task_id, "completed")


def _in_background(result: dict[str, Any]) -> bool:
    """Did the tool only launch something that runs on?"""
    launched = get_text(result, "status") in ("async_launched", "backgrounded")
    return launched or "backgroundTaskId" in result or result.get("isAsync") is True


def _tool_uses(event: dict[str, Any]) -> int | None:
    usage = get_dict(event, "usage")
    return get_count(usage, "tool_uses") if "tool_uses" in usage else None
