"""What mini-swe-agent leaves beside its output: the trajectory, with each call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import SideFile, Surroundings
from agent_wrap.events import Event, SessionStarted, Usage
from agent_wrap.shapes import get_count, get_dict, get_dicts, get_number, get_text
from agent_wrap_adapters.side_usage import document


def places(ran: Surroundings, output: str) -> Sequence[SideFile]:
    """Give the file that the command names, else the last run's."""
    if output:
        return [SideFile(ran.given(output))]
    kept = ran.place("MSWEA_GLOBAL_CONFIG_DIR", ".config/mini-swe-agent")
    return [SideFile(f"{kept}/last_mini_run.traj.json")]


def read(contents: Sequence[bytes]) -> Iterator[Event]:
    """Give the usage of each call; an answer without a command stands elsewhere."""
    for data in contents:
        told = document(data)
        info = get_dict(told, "info")
        responses = [
            get_dict(get_dict(message, "extra"), "response")
            for message in get_dicts(told, "messages")
        ]
        calls = [response for response in responses if "usage" in response]
        for number, response in enumerate(calls):
            yield SessionStarted(model=get_text(response, "model"))
            yield _usage(get_dict(response, "usage"), f"side-call-{number}")
        version = get_text(info, "mini_version")
        if calls and version:
            yield SessionStarted(agent_version=version)
        # Without prices for the model it says 0, which is not known.
        cost = get_number(get_dict(info, "model_stats"), "instance_cost")
        if calls and cost:
            yield Usage(cost=cost, scope="total")


def _usage(figures: dict[str, Any], message_id: str) -> Usage:
    """Read what the provider says: what was cached is counted in the prompt."""
    read_, wrote = (
        get_dict(figures, f"{kind}_tokens_details") for kind in ("prompt", "completion")
    )
    cached = get_count(read_, "cached_tokens")
    return Usage(
        input=max(get_count(figures, "prompt_tokens") - cached, 0),
        cached=cached,
        output=get_count(figures, "completion_tokens"),
        reasoning=get_count(wrote, "reasoning_tokens"),
        message_id=message_id,
    )
