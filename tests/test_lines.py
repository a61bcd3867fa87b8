"""Lines are the same however the bytes are cut, and memory stays below the limit."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.lines import BOM, HEAD, LineDecoder, LongLine, strip

CASES = [
    (b"", []),
    (b"a", [b"a"]),
    (b"a\n", [b"a"]),
    (b"a\nb", [b"a", b"b"]),
    (b"\n\n", [b"", b""]),
    (b"a\r\nb\r", [b"a", b"b"]),
    (b"a\rb\n", [b"a\rb"]),
    (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", [b"a", b"b"]),
    ("a\u2028b\u2029c\x85d\x0be\n".encode(), ["a\u2028b\u2029c\x85d\x0be".encode()]),
    (b"\x00\xff\n", [b"\x00\xff"]),
]


def decode(chunks: list[bytes], limit: int = 1 << 20) -> list[bytes | LongLine]:
    decoder = LineDecoder(limit)
    lines = [line for chunk in chunks for line in decoder.feed(chunk)]
    lines += decoder.close()
    return [strip(line) if isinstance(line, bytes) else line for line in lines]


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize(("data", "lines"), CASES)
def test_lines_end_at_the_line_feed_alone(data: bytes, lines: list[bytes]) -> None:
    assert decode([data]) == lines
    assert decode([data[at : at + 1] for at in range(len(data))]) == lines


@given(
    data=st.lists(st.sampled_from([b"\n", b"\r", b"\xef\xbb\xbf", b"ab", b"\xc3"])),
    cuts=st.lists(st.integers(0, 200), max_size=20),
    limit=st.sampled_from([1, 3, 8, 1000]),
)
def test_every_chunking_gives_the_same_lines(
    data: list[bytes], cuts: list[int], limit: int
) -> None:
    whole = b"".join(data)
    assert decode(chunked(whole, cuts), limit) == decode([whole], limit)


@given(
    data=st.lists(st.sampled_from([b"\n", b"\r", b"ab", BOM[:1], BOM[1:]])),
    cuts=st.lists(st.integers(0, 200), max_size=20),
)
def test_nothing_but_marks_is_taken_off(data: list[bytes], cuts: list[int]) -> None:
    decoder, whole = LineDecoder(), b"".join(data)
    given = [line for chunk in chunked(whole, cuts) for line in decoder.feed(chunk)]
    lines = [line for line in given + decoder.close() if isinstance(line, bytes)]
    assert b"".join(lines) == whole.replace(b"\n" + BOM, b"\n").removeprefix(BOM)
    assert all(line.find(b"\n") in (-1, len(line) - 1) for line in lines)


def test_a_line_at_the_limit_is_kept_and_one_above_it_is_not() -> None:
    assert decode([b"12345\n123456\n12\n"], limit=5) == [
        b"12345",
        LongLine(b"12345", 6),
        b"12",
    ]


def test_a_long_line_comes_out_once_with_its_head_and_its_length() -> None:
    line = bytes(range(65, 91)) * 100
    long = LongLine(line[:HEAD], len(line))
    assert decode([line, b"\nshort\n"], limit=1000) == [long, b"short"]
    assert decode([line[:900], line[900:], b"\n"], limit=1000) == [long]
    assert decode([line], limit=1000) == [long]


def test_what_is_over_the_limit_is_not_held() -> None:
    decoder = LineDecoder(1000)
    for _ in range(10_000):
        assert decoder.feed(b"x" * 100) == []
    assert sum(map(len, decoder._parts)) <= 1000
    assert decoder.close() == [LongLine(b"x" * HEAD, 1_000_000)]


def test_a_split_character_is_not_touched() -> None:
    text = "é日本🎉".encode()
    assert decode([text[:1], text[1:5], text[5:], b"\n"]) == [text]


def test_closing_twice_gives_nothing_more() -> None:
    decoder = LineDecoder()
    decoder.feed(b"a")
    assert decoder.close() == [b"a"]
    assert decoder.close() == []
