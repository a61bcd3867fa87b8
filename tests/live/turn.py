"""One answer of the scripted model, before it takes a wire format."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_IDS = itertools.count(1)


@dataclass
class Turn:
    """One answer on its way out: its blocks as tool calls and texts, its usage."""

    model: str
    blocks: list[Json]
    tokens_in: int
    tokens_out: int
    id: str = field(default_factory=lambda: f"{next(_IDS):08d}")


def text_of(content: Any) -> str:
    """Give what a message of a request says, in any of the formats."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            text_of(part.get("text")) for part in content if isinstance(part, dict)
        )
    return ""


def cut(text: str, size: int = 24) -> Iterator[str]:
    """Cut a text into the pieces in which a model streams it."""
    for start in range(0, len(text), size):
        yield text[start : start + size]
