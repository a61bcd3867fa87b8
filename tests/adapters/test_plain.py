"""Plain text: paragraphs, code fences, progress bars, colours."""

from __future__ import annotations

import pytest

from agent_wrap.events import Message, TextDelta, TurnStarted
from agent_wrap.testing import CHUNKS, replay, replay_in_chunks
from agent_wrap_adapters.plain import Plain, last_state

from .replays import texts


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (b"one\ntwo\n\nthree", ["one\ntwo", "three"]),
        (b"\n\n  indented\n\n\n", ["  indented"]),
        (b"", []),
        (b"\n \n", []),
        (b"```\na\n\nb\n```\n\nend\n", ["```\na\n\nb\n```", "end"]),
        (b"~~~\n```\n\n~~~\n\nend\n", ["~~~\n```\n\n~~~", "end"]),
        (b"```python\nnever closed\n\nx\n", ["```python\nnever closed\n\nx"]),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07text\n", ["red text"]),
        (b"10%\r50%\r100%\n", ["100%"]),
        (b"10%\r\x1b[2Kdone\r\n", ["done"]),
        (b'{"json": "is text here"}\n', ['{"json": "is text here"}']),
        (b"bad \xff byte\n", ["bad \ufffd byte"]),
        ("sep\u2028arated\n".encode(), ["sep\u2028arated"]),
    ],
)
def test_paragraphs(output: bytes, expected: list[str]) -> None:
    assert texts(replay(output, Plain())) == expected
    for chunked in replay_in_chunks(output, Plain, CHUNKS).values():
        assert texts(chunked) == expected


def test_all_output_is_one_turn() -> None:
    ended = replay(b"a\n\nb\n", Plain())
    assert ended.of_type(TurnStarted) == [TurnStarted("output")]
    assert ended.turns == 1
    assert replay(b"", Plain()).turns == 0


@pytest.mark.parametrize(("code", "status"), [(0, "success"), (3, "error")])
def test_the_exit_code_decides(code: int, status: str) -> None:
    assert replay(b"a\n", Plain(), code=code).outcome.status == status


def test_each_line_shows_life() -> None:
    ended = replay(b"a\nb\n\nc\n", Plain())
    expected = [TextDelta("a\n", "text-1"), TextDelta("b\n", "text-1")]
    assert ended.of_type(TextDelta) == [*expected, TextDelta("c\n", "text-2")]
    assert ended.counts["mapped"] == 4  # the blank line ended a paragraph


def test_pause_gives_what_is_held() -> None:
    plain = Plain()
    held = list(plain.feed_text("half"))
    assert not [e for e in held if isinstance(e, Message)]
    assert list(plain.pause()) == [Message("half", "text-1")]
    assert list(plain.pause()) == []
    assert list(plain.close()) == []


def test_long_paragraphs_are_cut() -> None:
    ended = replay(b"x" * 99 + b"\n", Plain())
    assert len(texts(ended)) == 1
    ended = replay((b"x" * 99 + b"\n") * 2000, Plain())
    assert len(texts(ended)) > 1
    assert max(map(len, texts(ended))) <= 64 * 1024 + 100


@pytest.mark.parametrize(
    ("line", "shown"),
    [("a\rb", "b"), ("a\r", "a"), ("\r", ""), ("abc\rd\r  ", "d"), ("a", "a")],
)
def test_progress_bars(line: str, shown: str) -> None:
    assert last_state(line) == shown
