"""Runs from Python: what they give and raise, from wherever they are called."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from agent_wrap.validate import check

from .harness import MARK, SOON, child, environment, marked, scripted, wait_for

GOOD = ("init", "text=Hi", "tool=t1", "done=t1", "result")
HANG = ("init", "text=Hi", "tool=t1", "sleep=60")


class Place:
    """An archive and an environment with a mark: what a call is given."""

    def __init__(self, folder: Path) -> None:
        self.archive = folder / "archive"
        self.env = environment(self.archive)
        self.options: dict[str, Any] = {
            "env": self.env,
            "archive": str(self.archive),
            "adapter": "claude-code",
        }

    def types(self) -> list[str]:
        lines = (self.archive / "dialog.jsonl").read_bytes()
        assert [problem for problem in check(lines) if not problem.warning] == []
        return [json.loads(line)["type"] for line in lines.splitlines()]

    def output(self) -> bool:
        """Has the agent printed anything?"""
        path = self.archive / "stdout.log"
        return path.exists() and bool(path.stat().st_size)

    def alive(self) -> dict[int, str]:
        return marked(self.env[MARK])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# run


def test_a_run(place: Place) -> None:
    result = run(
        scripted(*GOOD), prompt="do it", task="CVE-1", timeout=60, **place.options
    )
    assert isinstance(result, RunResult)
    assert result.ok
    assert (result.status, result.exit_code, result.reason) == (
        "success",
        0,
        "completed",
    )
    assert (result.task, result.model, result.turns) == ("CVE-1", "scripted-model", 2)
    assert result.tokens["in"] == 20
    assert result.tools["success"] == 1
    assert result.archive == str(place.archive)
    assert result.dialog_path == str(place.archive / "dialog.jsonl")
    assert place.types()[:2] == ["init", "prompt"]
    assert place.alive() == {}
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.turns = 3  # type: ignore[misc]  # that is the point


def test_a_run_that_fails_is_a_result(place: Place) -> None:
    result = run(scripted("init", "exit=7"), **place.options)
    assert (result.ok, result.status, result.exit_code) == (False, "error", 7)
    result = run(["no-such-agent"], **place.options)
    assert (result.reason, result.exit_code) == ("spawn_failed", 127)
    result = run(scripted(*HANG), timeout=0.6, **place.options)
    assert (result.status, result.exit_code) == ("timeout", 124)
    result = run(scripted(*GOOD, "exit=2"), **place.options)
    assert (result.ok, result.status, result.exit_code) == (False, "success", 2)


def test_what_is_raised(place: Place, tmp_path: Path) -> None:
    options = place.options
    with pytest.raises(UsageError, match="no such option: tiemout"):
        run(["true"], **options, tiemout=3)
    with pytest.raises(UsageError, match="list of words"):
        run("true", **options)
    with pytest.raises(UsageError, match="no command"):
        run([], **options)
    with pytest.raises(UsageError, match="'soon'"):
        run(["true"], **options, timeout="soon")
    with pytest.raises(AgentWrapError, match=r"no-such.*Known"):
        run(["true"], **{**options, "adapter": "no-such"})
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ArchiveError) as caught:
        run(["true"], **{**options, "archive": str(file)})
    assert caught.value.path.startswith(str(file))
    assert not place.archive.exists()


def test_an_old_summary_is_not_taken_for_this_runs(place: Place) -> None:
    run(["true"], **place.options)
    (place.archive / "dialog.jsonl").unlink()
    (place.archive / "dialog.jsonl").mkdir()
    with pytest.raises(ArchiveError, match="folder"):
        run(["true"], **place.options)


def test_what_the_callers_process_keeps(place: Place) -> None:
    """Handlers, mask and children are the caller's own; so are its open files."""
    handlers = [
        signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    ]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    fds = set(os.listdir("/proc/self/fd"))
    with subprocess.Popen(["sleep", "60"]) as mine:
        run(scripted(*GOOD), **place.options)
        assert mine.poll() is None
        mine.kill()
    assert handlers == [
        signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    ]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    assert set(os.listdir("/proc/self/fd")) == fds


