"""Answers as lines: there and back, and what is no answer."""

from __future__ import annotations

import os

import anyio
import pytest

from agent_wrap import answers as module
from agent_wrap.answers import Answer, Writer, from_line, listen, to_line

ANSWERS = [
    Answer("a", "approved"),
    Answer("e", "answered", {"key": "a\nb", "number": 3, "flag": True}),
    Answer("\u2028", "cancelled"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_there_and_back(answer: Answer) -> None:
    line = to_line(answer)
    assert line.count(b"\n") == 1
    assert from_line(line) == answer


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"nonsense", b"[]", b"{}", b'{"id":"a"}'),
        b'{"id":1,"resolution":"approved"}',
        b'{"id":"a","resolution":"maybe"}',
    ],
)
def test_what_is_no_answer(line: bytes) -> None:
    assert from_line(line) is None


async def test_over_a_pipe() -> None:
    """Also one that the pipe cannot hold; then the writer closes its end."""
    large = Answer("l", "answered", {"text": "x" * 300_000})
    reading, writing = os.pipe()
    writer = Writer(writing)
    taken: list[Answer] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen, reading, taken.append)
            for answer in (*ANSWERS, large):
                await writer.write(answer)
            writer.close()
    os.close(reading)
    assert taken == [*ANSWERS, large]


async def test_nobody_reads_any_more() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer = Writer(writing)
    with anyio.fail_after(10):
        await writer.write(ANSWERS[0])
        writer.close()
        await writer.write(ANSWERS[0])  # nor is it written to anything else


async def test_half_an_answer_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that does not read: what would follow could not be told from it."""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    reading, writing = os.pipe()
    writer = Writer(writing)
    with anyio.fail_after(10):
        await writer.write(Answer("l", "answered", {"text": "x" * 300_000}))
        await writer.write(ANSWERS[0])
    seen = b""
    while part := os.read(reading, 1 << 16):
        seen += part
    os.close(reading)
    assert b"\n" not in seen
