"""What OpenHands leaves beside its stream: the saved state of the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_wrap.events import Event
from agent_wrap.shapes import get_dict, get_number
from agent_wrap_adapters.side_usage import document, usage

_USAGE = (
    "prompt_tokens cache_read_tokens cache_write_tokens completion_tokens "
    "reasoning_tokens"
)


def read_state(contents: Sequence[bytes]) -> Iterator[Event]:
    """Read what the conversation's saved state says of its usage."""
    for data in contents:
        stats = get_dict(document(data), "stats")
        for name, metrics in get_dict(stats, "usage_to_metrics").items():
            if isinstance(metrics, dict):
                yield usage(
                    get_dict(metrics, "accumulated_token_usage"),
                    _USAGE,
                    cache_inside=True,
                    # Without prices for the model it says 0, which is not known.
                    cost=get_number(metrics, "accumulated_cost") or None,
                    message_id=f"side-{name}",
                )
