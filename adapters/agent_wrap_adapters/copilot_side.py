"""What Copilot CLI leaves beside its stream: the events of the session, with usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import SideFile, Surroundings
from agent_wrap.events import Event, SessionStarted, Usage
from agent_wrap.shapes import get_dict, get_text
from agent_wrap_adapters.side_usage import document, lines, usage

_NAMES = "inputTokens cacheReadTokens cacheWriteTokens outputTokens reasoningTokens"


def places(ran: Surroundings, usage_file: str) -> Sequence[SideFile]:
    """Give the file that the command asked for, else the session's folder."""
    sessions = ran.place("COPILOT_HOME", ".copilot") + "/session-state"
    session = SideFile(f"{sessions}/{ran.session}", "events.jsonl")
    if usage_file:
        return [SideFile(ran.given(usage_file)), session]
    return [session]


def read(contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
    """Give the usage of each model, else of each call of a run that was killed.

    A session that was held in another folder is another run's.
    """
    for data in contents:
        whole = document(data)
        if "modelMetrics" in whole:
            yield from _models(whole)
            continue
        calls: list[Event] = []
        models: list[Event] = []
        for number, event in enumerate(lines(data)):
            figures = get_dict(event, "data")
            if event.get("type") == "session.usage_record":
                calls.append(_usage(figures, f"side-call-{number}"))
            elif event.get("type") == "session.shutdown":
                models = list(_models(figures))
            elif event.get("type") == "session.start":
                cwd = get_text(get_dict(figures, "context"), "cwd")
                if cwd and cwd != ran.raw_cwd and not ran.session_id:
                    return
                version = get_text(figures, "copilotVersion")
                yield SessionStarted(agent_version=version)
        yield from models or calls


def _models(told: dict[str, Any]) -> Iterator[Event]:
    for model, metrics in get_dict(told, "modelMetrics").items():
        figures = get_dict(metrics, "usage") if isinstance(metrics, dict) else {}
        yield SessionStarted(model=model)
        yield _usage(figures, f"side-{model}")


def _usage(figures: dict[str, Any], message_id: str) -> Usage:
    figures = get_dict(figures, "usage") or figures
    return usage(figures, _NAMES, cache_inside=True, message_id=message_id)
