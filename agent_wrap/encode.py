"""From an entry to its line: one line of ASCII-only JSON, whatever the strings hold.

ASCII, since the live reader refuses a file with half a character at its end, and
since readers that use `splitlines` cut at U+2028. The choice of encoder is measured:
orjson is several times faster but writes UTF-8, and escaping that afterwards is
dearer than the standard library's encoder in C.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from agent_wrap.jsonvalue import clean, clean_text
from agent_wrap.limits import shorten, shorten_parts

_TEXTUAL = frozenset(
    {"seq", "ts", "type", "role", "content", "tool_id", "name", "status", "result"}
    | {"tokens"}
)
"""Keys of entries that hold texts, and numbers."""

_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encode(entry: dict[str, Any]) -> bytes:
    """Encode an entry, its line feed included."""
    text = entry.get("content") or entry.get("result")
    if type(text) is str and not text.isascii() and (line := _foreign(entry)):
        return line
    try:
        # The check as well: surrogates, integers beyond 64 bits, depth, other types.
        line = orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return _careful(entry)
    if b"\\u0000" in line:  # a NUL, or the text of one
        return _careful(entry)
    if line.isascii():
        return line
    try:
        return _ascii(entry).encode() + b"\n"
    except (TypeError, ValueError):  # not a number, or a type that only orjson takes
        return _careful(entry)


def _foreign(entry: dict[str, Any]) -> bytes | None:
    """Encode text that orjson would write in UTF-8: in vain, so it is not asked first.

    None where there is more to check, or to mend, than texts and small numbers.
    """
    if not entry.keys() <= _TEXTUAL or not _small(entry.get("tokens", {})):
        return None
    for value in entry.values():
        if type(value) is str and clean_text(value) is not value:
            return None
    return _ascii(entry).encode() + b"\n"


def _small(numbers: dict[str, Any]) -> bool:
    return all(type(n) is int and 0 <= n < 2**63 for n in numbers.values())


def encode_within(entry: dict[str, Any], longest: int) -> tuple[bytes, bool]:
    """Encode an entry in at most `longest` bytes; say whether it had to be cut."""
    line = encode(entry)
    if len(line) <= longest:
        return line, False
    short = shorten(entry, len(line), longest)
    line = encode(short)
    if len(line) > longest:  # very many parts, none of them long
        line = encode(shorten_parts(short, longest))
    return line, True


def _careful(entry: dict[str, Any]) -> bytes:
    return _ascii(clean(entry)).encode() + b"\n"
