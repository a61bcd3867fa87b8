"""The state of a session as its clients hold it: fresh, and merged. Pure."""

from __future__ import annotations

from typing import Any

Status = dict[str, Any]

ABORTED = frozenset({"interrupted", "aborted_streaming", "aborted_tools"})

_NO_CONTEXT = {
    "totalTokens": 0,
    "maxTokens": 0,
    "outputTokens": 0,
    "cacheReadTokens": 0,
    "cacheCreationTokens": 0,
}


def fresh() -> Status:
    """Give the state of a session in which nothing has happened."""
    return {
        "contextUsage": None,
        "cost": None,
        "usage": None,
        "cacheStats": None,
        "model": None,
        "permissionMode": "default",
        "todoCounts": None,
        "runningSubagentCount": 0,
        "lifecycle": "idle",
        "lastError": None,
    }


def merge(status: Status, part: Status) -> None:
    """Take a partial update into a state, as clients do."""
    for key, value in part.items():
        if key == "contextUsage" and value is not None:
            value = {**(status[key] or _NO_CONTEXT), **value}
        status[key] = value


def changes(status: Status, part: Status) -> Status:
    """Give what of a partial update is news."""
    news = {}
    for key, value in part.items():
        held = status[key]
        if key == "contextUsage" and held is not None and value is not None:
            value = {k: v for k, v in value.items() if held[k] != v}
            if value:
                news[key] = value
        elif held != value:
            news[key] = value
    return news


def after_turn(reason: str, *, waiting: bool) -> str:
    """Give the lifecycle that a turn leaves behind."""
    if reason == "error":
        return "error"
    if reason in ABORTED:
        return "interrupted"
    return "blocked" if waiting else "idle"
