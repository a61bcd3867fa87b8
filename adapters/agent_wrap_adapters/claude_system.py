"""Claude Code's `system` lines: what the agent says about itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    HookUpdated,
    MemoryRecalled,
    Notice,
    SessionStarted,
    ThinkingDelta,
)
from agent_wrap.shapes import get_count, get_dicts, get_text
from agent_wrap_adapters.claude_tasks import Tasks
from agent_wrap_adapters.reading import Read
from agent_wrap_adapters.stream_json import unknown

_SILENT = (
    "context_usage",
    "elicitation_complete",
    "files_persisted",
    "hook_progress",
    "local_command_output",
    "post_turn_summary",
    "session_state_changed",
    "status",
    "task_summary",
)


class System:
    """Reads the `system` lines of one process."""

    def __init__(self, tasks: Tasks) -> None:
        self._subtypes: dict[str, Read] = {
            "init": _init,
            "api_retry": _api_retry,
            "thinking_tokens": lambda event: iter((ThinkingDelta(""),)),
            "task_started": tasks.started,
            "task_progress": tasks.progress,
            "task_updated": tasks.changed,
            "task_notification": tasks.changed,
            "background_tasks_changed": tasks.listed,
            "hook_started": _hook_started,
            "hook_response": _hook_response,
            "memory_recall": _memory_recall,
            "permission_denied": _permission_denied,
            "compact_boundary": lambda event: iter((Notice("context compacted"),)),
        }

    def read(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        subtype = get_text(event, "subtype")
        if subtype in self._subtypes:
            yield from self._subtypes[subtype](event)
        elif subtype not in _SILENT:
            yield unknown(subtype, "system/")


def _init(event: dict[str, Any]) -> Iterator[Event]:
    """Read `init`; it comes again whenever the agent wakes up after a result."""
    yield SessionStarted(
        session_id=get_text(event, "session_id"),
        model=get_text(event, "model"),
        cwd=get_text(event, "cwd"),
        agent_version=get_text(event, "claude_code_version"),
    )


def _api_retry(event: dict[str, Any]) -> Iterator[Event]:
    attempt, limit = get_count(event, "attempt"), get_count(event, "max_retries")
    status = get_count(event, "error_status")
    cause = get_text(event, "error") or "unknown error"
    with_status = f"{cause} (status {status})" if status else cause
    yield Notice(f"API retry {attempt} of {limit}: {with_status}")


def _permission_denied(event: dict[str, Any]) -> Iterator[Event]:
    yield Notice(f"permission denied: {get_text(event, 'tool_name')}")


def _hook_started(event: dict[str, Any]) -> Iterator[Event]:
    hook_id, name = get_text(event, "hook_id"), get_text(event, "hook_name")
    yield HookUpdated(hook_id, "running", name)


def _hook_response(event: dict[str, Any]) -> Iterator[Event]:
    code = event.get("exit_code")
    exit_code = code if isinstance(code, int) else None
    failed = exit_code not in (None, 0) or get_text(event, "outcome") == "error"
    yield HookUpdated(
        get_text(event, "hook_id"),
        "failed" if failed else "completed",
        get_text(event, "hook_name"),
        get_text(event, "stdout") or get_text(event, "output"),
        get_text(event, "stderr"),
        exit_code,
    )


def _memory_recall(event: dict[str, Any]) -> Iterator[Event]:
    paths = (get_text(memory, "path") for memory in get_dicts(event, "memories"))
    yield MemoryRecalled(get_text(event, "mode"), tuple(paths))
