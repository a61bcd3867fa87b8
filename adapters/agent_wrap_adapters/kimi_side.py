"""What Kimi Code leaves beside its stream: the wires of a session, with usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_wrap import SideFile, Surroundings
from agent_wrap.events import Event, SessionStarted
from agent_wrap.shapes import get_text
from agent_wrap_adapters.side_usage import lines, usage

_USAGE = "inputOther inputCacheRead inputCacheCreation output -"


def places(ran: Surroundings) -> Sequence[SideFile]:
    """Give the session's wires: the main agent's and those of its sub-agents."""
    sessions = ran.place("KIMI_CODE_HOME", ".kimi-code") + "/sessions"
    return [SideFile(f"{sessions}/*/{ran.session}", "agents/*/wire.jsonl")]


def read(contents: Sequence[bytes]) -> Iterator[Event]:
    """Give the tokens of each step of each agent."""
    for agent, data in enumerate(contents):
        for number, record in enumerate(lines(data)):
            figures = record.get("usage")
            if record.get("type") == "usage.record" and isinstance(figures, dict):
                yield SessionStarted(model=get_text(record, "model"))
                yield usage(figures, _USAGE, message_id=f"side-{agent}-{number}")
