"""`arun` and `open_run`, on asyncio and trio: events, stops, cancels."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

import agent_wrap
from agent_wrap import (
    AgentWrapError,
    ArchiveError,
    RunResult,
    UsageError,
    arun,
    open_run,
    run,
)
from agent_wrap.events import (
    ApprovalAsked,
    Message,
    RunFinished,
    SessionStarted,
    TextDelta,
    ToolStarted,
)

from .calls import GOOD, HANG, Place
from .harness import SOON, child, scripted


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def until_output(place: Place) -> None:
    while not place.output():  # noqa: ASYNC110  # a file tells nobody
        await anyio.sleep(0.01)


async def fail_in_a_run(place: Place) -> None:
    async with open_run(scripted(*HANG), **place.options):
        await until_output(place)
        raise ZeroDivisionError


async def test_arun(place: Place) -> None:
    with anyio.fail_after(20):
        result = await arun(scripted(*GOOD), prompt="do it", **place.options)
    assert result.ok
    assert result.turns == 2
    assert place.types()[-1] == "complete"


async def test_two_at_once(tmp_path: Path) -> None:
    codes: dict[str, int] = {}

    async def one(name: str, code: int) -> None:
        (tmp_path / name).mkdir()
        place = Place(tmp_path / name)
        steps = ("init", "result", f"exit={code}")
        codes[name] = (await arun(scripted(*steps), **place.options)).exit_code

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "a", 3)
            tasks.start_soon(one, "b", 4)
    assert codes == {"a": 3, "b": 4}


async def test_events_come_in_order_while_it_runs(place: Place, tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = ("init", "text=Hi", f"until={go}", "tool=t1", "done=t1", "result")
    kinds: list[str] = []
    with anyio.fail_after(20):
        async with open_run(scripted(*steps), **place.options) as started:
            assert started.archive == str(place.archive)
            async for event in started:
                kinds.append(type(event).__name__)
                if isinstance(event, Message):
                    assert event.text == "Hi"
                    go.touch()  # it waits for us: so this came while it ran
            result = await started.result()
    assert result.ok
    wanted = ["SessionStarted", "Message", "ToolStarted", "ToolFinished", "RunFinished"]
    assert [kind for kind in kinds if kind in wanted] == wanted
    assert kinds[0] == "SessionStarted"


async def test_events_of_a_large_run(place: Place) -> None:
    """More than any pipe holds, read by a caller that is slow at first."""
    options = {**place.options, "adapter": "plain"}
    with anyio.fail_after(30):
        async with open_run(child("flood", 1, 2_000_000), **options) as started:
            await anyio.sleep(0.3)
            size = 0
            async for event in started:
                if isinstance(event, TextDelta):
                    size += len(event.text)
            assert (await started.result()).ok
    assert size > 2_000_000


async def test_a_result_without_reading_events(place: Place) -> None:
    options = {**place.options, "adapter": "plain"}
    with anyio.fail_after(20):
        async with open_run(child("flood", 1, 1_000_000), **options) as started:
            assert (await started.result()).ok
            assert (await started.result()).ok  # as often as you like


async def test_leaving_early_ends_the_run(place: Place) -> None:
    with anyio.fail_after(20):
        async with open_run(scripted(*HANG), **place.options) as started:
            async for event in started:
                if isinstance(event, ToolStarted):
                    break
    assert place.types()[-1] == "complete"
    assert place.alive() == {}


async def test_stop(place: Place) -> None:
    with anyio.fail_after(20):
        async with open_run(scripted(*HANG), **place.options) as started:
            async for event in started:
                if isinstance(event, ToolStarted):
                    started.stop()
            result = await started.result()
            started.stop()  # too late: nothing happens
    assert (result.status, result.exit_code, result.reason) == ("error", 143, "stopped")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # a second is slow enough
async def test_a_second_stop_hurries(place: Place) -> None:
    steps = ("ignore=SIGTERM", *HANG)
    with anyio.fail_after(20):
        async with open_run(
            scripted(*steps), kill_grace=30, **place.options
        ) as started:
            async for event in started:
                if isinstance(event, ToolStarted):
                    started.stop()
                    await anyio.sleep(0.2)
                    started.stop()
            result = await started.result()
    assert result.reason == "stopped"
    assert result.duration_ms < SOON * 1000


ASKS = child("acp_agent", "ask")


async def test_what_an_agent_asks_is_answered_by_the_caller(place: Place) -> None:
    options = {**place.options, "adapter": "acp", "prompt": "Hi"}
    said = []
    with anyio.fail_after(20):
        async with open_run(ASKS, permissions="ask", **options) as started:
            async for event in started:
                said.append(event)
                if isinstance(event, ApprovalAsked):
                    await started.answer("never asked", "approved")
                    await started.answer(event.id, "approved")
            result = await started.result()
    assert result.ok
    assert [e.text for e in said if isinstance(e, Message)] == ["decided: yes"]


def test_a_caller_that_cannot_answer_is_not_asked(place: Place) -> None:
    options = {**place.options, "adapter": "acp", "prompt": "Hi", "permissions": "ask"}
    with pytest.raises(UsageError, match="nobody could answer"):
        run(ASKS, **options)
    with pytest.raises(UsageError, match="nobody could answer"):
        anyio.run(lambda: arun(ASKS, **options))


async def test_cancelling_ends_the_run(place: Place) -> None:
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            await arun(scripted(*HANG), **place.options)

        tasks.start_soon(work)
        with anyio.fail_after(10):
            await until_output(place)
        begun = time.monotonic()
        tasks.cancel_scope.cancel()
    assert time.monotonic() - begun < SOON
    assert place.types()[-1] == "complete"
    assert place.alive() == {}


async def test_a_timeout_of_the_caller(place: Place) -> None:
    with pytest.raises(TimeoutError), anyio.fail_after(0.8):
        await arun(scripted(*HANG), **place.options)
    assert place.types()[-1] == "complete"


async def test_errors_keep_their_type(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with anyio.fail_after(20):
        with pytest.raises(ArchiveError):
            await arun(["true"], **{**place.options, "archive": str(file)})
        with pytest.raises(UsageError):
            await arun(["true"], tiemout=3, **place.options)
        with pytest.raises(AgentWrapError, match="Known"):
            await arun(["true"], **{**place.options, "adapter": "no-such"})
        with pytest.raises(ZeroDivisionError):
            await fail_in_a_run(place)
    assert place.types()[-1] == "complete"
    assert place.alive() == {}


async def test_the_agent_finds_no_file_of_ours(place: Place) -> None:
    """The pipe of the events must not reach the agent, nor what it leaves behind."""
    options = {**place.options, "adapter": "plain", "drain_grace": 0.2}
    with anyio.fail_after(20):
        await arun(child("inside"), **options)
        told = json.loads((place.archive / "stdout.log").read_bytes())
        assert told["fds"] == [0, 1, 2]
        async with open_run(child("daemon", "--hold"), **options) as started:
            assert (await started.result()).ok


async def test_the_last_words_come_as_events(place: Place) -> None:
    """What an adapter holds back until the stream ends is an event as any other."""
    options = {**place.options, "adapter": "plain"}
    with anyio.fail_after(20):
        async with open_run(["echo", "last words"], **options) as started:
            told = [event.text async for event in started if isinstance(event, Message)]
            await started.result()
    assert told == ["last words"]


async def test_files_are_closed_afterwards(place: Place) -> None:
    await arun(["true"], **place.options)
    fds = set(os.listdir("/proc/self/fd"))
    await arun(["true"], **place.options)
    assert len(set(os.listdir("/proc/self/fd"))) <= len(fds)


def test_an_example_of_every_kind_of_use(place: Place) -> None:
    """The shape that the documentation shows."""

    async def use(done: Callable[[RunResult], None]) -> None:
        async with agent_wrap.open_run(scripted(*GOOD), **place.options) as started:
            seen = [event async for event in started]
            assert isinstance(seen[0], SessionStarted)
            assert isinstance(seen[-1], RunFinished)
            done(await started.result())

    results: list[RunResult] = []
    asyncio.run(use(results.append))
    assert results[0].ok
