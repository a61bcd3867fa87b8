"""The first process: the last to die, whoever else is killed; PID 1 duties."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent_wrap import process

from .harness import PATIENCE, Run, child, scripted, wait_for

HANG = "sleep=60"
CLAUDE = ("--adapter", "claude-code")
TOOL = ("init", "text=Hi", "tool=t1", HANG)


def supervisor_of(started: Run) -> int:
    (pid,) = process.descendants(started.process.pid)[:1]
    return pid


def running(tmp_path: Path, *steps: str) -> Run:
    started = Run(tmp_path, scripted(*(steps or TOOL)), *CLAUDE)
    started.until(lambda: "tool" in started.types, "a tool")
    return started


def test_a_killed_supervisor_leaves_a_whole_dialog(tmp_path: Path) -> None:
    with running(tmp_path) as started:
        os.kill(supervisor_of(started), signal.SIGKILL)
        assert started.wait() == 137
        assert started.alive() == {}
        assert started.types == [
            "init",
            "prompt",
            "message",
            "tool",
            "tool",
            "complete",
        ]
        end = started.complete
        assert end["status"] == "error"
        assert "killed" in end["message"]
        assert (end["turns"], end["total_tokens"]) == (2, {"in": 20, "out": 10})
        assert started.summary["reason"] == "wrapper_killed"
        assert started.problems() == []


def test_a_killed_supervisor_leaves_no_torn_line(tmp_path: Path) -> None:
    """The agent goes on writing all the time; whatever was last is whole."""
    flood = child("flood", 1, 10**12)
    with Run(tmp_path, flood, "--echo", "none") as started:
        started.until(lambda: len(started.types) > 5, "entries")
        os.kill(supervisor_of(started), signal.SIGKILL)
        assert started.wait() == 137
        assert started.alive() == {}
        assert started.dialog.endswith(b"}\n")
        assert started.types[-1] == "complete"


def test_an_agent_that_kills_its_parent(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo before; sleep 0.3; kill -9 $PPID; sleep 60"]
    with Run(tmp_path, command) as started:
        assert started.wait() == 137
        assert started.alive() == {}
        assert started.types[-1] == "complete"


def test_a_killed_guardian_ends_the_run(tmp_path: Path) -> None:
    with running(tmp_path) as started:
        started.process.kill()
        assert started.wait() == -signal.SIGKILL
        wait_for(lambda: not started.alive(), "the end of all")
        assert started.complete["status"] == "error"
        assert "killed" in started.complete["message"]
        assert started.summary["reason"] == "wrapper_killed"
        assert started.summary["exit_code"] == 137


def test_both_killed_takes_the_agent_with_them(tmp_path: Path) -> None:
    with running(tmp_path) as started:
        supervisor = supervisor_of(started)
        os.kill(started.process.pid, signal.SIGSTOP)  # it must not finish for the other
        os.kill(supervisor, signal.SIGKILL)
        started.process.kill()
        wait_for(lambda: not started.alive(), "the end of the agent")
        assert started.dialog.endswith(b"}\n")


def test_signals_that_are_passed_on(tmp_path: Path) -> None:
    with Run(tmp_path, child("signals", 2)) as started:
        started.until(lambda: b"listening" in started.raw, "a listener")
        started.process.send_signal(signal.SIGUSR1)
        started.until(lambda: b"SIGUSR1" in started.raw, "the first")
        started.process.send_signal(signal.SIGUSR2)
        started.end()
    assert started.code == 0
    assert started.messages == ["listening", "SIGUSR1", "SIGUSR2"]


def test_a_stop_signal_reaches_the_agent_as_sigterm(tmp_path: Path) -> None:
    with Run(tmp_path, child("signals", 1), "--kill-grace", "5") as started:
        started.until(lambda: b"listening" in started.raw, "a listener")
        started.stop(signal.SIGINT)
        assert started.problems() == []
    assert started.messages == ["listening", "SIGTERM"]
    assert started.code == 130


def zombies_below(root: int) -> list[int]:
    return [pid for pid in process.descendants(root) if not process.parent_of(pid)]


def test_orphans_are_reaped_while_the_run_lasts(tmp_path: Path) -> None:
    with Run(tmp_path, child("orphans", "go")) as started:
        started.until(lambda: b"orphans made" in started.raw, "orphans")
        root = started.process.pid
        wait_for(lambda: not zombies_below(root), "an end of zombies")
        assert len(process.descendants(root)) == 2  # the supervisor and the agent
        (started.folder / "go").touch()
        started.end()
    assert started.code == 0


PID_1 = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def can_be_pid_1() -> bool:
    if shutil.which(PID_1[0]) is None:
        return False
    return (
        subprocess.run([*PID_1, "true"], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.skipif(not can_be_pid_1(), reason="no right to make a pid namespace")
def test_as_pid_1_of_a_container(tmp_path: Path) -> None:
    steps = ("init", "text=Hi", "result", "exit=3")
    with Run(tmp_path, scripted(*steps), *CLAUDE, under=PID_1) as started:
        started.end()
    assert started.code == 3
    with Run(
        tmp_path,
        child("daemon", "--hold", "--stubborn"),
        "--drain-grace",
        "0.2",
        under=PID_1,
    ) as started:
        started.end()
    assert started.code == 0
    with Run(tmp_path, child("orphans", "go"), under=PID_1) as started:
        started.until(lambda: b"orphans made" in started.raw, "orphans")
        root = started.process.pid
        wait_for(lambda: not zombies_below(root), "an end of zombies")
        (first,) = process.descendants(root)[:1]
        os.kill(first, signal.SIGTERM)  # what `docker stop` does
        end = time.monotonic() + PATIENCE
        while started.process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert started.complete["status"] == "error"
        assert started.summary["exit_code"] == 143
        assert started.alive() == {}
