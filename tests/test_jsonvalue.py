"""Lines that are JSON, nearly JSON, or not; and values that strict readers accept."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.jsonvalue import (
    MAX_DEPTH,
    clean,
    clean_text,
    objects,
    strip_terminal,
    too_deep,
)

READ: list[tuple[str, bytes, Any]] = [
    ("an object", b'{"a":1}', [{"a": 1}]),
    ("blanks around", b'  {"a":1} \t', [{"a": 1}]),
    ("an array of objects", b'[{"a":1},{"b":2}]', [{"a": 1}, {"b": 2}]),
    ("two objects", b'{"a":1}{"b":2}', [{"a": 1}, {"b": 2}]),
    ("two objects apart", b'{"a":1}  {"b":2}', [{"a": 1}, {"b": 2}]),
    ("noise before", b'12:00 INFO {"a":1}', [{"a": 1}]),
    ("terminal title before", b'\x1b]0;title\x07{"a":1}', [{"a": 1}]),
    ("colours around", b'\x1b[32m{"a":1}\x1b[0m', [{"a": 1}]),
    ("byte-order mark", b'\xef\xbb\xbf{"a":1}', [{"a": 1}]),
    ("NUL bytes", b'\x00{"a":\x001}\x00', [{"a": 1}]),
    ("not a number", b'{"a":NaN,"b":-Infinity}', [{"a": None, "b": None}]),
    ("a double's end", b'{"a":1e999}', [{"a": None}]),
    ("64 bits", b'{"a":18446744073709551615,"b":NaN}', [{"a": 2**64 - 1, "b": None}]),
    ("beyond 64 bits", b'{"a":36893488147419103232}', [{"a": float(2**65)}]),
    ("thousands of digits", b'{"a":' + b"9" * 5000 + b"}", [{"a": None}]),
    ("a raw tab in a string", b'{"a":"x\ty"}', [{"a": "x\ty"}]),
    ("a lone surrogate", b'{"a":"x\\ud800y"}', [{"a": "x\ufffdy"}]),
    ("a surrogate pair", b'{"a":"\\ud83c\\udf89"}', [{"a": "🎉"}]),
    ("invalid UTF-8", b'{"a":"x\xffy"}', [{"a": "x\ufffdy"}]),
    ("raw line separator", '{"a":"x\u2028y"}'.encode(), [{"a": "x\u2028y"}]),
    ("duplicate keys", b'{"a":1,"a":2}', [{"a": 2}]),
]

REFUSED = [
    b"",
    b"   ",
    b"hello",
    b"42",
    b"null",
    b'"{"',
    b"[]",
    b"[1,2]",
    b'[{"a":1},2]',
    b"{",
    b'{"a":1',
    b'{"a":1} trailing',
    b"use {braces} here",
    b'{"a":1}]',
    b'{"a":' * 100_000,
]


@pytest.mark.parametrize(("line", "found"), [row[1:] for row in READ])
def test_read(line: bytes, found: Any) -> None:
    assert objects(line) == found


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: repr(line[:20]))
def test_not_json(line: bytes) -> None:
    assert objects(line) is None


@given(st.binary())
def test_reading_never_raises(line: bytes) -> None:
    for found in (objects(line), objects(b"{" + line), objects(b'{"a":"' + line)):
        assert found is None or all(isinstance(value, dict) for value in found)


TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(TEXT, JSON, max_size=3))
def test_proper_json_is_read_as_it_is(value: dict[str, Any]) -> None:
    assert objects(json.dumps(value).encode()) == [value]
    assert objects(b"INFO " + json.dumps(value).encode()) == [clean(value)]


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("a\0b\ud800", "a\ufffdb\ufffd"),
        (math.nan, None),
        (math.inf, None),
        (2**64 - 1, 2**64 - 1),
        (2**64, float(2**64)),
        (-(2**63) - 1, -float(2**63)),
        (2**2000, None),
        (True, True),
        ({1: (2, 3), "\0": None}, {"1": [2, 3], "\ufffd": None}),
        ({"x": {1}}, {"x": "{1}"}),
        (b"bytes", "b'bytes'"),
    ],
)
def test_clean(value: Any, cleaned: Any) -> None:
    assert clean(value) == cleaned


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


def test_deep_nesting_becomes_a_note() -> None:
    assert clean(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    assert "nested too deep" in str(clean(nested(MAX_DEPTH + 1)))
    assert not too_deep(clean(nested(100_000)))


def test_too_deep_counts_objects_arrays_and_tuples() -> None:
    assert not too_deep("text", 0)
    assert not too_deep({"a": [1]}, 2)
    assert too_deep({"a": [1]}, 1)
    assert too_deep(({"a": 1},), 1)
    assert too_deep(nested(100_000))


@given(st.text(st.characters(exclude_categories=())))
def test_clean_text_gives_strict_utf8(text: str) -> None:
    cleaned = clean_text(text)
    assert "\0" not in cleaned
    assert len(cleaned.encode().decode()) == len(text)


def test_strip_terminal_leaves_plain_text_alone() -> None:
    assert strip_terminal("plain [0m text") == "plain [0m text"
    assert strip_terminal("\x1b[1;31mred\x1b[0m \x1b]0;title\x1b\\x") == "red x"
    assert strip_terminal("\x1b]0;never closed") == ""


def test_nesting_that_no_reader_needs_is_no_json_on_any_python() -> None:
    assert objects(b'{"a":' * 5_000 + b"1" + b"}" * 5_000) is None
