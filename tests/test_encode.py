"""Any entry becomes one ASCII line that every reader accepts."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.encode import encode, encode_own
from agent_wrap.jsonvalue import clean, clean_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
CLEAN_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


def values(text: st.SearchStrategy[str], numbers: st.SearchStrategy[Any]) -> Any:
    return st.recursive(
        st.none() | st.booleans() | numbers | text,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
        ),
        max_leaves=6,
    )


WILD = values(ANY_TEXT, st.integers() | st.floats())
CLEAN = values(
    CLEAN_TEXT,
    st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False),
)


def strict(line: bytes) -> Any:
    """Read as the strictest reader does."""
    assert line.isascii()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\\u0000" not in line
    return orjson.loads(line)


@given(st.dictionaries(ANY_TEXT, WILD, max_size=3), ANY_TEXT)
def test_every_value_is_accepted_by_a_strict_reader(
    entry: dict[str, Any], text: str
) -> None:
    strict(encode(entry))
    strict(encode({**entry, "content": text}))


@given(st.dictionaries(CLEAN_TEXT, CLEAN, max_size=3))
def test_a_clean_value_comes_back_as_it_was(entry: dict[str, Any]) -> None:
    assert strict(encode(entry)) == entry


@pytest.mark.parametrize("text", ["plain", "é", "🎉", "a\u2028b", "\x7f\x80"])
@pytest.mark.parametrize(
    "args", [{"x": 1}, {"y": "ü"}, {"z": math.nan}, {"s": "\ud800"}, {"n": 2**64}]
)
def test_the_text_does_not_decide_what_the_rest_may_hold(
    text: str, args: dict[str, Any]
) -> None:
    entry = {"content": text, "args": args}
    assert strict(encode(entry)) == clean(entry)


@pytest.mark.parametrize("text", ["\\u0000", "\0", "é\0", "\\\\u0000"])
def test_a_nul_is_replaced_and_its_escape_is_kept(text: str) -> None:
    assert orjson.loads(encode({"content": text})) == {
        "content": text.replace("\0", "\ufffd")
    }


def test_types_that_are_no_json_become_their_text() -> None:
    moment = datetime(2025, 1, 15, tzinfo=UTC)
    line = encode({"content": "é", "args": {"at": moment, "set": {1}}})
    assert json.loads(line)["args"] == {"at": str(moment), "set": "{1}"}


def test_deep_values_do_not_run_out_of_stack() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert strict(encode({"args": {"deep": value}}))


@given(ANY_TEXT, st.sampled_from(["content", "result", "error"]), ANY_TEXT)
@pytest.mark.parametrize("tokens", [2, 2**64])
@pytest.mark.parametrize("more", [{}, {"args": {"q": "\ud800"}}])
def test_a_dialogs_own_entries_are_encoded_as_all_others(
    tokens: int, more: dict[str, Any], text: str, key: str, name: str
) -> None:
    entry = {"seq": 1, "type": "message", "tokens": {"in": 1, "out": tokens}}
    entry |= {"name": clean_text(name), key: clean_text(text), **more}
    assert encode_own(entry) == encode(entry)