def test_from_a_thread(place: Place) -> None:
    results: list[RunResult] = []
    thread = threading.Thread(
        target=lambda: results.append(run(scripted(*GOOD), **place.options))
    )
    thread.start()
    thread.join(20)
    assert results[0].ok


async def test_inside_a_running_event_loop(place: Place) -> None:
    assert run(scripted(*GOOD), **place.options).ok


def test_several_at_once_from_threads(tmp_path: Path) -> None:
    places = []
    for name in "abc":
        (tmp_path / name).mkdir()
        places.append(Place(tmp_path / name))
    codes: dict[int, int] = {}

    def one(number: int) -> None:
        steps = ("init", "result", f"exit={number}")
        codes[number] = run(scripted(*steps), **places[number].options).exit_code

    threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert codes == {0: 0, 1: 1, 2: 2}


def test_an_interrupt_ends_the_run(place: Place) -> None:
    def interrupt() -> None:
        wait_for(place.output, "output")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(scripted(*HANG), **place.options)
    thread.join(20)
    assert place.types()[-1] == "complete"
    assert place.alive() == {}


def test_the_callers_folder_is_not_searched_for_modules(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller stands in somebody's project: nothing in it may be imported."""
    for name in ("orjson", "anyio", "queue", "agent_wrap"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert run(scripted(*GOOD), **place.options).ok


def test_the_prompt_may_be_anything(place: Place) -> None:
    for prompt in ("", "-x\n\N{SNOWMAN}", "long " * 100_000, "\udcff"):
        options = {**place.options, "adapter": "plain"}
        told = run(
            child("inside", "--read"), prompt=prompt, prompt_via="stdin", **options
        )
        assert told.ok
        assert told.entries >= 4


def test_options_reach_the_run(place: Place, tmp_path: Path) -> None:
    options = {**place.options, "adapter": "plain"}
    result = run(
        child("inside"), cwd=str(tmp_path), no_adapt=True, strict=False, **options
    )
    assert result.cwd == str(tmp_path)
    assert run(["true"], timeout=None, max_turns=None, **options).ok


# arun and open_run, on asyncio and trio


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


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_a_run_outlives_no_caller(
    kill: Callable[[int, int], None], place: Place, tmp_path: Path
) -> None:
    """A caller that is killed, alone or with its group, ends its run in good order."""
    script = tmp_path / "caller.py"
    script.write_text(
        "import agent_wrap\n"
        f"agent_wrap.run({scripted(*HANG)!r},"
        f" archive={str(place.archive)!r}, adapter='claude-code')\n"
    )
    words = [sys.executable, str(script)]
    with subprocess.Popen(words, env=place.env, start_new_session=True) as caller:
        wait_for(place.output, "output")
        kill(caller.pid, signal.SIGKILL)
    wait_for(lambda: not place.alive(), "the end of all")
    assert place.types()[-1] == "complete"
    summary = json.loads((place.archive / "summary.json").read_bytes())
    assert (summary["reason"], summary["exit_code"]) == ("stopped", 129)
    assert summary["message"] == "the program that called agent-wrap has ended"


def test_a_run_outlives_the_thread_that_started_it(place: Place) -> None:
    """It is the caller's process that counts (trio starts processes in a thread)."""
    steps = ("init", "text=Hi", "sleep=0.4", "result")
    words = [sys.executable, "-P", "-m", "agent_wrap", "--adapter", "claude-code"]
    words += ["--caller", str(os.getpid()), "--echo", "none", "--", *scripted(*steps)]
    started: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(
        target=lambda: started.append(subprocess.Popen(words, env=place.env))
    )
    thread.start()
    thread.join(20)
    assert started[0].wait(20) == 0


def test_a_caller_that_is_gone_already_starts_nothing(place: Place) -> None:
    words = [sys.executable, "-P", "-m", "agent_wrap", "--caller", str(2**22 - 1)]
    done = subprocess.run(
        [*words, "--", "true"], env=place.env, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"the program that called has ended" in done.stderr
    assert not place.archive.exists()


def test_public_names() -> None:
    for name in agent_wrap.__all__:
        assert getattr(agent_wrap, name) is not None
    with pytest.raises(AttributeError):
        agent_wrap.no_such_name  # noqa: B018


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
