"""What the protocols of two-way agents share: messages as lines, and refusing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent_wrap.events import InteractionResolved, RunFinished, Send

NOT_OFFERED = {"code": -32601, "message": "not offered by this client"}
"""JSON-RPC's error for a method that there is not."""

_NO_PROMPT = "no prompt was given: there is nothing to ask the agent (--prompt)"


def send(message: dict[str, Any]) -> Send:
    """Send one message: a line of JSON."""
    return Send(json.dumps(message).encode() + b"\n")


def nothing_to_ask() -> Iterator[RunFinished]:
    """End a run that has no prompt before it has begun."""
    yield RunFinished(False, _NO_PROMPT, "no_prompt")


def answer_to(number: int, content: Mapping[str, Any]) -> str | None:
    """Give the answer to a question by its number; None where there is none."""
    said = content.get(str(number))
    return said if isinstance(said, str) else None


def resolved(interaction_id: str, resolution: str) -> InteractionResolved:
    """Say how something that was asked was settled; cancelled, if not otherwise."""
    if resolution == "approved":
        return InteractionResolved(interaction_id, "approved")
    if resolution == "denied":
        return InteractionResolved(interaction_id, "denied")
    if resolution == "answered":
        return InteractionResolved(interaction_id, "answered")
    return InteractionResolved(interaction_id, "cancelled")
