"""One entry by itself: the fields of its type, and what each of them may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from agent_wrap.entries import TYPES
from agent_wrap.rules.words import shown

_TS = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:"
    r"([0-5]\d|60)([.,]\d+)?(Z|\+00(:?00)?)"
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_moment(value: Any) -> bool:
    """Is this an ISO 8601 timestamp in UTC?"""
    found = _TS.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return False
    year, month, day = (int(found[group]) for group in (1, 2, 3))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _DAYS[month - 1] and (leap or (month, day) != (2, 29))


def is_count(value: Any) -> bool:
    """Is this an int, not negative, that 64 bits hold?"""
    return type(value) is int and 0 <= value < 2**64


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an entry type; `inside` is the object that holds it."""

    name: str
    fits: Callable[[Any], bool]
    expected: str
    required: bool = True
    inside: str = ""


def _text(name: str, *, required: bool = True, inside: str = "") -> _Field:
    return _Field(name, _is_text, "a string", required, inside)


def _tokens(name: str, *, required: bool) -> tuple[_Field, ...]:
    count = "an int, not negative"
    return (
        _Field(name, _is_object, "an object", required),
        _Field("in", is_count, count, inside=name),
        _Field("out", is_count, count, inside=name),
    )


_COMMON = (
    _Field("seq", is_count, "an int from 0, within 64 bits"),
    _Field("ts", _is_moment, "an ISO 8601 timestamp in UTC"),
    _Field("type", _one_of(*TYPES), "one of " + ", ".join(sorted(TYPES))),
)
_FIELDS: dict[str, tuple[_Field, ...]] = {
    "init": (
        _Field("data", _is_object, "an object"),
        *(_text(name, inside="data") for name in ("task", "cwd", "model", "agent")),
    ),
    "prompt": (_text("content"),),
    "message": (
        _Field("role", _one_of("assistant"), '"assistant"'),
        _text("content"),
        *_tokens("tokens", required=False),
    ),
    "thinking": (_text("content"),),
    "tool": (
        _text("tool_id"),
        _text("name"),
        _Field("status", _one_of("running", "success", "error"), "a tool's status"),
        _Field("args", _is_object, "an object", required=False),
        _text("result", required=False),
        _text("error", required=False),
    ),
    "complete": (
        _Field("status", _one_of("success", "error", "timeout"), "a run's status"),
        _Field("turns", is_count, "an int, not negative"),
        _Field("duration_ms", is_count, "an int, not negative"),
        *_tokens("total_tokens", required=True),
        _text("message", required=False),
    ),
}
"""The tables of the protocol's section "Entry Types", row by row."""


def check_entry(entry: dict[str, Any], due: range) -> Iterator[tuple[str, str]]:
    """Check one entry by itself; `due` are the numbers that may be its `seq`."""
    yield from _fields(entry, _COMMON, "")
    seq = entry.get("seq")
    if is_count(seq) and seq not in due:
        yield "seq-contiguous", f"seq is {seq}, expected {due[0]}"
    kind = entry.get("type")
    if isinstance(kind, str) and kind in _FIELDS:
        yield from _fields(entry, _FIELDS[kind], f"{kind}-")
        if kind == "tool":
            yield from _tool_outputs(entry)


def _fields(
    entry: dict[str, Any], fields: Iterable[_Field], prefix: str
) -> Iterator[tuple[str, str]]:
    for field in fields:
        path = f"{field.inside}.{field.name}" if field.inside else field.name
        holder = entry.get(field.inside) if field.inside else entry
        if not isinstance(holder, dict):  # absent, or reported by its own row
            continue
        value = holder.get(field.name, _ABSENT)
        if value is _ABSENT:
            if field.required:
                yield _rule(prefix, path), f"{path} is missing"
        elif not field.fits(value):
            what = f"{path} is {shown(value)}, expected {field.expected}"
            yield _rule(prefix, path), what


_ABSENT = object()


def _rule(prefix: str, path: str) -> str:
    return prefix + path.replace(".", "-").replace("_", "-")


def _tool_outputs(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """`result` is the "tool output on success", `error` the "message on failure"."""
    status = entry.get("status")
    if "result" in entry and status in ("running", "error"):
        yield "tool-result-misplaced", f"result in an entry whose status is {status}"
    if "error" in entry and status in ("running", "success"):
        yield "tool-error-misplaced", f"error in an entry whose status is {status}"
