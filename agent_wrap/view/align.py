"""The steps of two runs beside each other.

Those that say the same stand together; between them, those of one kind do (two calls
of one tool, two messages), each in its run's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

SAME, ALIKE, LEFT, RIGHT = "=", "~", "<", ">"


@dataclass
class Moment:
    """One step in one line; `kind` is what another run's step must be to be alike."""

    elapsed_ms: int
    kind: str
    text: str
    failed: bool = False


def aligned(
    left: list[Moment], right: list[Moment]
) -> Iterator[tuple[str, Moment | None, Moment | None]]:
    """Pair the steps of two runs; each comes once, a mark says how they compare."""
    exact = [[(m.kind, m.text) for m in side] for side in (left, right)]
    for tag, a, b, c, d in _blocks(*exact):
        if tag == "equal":
            for one, other in zip(left[a:b], right[c:d], strict=True):
                yield SAME if one.failed == other.failed else ALIKE, one, other
        else:
            yield from _alike(left[a:b], right[c:d])


def _alike(
    left: list[Moment], right: list[Moment]
) -> Iterator[tuple[str, Moment | None, Moment | None]]:
    kinds = [[m.kind for m in side] for side in (left, right)]
    for tag, a, b, c, d in _blocks(*kinds):
        if tag == "equal":
            pairs = zip(left[a:b], right[c:d], strict=True)
            yield from ((ALIKE, one, other) for one, other in pairs)
        else:
            yield from ((LEFT, one, None) for one in left[a:b])
            yield from ((RIGHT, None, other) for other in right[c:d])


def _blocks(
    left: list[Any], right: list[Any]
) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
