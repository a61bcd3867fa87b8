"""Reading native events without trusting their shape.

A field that is missing or of the wrong type reads as empty: agents change their
formats between releases, and a surprise must never end a run. Types are compared, not
asked by `isinstance`, which takes twice as long: those that JSON gives are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

from agent_wrap.jsonvalue import strip_terminal

__all__ = [
    "as_args",
    "get_count",
    "get_counts",
    "get_dict",
    "get_dicts",
    "get_number",
    "get_text",
    "strip_terminal",
]


_NUMBERS = frozenset({int, float})  # a bool is none: JSON's types are exact
_NO_COUNT = 10**12
"""From here on a number is no count of anything: sums must stay within 64 bits."""


def get_text(event: Mapping[str, Any], key: str) -> str:
    """Give a string field, or an empty string."""
    value = event.get(key)
    return value if type(value) is str else ""


def get_count(event: Mapping[str, Any], key: str) -> int:
    """Give a number of things (tokens, turns): a whole number, never negative."""
    value: Any = event.get(key)
    if type(value) not in _NUMBERS:
        return 0
    return int(value) if 0 < value < _NO_COUNT else 0


def get_counts(event: Mapping[str, Any], *keys: str) -> list[int]:
    """Give several numbers of things at once: each answer's usage is read by this."""
    values = list(map(event.get, keys, repeat(0)))
    for value in values:
        if type(value) is not int or not 0 <= value < _NO_COUNT:
            return [get_count(event, key) for key in keys]
    return values


def get_number(event: Mapping[str, Any], key: str) -> float | None:
    """Give a number that is not negative and finite (a cost), or None."""
    value: Any = event.get(key)
    if type(value) not in _NUMBERS:
        return None
    return float(value) if 0 <= value < float("inf") else None


def get_dict(event: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Give an object field, or an empty object."""
    value = event.get(key)
    return value if type(value) is dict else {}


def get_dicts(event: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Give the objects of a list field; items of other types are left out."""
    value = event.get(key)
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def as_args(value: Any) -> dict[str, Any] | None:
    """Give tool arguments as an object: anything else is put under `input`."""
    if isinstance(value, dict):
        return value
    return None if value in (None, "") else {"input": value}
