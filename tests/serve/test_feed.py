"""Readers of a session: when they are woken, and what they are given at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from anyio.lowlevel import checkpoint

from agent_wrap.events import TextDelta
from agent_wrap.serve import feed as module
from agent_wrap.serve.feed import Feed, Hub
from agent_wrap.serve.log import Log
from agent_wrap.serve.session import Session
from agent_wrap.serve.wire import KEEPALIVE

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


class Watched:
    """A session with one reader, and the pieces that it was given."""

    def __init__(self, heartbeat: float) -> None:
        self.hub = Hub(heartbeat)
        self.session = Session(ID, 1)
        self.feed = Feed(self.session, self.hub, "/")
        self.session.listener = lambda kind: self.feed.changed()
        self.pieces: list[bytes] = []

    def say(self, *texts: str) -> None:
        for text in texts:
            self.session.apply(TextDelta(text, "m"), 0)

    async def read(self) -> None:
        async for piece in self.feed.read(0):
            self.pieces.append(piece)

    async def until(self, text: bytes) -> None:
        """Wait until a text has come."""
        await eventually(lambda: text in b"".join(self.pieces))


async def eventually(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110  # what is waited for sets no event
            await anyio.sleep(0.001)


@asynccontextmanager
async def watched(heartbeat: float = 60.0) -> AsyncIterator[Watched]:
    made = Watched(heartbeat)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.hub.run)
        tasks.start_soon(made.read)
        await made.until(b": connected")
        yield made
        tasks.cancel_scope.cancel()


async def test_what_comes_fast_comes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACE", 0.2)
    async with watched() as made:
        for number in range(50):
            made.say(str(number))
            await anyio.lowlevel.checkpoint()
        await made.until(b'"text":"49"')
        assert len(made.pieces) <= 3  # connected, the first ones, the rest


async def test_what_comes_after_a_pause_comes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PACE", 0.0)
    async with watched() as made:
        made.hub.pace = 3600.0
        made.say("one")
        await made.until(b'"text":"one"')
        made.say("two")
        await anyio.sleep(0.01)
        assert b'"text":"two"' not in b"".join(made.pieces)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio wakes in any order
async def test_what_comes_while_readers_have_their_turn_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock is not waiting then, and looks before it does."""
    monkeypatch.setattr(module, "PACE", 0.2)
    async with watched() as made, anyio.create_task_group() as tasks:

        async def speak_after_the_reader() -> None:
            while b'"text":"2"' not in made.pieces[-1]:
                await made.feed.bell.wait()
            made.say("3")

        made.say("1")
        await made.until(b'"text":"1"')
        await eventually(lambda: not made.hub._late)  # the clock has rung for it
        tasks.start_soon(speak_after_the_reader)
        await checkpoint()
        made.say("2")  # too soon after that: it waits for the clock
        await made.until(b'"text":"3"')


async def test_one_clock_wakes_the_quiet_ones() -> None:
    async with watched(heartbeat=0.01) as made:
        await made.until(KEEPALIVE * 3)
        made.say("one")
        await made.until(b'"text":"one"')


async def test_a_session_without_readers_is_not_woken() -> None:
    async with watched() as made:
        assert made.hub.feeds == {made.feed}
    assert made.hub.feeds == set()


def test_readers_at_one_place_get_the_same_piece() -> None:
    log = Log()
    for number in range(10):
        log.append(b"%d;" % number)
    piece, count = log.chunk(4, 6)
    assert (piece, count) == (b"4;5;6;", 3)
    assert log.chunk(4, 6)[0] is piece
    log.append(b"10;")
    assert log.chunk(9, 100) == (b"9;10;", 2)
    for number in range(100):  # however many places there are
        log.chunk(number % 10, 1)
    assert len(log._chunks) <= 16
