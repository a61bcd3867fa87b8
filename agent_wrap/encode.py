"""From an entry to its line: one line of ASCII-only JSON, whatever the strings hold.

ASCII, since the live reader refuses a file with half a character at its end, and
since readers that use `splitlines` cut at U+2028. The choice of encoder is measured:
orjson is several times faster but writes UTF-8, and escaping that afterwards is
dearer than the standard library's encoder in C.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii
from typing import Any

import orjson

from agent_wrap.jsonvalue import clean
from agent_wrap.limits import shorten, shorten_parts

_LONG = ("content", "result", "error")
"""Keys of an entry's long text."""

_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encode(entry: dict[str, Any]) -> bytes:
    """Encode any entry, its line feed included."""
    try:
        # The check as well: surrogates, integers beyond 64 bits, depth, other types.
        line = orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return _careful(entry)
    if line.find(b"\\u0000") >= 0:  # a NUL, or the text of one
        return _careful(entry)
    if line.isascii():
        return line
    try:
        return _ascii(entry).encode() + b"\n"
    except (TypeError, ValueError):  # not a number, or a type that only orjson takes
        return _careful(entry)


def encode_own(entry: dict[str, Any]) -> bytes:
    """Encode an entry that a dialog made: in it only `args` may need a second look."""
    if "args" in entry:
        return encode(entry)
    shown = entry
    for key in _LONG:
        if key in entry:
            text = entry[key]
            if not text.isascii():
                # orjson alone would write it in UTF-8, in vain.
                shown = {**entry, key: orjson.Fragment(encode_basestring_ascii(text))}
            break
    try:
        line = orjson.dumps(shown, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # more tokens than 64 bits can count
        return _careful(entry)
    return line if line.isascii() else _ascii(entry).encode() + b"\n"


def encode_within(entry: dict[str, Any], longest: int) -> tuple[bytes, bool]:
    """Encode an entry in at most `longest` bytes; say whether it had to be cut."""
    line = encode(entry)
    if len(line) <= longest:
        return line, False
    return encode_shortened(entry, len(line), longest), True


def encode_shortened(entry: dict[str, Any], length: int, longest: int) -> bytes:
    """Encode an entry, whose line has `length` bytes, in at most `longest`."""
    short = shorten(entry, length, longest)
    line = encode(short)
    if len(line) > longest:  # very many parts, none of them long
        line = encode(shorten_parts(short, longest))
    return line


def _careful(entry: dict[str, Any]) -> bytes:
    return _ascii(clean(entry)).encode() + b"\n"
