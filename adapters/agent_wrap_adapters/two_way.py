"""What the protocols of two-way agents share: messages as lines, and refusing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent_wrap.events import InteractionResolved, RunFinished, Send
from agent_wrap.shapes import get_text

NOT_OFFERED = {"code": -32601, "message": "not offered by this client"}
"""JSON-RPC's error for a method that there is not."""

_NO_PROMPT = "no prompt was given: there is nothing to ask the agent (--prompt)"


def send(message: dict[str, Any]) -> Send:
    """Send one message: a line of JSON."""
    return Send(json.dumps(message).encode() + b"\n")


def nothing_to_ask() -> Iterator[RunFinished]:
    """End a run that has no prompt before it has begun."""
    yield RunFinished(False, _NO_PROMPT, "no_prompt")


def answers_by(
    key: str, questions: list[dict[str, Any]], content: Mapping[str, Any]
) -> dict[str, str]:
    """Give answers, which come by number, by a field of their question.

    A question without an answer is left out.
    """
    answers = {}
    for number, question in enumerate(questions):
        said = content.get(str(number))
        if isinstance(said, str):
            answers[get_text(question, key)] = said
    return answers


def resolved(interaction_id: str, resolution: str) -> InteractionResolved:
    """Say how something that was asked was settled; cancelled, if not otherwise."""
    if resolution == "approved":
        return InteractionResolved(interaction_id, "approved")
    if resolution == "denied":
        return InteractionResolved(interaction_id, "denied")
    if resolution == "answered":
        return InteractionResolved(interaction_id, "answered")
    return InteractionResolved(interaction_id, "cancelled")
