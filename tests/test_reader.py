"""From bytes to events: every line counts once, and no adapter ends a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.adapter import Adapter
from agent_wrap.events import Event, Message, Notice, Send, Unknown, Unparsed
from agent_wrap.reader import CLASSES, Detection, Reader


class Toy(Adapter):
    """Speaks `{"toy": ...}`; knows `quiet`, fails on `bad`."""

    def __init__(self) -> None:
        self.held: list[str] = []

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        said = event.get("toy")
        if said == "quiet":
            return
        if said == "bad":
            yield Message("before it failed")
            raise KeyError("bad")
        if said == "hold":
            self.held.append("held")
            return
        yield Message(said) if isinstance(said, str) else Unknown(str(said))

    def feed_text(self, line: str) -> Iterator[Event]:
        if line.startswith("#"):
            yield Notice(line)

    def start(self) -> Iterator[Event]:
        yield Send(b"hello\n")

    def pause(self) -> Iterator[Event]:
        while self.held:
            yield Message(self.held.pop())

    def close(self) -> Iterator[Event]:
        yield Notice("closed")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        return "toy" in event


class Plain(Adapter):
    """Every line is a message."""

    reads: ClassVar[Literal["json", "text"]] = "text"

    def feed_text(self, line: str) -> Iterator[Event]:
        if line.strip():
            yield Message(line)


class Broken(Adapter):
    """Fails wherever it is called."""

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        raise RuntimeError("feed")

    def feed_text(self, line: str) -> Iterator[Event]:
        raise RuntimeError("text")

    def start(self) -> Iterator[Event]:
        raise RuntimeError("start")

    def pause(self) -> Iterator[Event]:
        raise RuntimeError("pause")

    def close(self) -> Iterator[Event]:
        raise RuntimeError("close")


def detection() -> Detection:
    return Detection(lambda event: Toy() if Toy.recognises(event) else None, Plain)


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Message | Notice)]


def read(reader: Reader, *chunks: bytes) -> list[Event]:
    """Read a whole stream, given in chunks."""
    events = list(reader.start())
    for chunk in chunks:
        events += reader.feed(chunk)
    return events + list(reader.close())


# ---- classes of lines -------------------------------------------------------

LINES: list[tuple[bytes, str]] = [
    (b'{"toy":"hi"}', "mapped"),
    (b'{"toy":"hi"}\r', "mapped"),
    (b'noise {"toy":"hi"}', "mapped"),
    (b"# a notice", "mapped"),
    (b'{"toy":"quiet"}', "ignored"),
    (b"", "ignored"),
    (b"  \t", "ignored"),
    (b'{"other":1}', "unknown"),
    (b'{"toy":"hi"}{"toy":7}', "unknown"),
    (b"noise", "unparsable"),
    (b'{"toy":', "unparsable"),
    (b"[1]", "unparsable"),
    (b'{"toy":"bad"}', "unparsable"),
    (b'{"toy":"bad"}{"toy":7}', "unparsable"),
    (b"\xff\xfe", "unparsable"),
    (b'{"toy":"' + b"x" * 200 + b'"}', "unparsable"),
]


@pytest.mark.parametrize(("line", "kind"), LINES, ids=lambda value: str(value)[:24])
def test_a_line_counts_in_one_class(line: bytes, kind: str) -> None:
    reader = Reader(Toy(), max_line_bytes=100)
    read(reader, line + b"\n")
    assert reader.counts == {"read": 1, **dict.fromkeys(CLASSES, 0), kind: 1}


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=12),
    size=st.integers(1, 60),
    ends=st.booleans(),
)
def test_counts_add_up_in_any_chunking(
    lines: list[tuple[bytes, str]], size: int, ends: bool
) -> None:
    stream = b"".join(line + b"\n" for line, _ in lines)
    if lines and lines[-1][0] and not ends:
        stream = stream[:-1]
    whole = Reader(Toy(), max_line_bytes=100)
    events = read(whole, stream)
    expected = {kind: sum(k == kind for _, k in lines) for kind in CLASSES}
    assert whole.counts == {"read": len(lines), **expected}

    cut = Reader(Toy(), max_line_bytes=100)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert read(cut, *chunks) == events
    assert cut.counts == whole.counts


def test_events_come_as_early_as_their_line_has_ended() -> None:
    reader = Reader(Toy())
    assert list(reader.feed(b'{"toy":"a"}')) == []
    assert list(reader.feed(b'\n{"toy":"b"}\n{"toy')) == [Message("a"), Message("b")]
    assert list(reader.feed(b'":"c"}')) == []
    assert list(reader.close()) == [Message("c"), Notice("closed")]


def test_a_long_line_is_told_by_its_head() -> None:
    reader = Reader(Toy(), max_line_bytes=10)
    (event,) = reader.feed(b"x" * 50 + b"\n")
    assert event == Unparsed(
        b"x" * 10, "a line of 50 bytes is over the limit, and skipped"
    )


def test_unknown_types_are_counted_by_name_up_to_a_bound() -> None:
    reader = Reader(Toy())
    stream = b"".join(b'{"toy":%d}\n' % (n % 150) for n in range(300))
    read(reader, stream)
    assert reader.counts["unknown"] == sum(reader.unknown_types.values()) == 300
    assert len(reader.unknown_types) <= 101
    assert reader.unknown_types["0"] == 2


# ---- adapters that fail -----------------------------------------------------


def test_what_an_adapter_raises_becomes_unparsed() -> None:
    reader = Reader(Toy())
    events = list(reader.feed(b'{"toy":"bad"}\n{"toy":"hi"}\n'))
    assert [type(event) for event in events] == [Message, Unparsed, Message]
    assert isinstance(events[1], Unparsed)
    assert events[1].line == b'{"toy":"bad"}'
    assert "KeyError" in events[1].reason
    assert reader.failures == [events[1].reason]


def test_an_adapter_that_fails_everywhere_ends_nothing() -> None:
    reader = Reader(Broken())
    events = read(reader, b'{"a":1}\n' * 20 + b"text\n") + list(reader.pause())
    assert all(isinstance(event, Unparsed) for event in events)
    assert len(events) == 1 + 21 + 1 + 1
    assert reader.counts["unparsable"] == reader.counts["read"] == 21
    assert len(reader.failures) == 10


# ---- finding the adapter ----------------------------------------------------


def test_the_first_lines_are_held_until_one_is_recognised() -> None:
    reader = Reader(None, detection())
    assert list(reader.feed(b"# banner\n" + b'{"other":1}\n')) == []
    assert list(reader.feed(b'{"toy":"hi"}\n')) == [
        Send(b"hello\n"),
        Notice("# banner"),
        Unknown("None"),
        Message("hi"),
    ]
    assert isinstance(reader.adapter, Toy)
    assert reader.counts["read"] == 3


def test_nobody_recognised_them_they_are_plain_text() -> None:
    reader = Reader(None, detection())
    lines = [f"line {n}" for n in range(Detection.LINES)]
    stream = "".join(f"{line}\n" for line in lines).encode()
    assert list(reader.feed(stream[:-1])) == []
    assert texts(list(reader.feed(b"\n"))) == lines
    assert texts(list(reader.feed(b"one more\n"))) == ["one more"]


def test_the_end_of_the_stream_settles_what_is_held() -> None:
    reader = Reader(None, detection())
    assert texts(read(reader, b"only\nlines")) == ["only", "lines"]
    assert reader.counts["mapped"] == reader.counts["read"] == 2


def test_settling_early_leaves_the_door_open() -> None:
    reader = Reader(None, detection())
    assert list(reader.feed(b"banner\n")) == []
    assert texts(list(reader.settle())) == ["banner"]
    assert list(reader.settle()) == []
    events = list(reader.feed(b'text\n{"toy":"hi"}\n{"toy":"quiet"}\n'))
    assert texts(events) == ["text", "hi"]
    assert isinstance(reader.adapter, Toy)
    assert reader.counts["read"] == 4


@given(st.integers(1, 30), st.integers(0, 30))
def test_detection_is_the_same_in_any_chunking(size: int, before: int) -> None:
    stream = b"noise\n" * before + b'{"toy":"hi"}\n{"toy":7}\n'
    whole, cut = Reader(None, detection()), Reader(None, detection())
    events = read(whole, stream)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert read(cut, *chunks) == events
    assert cut.counts == whole.counts
    assert whole.counts["read"] == before + 2


def test_a_known_adapter_is_never_replaced() -> None:
    reader = Reader(Plain(), detection())
    assert texts(list(reader.feed(b'{"toy":"hi"}\n'))) == ['{"toy":"hi"}']


# ---- what is held inside the adapter ----------------------------------------


def test_pause_and_close_give_what_is_held() -> None:
    reader = Reader(Toy())
    assert list(reader.start()) == [Send(b"hello\n")]
    assert list(reader.feed(b'{"toy":"hold"}\n')) == []
    assert list(reader.pause()) == [Message("held")]
    assert list(reader.pause()) == []
    assert list(reader.close()) == [Notice("closed")]


def test_without_any_adapter_nothing_happens() -> None:
    reader = Reader(None)
    assert read(reader, b"a\n") == []
    assert list(reader.pause()) == []
