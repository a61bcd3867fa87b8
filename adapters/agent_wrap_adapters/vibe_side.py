"""What Mistral Vibe leaves beside its stream: `export.json`, when it is asked to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_wrap import SIDE_FOLDER, SideFile, Surroundings
from agent_wrap.events import Event
from agent_wrap.shapes import get_dict, get_number
from agent_wrap_adapters.side_usage import document, usage

SAME_RELEASE = ("--time-limit", "--prompt-file")
"""Options that came with `--output-dir` (2.26): an older release refuses it."""

TO_SIDE = f"--output-dir {SIDE_FOLDER}"


def place(ran: Surroundings, folder: str) -> Sequence[SideFile]:
    """Give the export in the folder that the command names."""
    return [SideFile(f"{ran.given(folder)}/export.json")] if folder else []


def read(contents: Sequence[bytes]) -> Iterator[Event]:
    """Give tokens and cost of the run; without a price it says 0, or nothing."""
    for data in contents:
        told = document(data)
        if figures := get_dict(told, "usage"):
            yield usage(
                figures,
                "input_tokens cached_input_tokens - output_tokens -",
                cache_inside=True,
                cost=get_number(told, "cost_usd") or None,
            )
