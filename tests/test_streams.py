"""Following the agent's streams. They hold on to asyncio, so only that back end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from agent_wrap.echo import Echo
from agent_wrap.streams import Streams


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Pipes:
    """Pipes whose reading ends do not block; what is left open is closed."""

    def __init__(self) -> None:
        self.fds: list[int] = []

    def make(self) -> tuple[int, int]:
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self.fds += [ours, theirs]
        return ours, theirs

    def close(self) -> None:
        for fd in self.fds:
            try:
                os.close(fd)
            except OSError:
                pass


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    made = Pipes()
    yield made
    made.close()


def silent() -> Echo:
    echo = Echo(-1)
    assert echo.lost
    return echo


def streams(tasks: TaskGroup) -> tuple[Streams, list[str]]:
    said: list[str] = []
    return Streams(tasks, lambda: said.append("lost")), said


async def test_all_that_comes_is_taken_in_order(pipes: Pipes) -> None:
    (out, out_end), (err, err_end) = pipes.make(), pipes.make()
    taken: list[bytes] = []
    async with anyio.create_task_group() as tasks:
        made, _ = streams(tasks)
        made.follow(out, taken.append, silent())
        made.follow(err, lambda data: taken.append(b"err " + data), silent())
        for part in (b"one", b"two"):
            os.write(out_end, part)
            while part not in taken:
                await anyio.lowlevel.checkpoint()
        os.write(err_end, b"oops")
        os.close(out_end)
        while b"err oops" not in taken:
            await anyio.lowlevel.checkpoint()
        assert not made.drained.is_set()  # one is still open
        os.close(err_end)
        with anyio.fail_after(5):
            await made.drained.wait()
    assert taken == [b"one", b"two", b"err oops"]


async def test_bytes_before_the_end_are_not_lost(pipes: Pipes) -> None:
    out, end = pipes.make()
    taken = bytearray()
    os.write(end, b"x" * 60_000)
    os.close(end)
    async with anyio.create_task_group() as tasks:
        made, _ = streams(tasks)
        made.follow(out, taken.extend, silent())
        with anyio.fail_after(5):
            await made.drained.wait()
    assert len(taken) == 60_000


async def follow_to_the_end(fd: int, take: Callable[[bytes], None]) -> None:
    async with anyio.create_task_group() as tasks:
        made, _ = streams(tasks)
        made.follow(fd, take, silent())
        with anyio.fail_after(5):
            await made.drained.wait()


async def test_an_error_comes_out(pipes: Pipes) -> None:
    def take(data: bytes) -> None:
        raise ZeroDivisionError(data)

    out, end = pipes.make()
    os.write(end, b"x")
    with pytest.raises(ExceptionGroup) as caught:
        await follow_to_the_end(out, take)
    assert caught.group_contains(ZeroDivisionError)


async def test_the_record_comes_before_the_echo(pipes: Pipes) -> None:
    (out, end), (reader, shown) = pipes.make(), pipes.make()

    def take(data: bytes) -> None:
        with pytest.raises(BlockingIOError):
            os.read(reader, 1)

    async with anyio.create_task_group() as tasks:
        made, _ = streams(tasks)
        made.follow(out, take, Echo(shown))
        os.write(end, b"x")
        os.close(end)
        with anyio.fail_after(5):
            await made.drained.wait()
        await made.flush()
    assert os.read(reader, 10) == b"x"


async def test_a_reader_that_catches_up_gets_everything(pipes: Pipes) -> None:
    (out, end), (reader, shown) = pipes.make(), pipes.make()
    data = os.urandom(300_000)
    got = bytearray()

    async def produce() -> None:
        left = data
        os.set_blocking(end, False)
        while left:
            await anyio.wait_writable(end)
            left = left[os.write(end, left) :]
        os.close(end)

    async def consume() -> None:
        while len(got) < len(data):
            await anyio.wait_readable(reader)
            got.extend(os.read(reader, 10_000))

    async with anyio.create_task_group() as tasks:
        made, said = streams(tasks)
        taken = bytearray()
        made.follow(out, taken.extend, Echo(shown))
        tasks.start_soon(produce)
        with anyio.fail_after(10):
            await consume()
            await made.drained.wait()
            await made.flush()
    assert bytes(got) == bytes(taken) == data
    assert said == []


async def test_a_reader_that_takes_nothing_is_given_up_once(pipes: Pipes) -> None:
    (out, end), (_, shown) = pipes.make(), pipes.make()
    taken = bytearray()
    async with anyio.create_task_group() as tasks:
        made, said = streams(tasks)
        made.follow(out, taken.extend, Echo(shown, patience=0.1))
        os.set_blocking(end, False)
        sent = 0
        with anyio.fail_after(10):
            while sent < 500_000:
                await anyio.wait_writable(end)
                sent += os.write(end, b"x" * 50_000)
            os.close(end)
            await made.drained.wait()
            await made.flush()
    assert len(taken) == sent
    assert said == ["lost"]


async def test_another_output_of_ours_is_flushed_at_the_end(pipes: Pipes) -> None:
    reader, shown = pipes.make()
    async with anyio.create_task_group() as tasks:
        made, said = streams(tasks)
        echo = Echo(shown, patience=5)
        made.add_echo(echo)
        echo.write(b"x" * 100_000)
        assert echo.stalled
        got = bytearray()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as flushing:
                flushing.start_soon(made.flush)
                while len(got) < 100_000:
                    await anyio.wait_readable(reader)
                    got.extend(os.read(reader, 10_000))
    assert said == []
