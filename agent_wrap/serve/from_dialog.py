"""A dialog's entries as the facts that they were made of. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.events import (
    Event,
    Message,
    Prompt,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
    Usage,
)


def facts_in(entry: Entry) -> Iterator[Event]:
    """Give the facts of an entry; `complete` has none, it is the run's end."""
    kind, name = entry["type"], str(entry["seq"])
    if kind == "init":
        data = entry["data"]
        known = {key: "" if data[key] == UNKNOWN else data[key] for key in data}
        yield SessionStarted(
            model=known["model"], cwd=known["cwd"], agent=known["agent"]
        )
    elif kind == "prompt":
        yield Prompt(entry["content"])
    elif kind == "thinking":
        yield Thinking(entry["content"], name)
    elif kind == "message":
        yield Message(entry["content"], name)
        tokens = entry.get("tokens")
        if tokens:
            yield Usage(input=tokens["in"], output=tokens["out"], message_id=name)
    elif kind == "tool" and entry["status"] == "running":
        yield ToolStarted(entry["tool_id"], entry["name"], entry.get("args"))
    elif kind == "tool":
        ok = entry["status"] == "success"
        output = entry.get("result" if ok else "error", "")
        yield ToolFinished(entry["tool_id"], output, ok)


def reason_of(complete: Entry, summary: dict[str, object]) -> str:
    """Give why a run ended: the summary's word, else what the dialog allows."""
    said = summary.get("reason")
    if isinstance(said, str) and said:
        return said
    return "completed" if complete["status"] == "success" else complete["status"]
