"""No byte of a secret stays, all other bytes do, however the stream is cut."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_wrap.encode import encode
from agent_wrap.redact import Redactor
from agent_wrap.secret_forms import secrets_of

from .secret_values import AWKWARD, KEY, MARK, PEM, redact, redactor


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def stream(redactor: Redactor, chunks: list[bytes]) -> bytes:
    stream = redactor.stream()
    return b"".join([*map(stream.feed, chunks), stream.close()])


def reference(redactor: Redactor, data: bytes) -> bytes:
    """Cover every occurrence byte by byte; slow, and plain. For data without `\\`."""
    found = [
        (at, -len(form), redactor.replace(form))
        for form in redactor.forms
        for at in range(len(data))
        if data.startswith(form, at)
    ]
    out, end = b"", 0
    for at, size, mark in sorted(found):
        if at >= end:
            out += data[end:at] + mark
        end = max(end, at - size)
    return out + data[end:]


# Replacing.


@pytest.mark.parametrize(
    ("name", "mark"),
    [("A_1", "A_1"), ('a"\\\n', "a___"), ("é.b-c", "__b_c"), ("", ""), ("²", "_")],
)
def test_the_mark_is_safe_in_json(name: str, mark: str) -> None:
    assert Redactor({name: KEY}).replace(KEY.encode()) == f"[redacted:{mark}]".encode()


def test_secrets_within_secrets() -> None:
    both = Redactor({"SHORT": "abcd-efgh", "LONG": "12345-abcd-efgh-67890"})
    assert both.replace(b"12345-abcd-efgh-67890") == b"[redacted:LONG]"
    assert both.replace(b"12345-abcd-efgh-6789") == b"12345-[redacted:SHORT]-6789"
    assert both.count == 2


def test_secrets_with_a_common_start() -> None:
    both = Redactor({"SHORT": "prefix-1", "LONG": "prefix-1-and-more"})
    assert both.replace(b"prefix-1-and-more.") == b"[redacted:LONG]."
    assert both.replace(b"prefix-1-and-mor.") == b"[redacted:SHORT]-and-mor."
    stream = both.stream()
    assert stream.feed(b"prefix-1") == b""
    assert stream.feed(b"-and") == b""
    assert stream.feed(b"!") == b"[redacted:SHORT]-and!"


def test_secrets_that_overlap_leave_nothing() -> None:
    both = Redactor({"A": "aaaabbbbcccc", "B": "bbbbccccddddeeee"})
    assert both.replace(b"<aaaabbbbccccddddeeee>") == b"<[redacted:A]>"
    assert both.replace(b"<aaaabbbbccccaaaabbbbcccc>") == b"<[redacted:A][redacted:A]>"
    assert both.count == 3


def test_one_value_under_two_names_has_the_first() -> None:
    assert Redactor({"B": KEY, "A": KEY}).replace(KEY.encode()) == b"[redacted:B]"


def test_the_count_is_of_marks_everywhere() -> None:
    it = Redactor({"MY_KEY": KEY})
    data = f"{KEY} {KEY}{KEY}\n".encode()
    assert it.replace(data) == MARK + b" " + MARK * 2 + b"\n"
    assert stream(it, [data[:40], data[40:]]) == MARK + b" " + MARK * 2 + b"\n"
    assert it.clean_text(KEY) == MARK.decode()
    assert it.count == 7


@pytest.mark.parametrize(
    ("value", "data", "shown"),
    [
        (
            "2019",
            rb'"don\u2019t, 2019"',
            rb'"don[redacted:MY_KEY]t, [redacted:MY_KEY]"',
        ),
        ("next", rb'"a\nextra"', rb'"a[redacted:MY_KEY]ra"'),
        ("next", rb'"a\\next"', rb'"a\\[redacted:MY_KEY]"'),
        ("next", rb'"a\\\next"', rb'"a\\[redacted:MY_KEY]"'),
        ("user", rb"\user \users", rb"\[redacted:MY_KEY] \[redacted:MY_KEY]s"),
        ("$ecret", rb"\$ecret", rb"\[redacted:MY_KEY]"),
        ("0041", rb"\u00410041", rb"[redacted:MY_KEY][redacted:MY_KEY]"),
        ("1234", rb"\u12345", rb"[redacted:MY_KEY]5"),
        ("3456", rb"\u123456", rb"[redacted:MY_KEY]"),
        ("5678", rb"\u12345678", rb"\u1234[redacted:MY_KEY]"),
        ("5678", rb"\u00g5678", rb"\u00g[redacted:MY_KEY]"),
        ('"abcdefgh"', b'{"a":"abcdefgh"}', b'{"a":"[redacted:MY_KEY]"}'),
        ("abcdefgh\\", rb'"abcdefgh\"x"', rb'"[redacted:MY_KEY]\"x"'),
    ],
)
def test_an_escape_is_never_cut(value: str, data: bytes, shown: bytes) -> None:
    assert redact(value, data) == shown
    for at in range(len(data)):
        assert stream(Redactor({"MY_KEY": value}), [data[:at], data[at:]]) == shown


@given(
    st.lists(
        st.sampled_from([*AWKWARD, KEY[1:], "\n", "\u2019", "A", "\\", '"', "n", "20"])
        | st.text(max_size=2)
    ),
    st.lists(st.sampled_from(AWKWARD), min_size=1, max_size=3, unique=True),
)
def test_a_line_of_json_stays_one(parts: list[str], values: list[str]) -> None:
    it = redactor(*values)
    text = "".join(parts)
    entry = {"content": text, "args": {"x": [json.dumps(text)]}}
    shown = json.loads(it.replace(encode(entry)))
    assert shown.keys() == entry.keys()
    bare = shown["content"]
    for n in range(len(values)):
        bare = bare.replace(f"[redacted:S{n}]", "\0")
    assert not any(value.strip('\\"') in bare for value in values)


def test_unusual_escapes_are_caught_in_the_encoded_entry() -> None:
    line = f'{{"text":"\\u0073{KEY[1:]}, s\\u006b{KEY[2:]}"}}'.encode()
    assert redact(KEY, line) == line
    entry = encode(json.loads(line))
    assert redact(KEY, entry) == b'{"text":"%s, %s"}\n' % (MARK, MARK)


@pytest.mark.parametrize("value", AWKWARD)
def test_a_decoded_text(value: str) -> None:
    it = Redactor({"MY_KEY": value})
    secret = value.strip('\\"')
    assert it.clean_text(f"é {secret} \u2028") == f"é {MARK.decode()} \u2028"
    coded = base64.b64encode(secret.encode() * 2).decode()
    assert len(secret) < 8 or MARK.decode() in it.clean_text(coded)
    lone = "lone \ud800 surrogate"
    assert it.clean_text(lone) is lone
    assert it.clean_text(lone + secret).endswith(MARK.decode())


def test_a_text_in_which_half_a_character_is_secret() -> None:
    it = redactor("\udca9abcdefgh")  # the second byte of an é, then letters
    assert it.clean_text("éabcdefgh") == "\ufffd[redacted:S0]"


# Streams.


@pytest.mark.parametrize("value", [KEY, "ключ-пароль", PEM, "aaaaaaaa", "abababab"])
def test_a_secret_cut_anywhere(value: str) -> None:
    it = Redactor({"MY_KEY": value})
    data = b"before " + value.encode() + b" after\n"
    whole = it.replace(data)
    assert whole.startswith(b"before " + MARK)
    for at in range(len(data)):
        assert stream(it, [data[:at], data[at:]]) == whole
    assert stream(it, [data[at : at + 1] for at in range(len(data))]) == whole
    assert stream(it, [value.encode()]) == redact(value, value.encode())


def test_a_start_that_is_no_secret_is_given_at_the_end() -> None:
    stream = redactor(KEY).stream()
    assert stream.feed(b"so: sk-ant-api03") == b"so: "
    assert stream.close() == b"sk-ant-api03"
    assert stream.close() == b""
    assert stream.feed(b"s\n") == b"s\n"


HELD = [
    (b"ab!", 0),
    (b"sk-", 3),
    (b"sk", 2),
    (b"as", 1),
    (b"s", 1),
    (b"", 0),
    (b"ssk-as", 1),
    (b"sk-ant-sk-ant-api", 10),
    (b"sk-ant\n", 0),
    (b"\n", 0),
    (KEY.encode(), 0),
    (b"a\\", 1),
    (b"a\\\\", 0),
    (b"a\\u00", 4),
    (b"a\\u00e9", 0),
    (b"a\\x", 0),
    (b"\\\\\\s", 1),
    (b"\\u00s", 1),
    (b"\\u00g", 0),
]


@pytest.mark.parametrize(("chunk", "held"), HELD)
def test_what_is_held_back(chunk: bytes, held: int) -> None:
    stream = Redactor({"": KEY}).stream()
    given = stream.feed(chunk)
    assert stream.close() == chunk[len(chunk) - held :]
    assert given == chunk.replace(KEY.encode(), b"[redacted:]")[: len(chunk) - held]


def test_nothing_is_held_after_a_line_unless_a_secret_has_lines() -> None:
    assert redactor("line one\\").stream().feed(b"line one\n") == b"[redacted:S0]\n"
    assert redactor("line one\nline two").stream().feed(b"line one\n") == b""


def test_what_does_not_match_is_not_copied() -> None:
    chunk = b"some output\n" * 1000
    for it in (Redactor({}), redactor(KEY), redactor(*AWKWARD)):
        assert it.replace(chunk) is chunk
        assert it.stream().feed(chunk) is chunk
        assert it.count == 0


def test_an_empty_environment_costs_nothing() -> None:
    it = Redactor(secrets_of({}))
    assert not it
    assert it.forms == ()
    stream = it.stream()
    chunk = b"s" * 1000
    assert stream.feed(chunk) is chunk
    assert stream.close() == b""
    assert it.clean_text(KEY) is KEY


PIECES = [b"a", b"b", b"ab", b"aab", b"\n", b"c", b"aaaaaaaa", b"ababab", b"YWJh"]
VALUES = ["aaaa", "abab", "aabaab", "ababababa", "ab\nab", "aaaaaaaab", "baab"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=30),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(0, 400), max_size=20),
)
@example([b"a"] * 30, ["aaaa"], list(range(30)))
def test_every_chunking_covers_every_occurrence(
    pieces: list[bytes], values: list[str], cuts: list[int]
) -> None:
    data = b"".join(pieces)
    it = redactor(*values)
    whole = it.replace(data)
    assert whole == reference(it, data)
    counted = it.count
    assert stream(it, chunked(data, cuts)) == whole
    assert whole.count(b"[redacted:") == it.count - counted


@given(
    st.lists(
        st.sampled_from([b"\\", b"\\u", b"\\u20", b"20", b"19", b"next", b"u2019"])
        | st.sampled_from([b"\n", b'"', b"\\\\", b"n", b"ext", b"\\next\\", b"d83d"])
        | st.binary(max_size=2),
        max_size=30,
    ),
    st.lists(
        st.sampled_from([*AWKWARD, "\\next", "a\\u20", "9\\\\n", "d83d\\u20"]),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    st.lists(st.integers(0, 400), max_size=20),
)
def test_every_chunking_cuts_escapes_alike(
    pieces: list[bytes], values: list[str], cuts: list[int]
) -> None:
    data = b"".join(pieces)
    it = redactor(*values)
    assert stream(it, chunked(data, cuts)) == it.replace(data)


@pytest.mark.parametrize("value", ["a" * 40, "a" * 40 + "b", "\n".join(["aa"] * 20)])
@pytest.mark.parametrize("data", [b"a" * 20_000, b"aa\n" * 7_000, b"\\" * 20_000])
def test_little_is_held_back_of_hostile_streams(value: str, data: bytes) -> None:
    it = redactor(value)
    whole = it.replace(data)
    redacting = it.stream()
    out = [redacting.feed(data[at : at + 7]) for at in range(0, len(data), 7)]
    held = len(redacting.close())
    assert len(b"".join(out)) + held == len(whole)
    assert held <= 5 + max(map(len, it.forms))


def test_a_number_in_a_line_of_json_leaves_it_json() -> None:
    redactor = Redactor({"PIN": "4242"})
    line = b'{"a":142421,"b":"my 4242","args":{"4242":1}}\n'
    assert json.loads(redactor.replace_line(line)) == {
        "a": 142421,
        "b": "my [redacted:PIN]",
        "args": {"[redacted:PIN]": 1},
    }
    assert redactor.replace_line(b'{"b":"none"}\n') == b'{"b":"none"}\n'


@pytest.mark.parametrize(
    "value", ["complete", "content", "2026", "error", "assistant", "tool_id", "total"]
)
def test_the_words_of_the_protocol_stay_where_they_are_ours(value: str) -> None:
    entry = {
        "seq": 2026,
        "ts": "2026-01-01T00:00:00Z",
        "type": "complete",
        "role": "assistant",
        "status": "error",
        "tool_id": "a",
        "total_tokens": {"in": 20260},
        "content": f"says {value}!",
        "args": {value: [value, {"type": value}]},
    }
    found = json.loads(Redactor({"PIN": value}).replace_line(encode(entry)))
    mark = "[redacted:PIN]"
    assert found == {
        **entry,
        "content": f"says {mark}!",
        "args": {mark: [mark, {"type": mark}]},
    }
