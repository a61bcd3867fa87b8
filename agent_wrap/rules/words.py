"""How a value is named in the text of a breach."""

from __future__ import annotations

import json
from typing import Any


def kind_of(value: Any) -> str:
    """Name the JSON type of a value that is no object."""
    names = {str: "a string", list: "an array", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def shown(value: Any) -> str:
    """Show a value shortly, a container by its type alone."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list) or value is None:
        return kind_of(value)
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
