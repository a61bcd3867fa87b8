"""Runs from Python: what they give and raise, from wherever they are called."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import agent_wrap
from agent_wrap import (
    AgentWrapError,
    ArchiveError,
    RunResult,
    UsageError,
    run,
)

from .calls import GOOD, HANG, Place
from .harness import child, scripted, wait_for


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


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
    with pytest.raises(UsageError, match=r"option: tiemout\. Did you mean timeout"):
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
