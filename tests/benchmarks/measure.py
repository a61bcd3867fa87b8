"""One measured run of one side: its CPU without the agent's, its time, its memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).parent
PYTHON = sys.executable
AGENT = [PYTHON, "-I", "-S", str(HERE / "agent.py")]
SECRET = {"BENCHMARK_API_KEY": "sk-benchmark-0123456789abcdef"}

Side = Callable[[Path, list[str]], list[str]]
"""Gives the command of a side, from the folder to write in and the agent's command."""


def product(folder: Path, agent: list[str]) -> list[str]:
    """agent-wrap itself, as a container runs it."""
    program = str(Path(sys.prefix, "bin", "agent-wrap"))
    options = ["--adapter", "claude-code", "--archive", str(folder), "--echo", "none"]
    return [program, *options, "--no-adapt", "--", *agent]


def loop(folder: Path, agent: list[str]) -> list[str]:
    """The bare loop."""
    return [PYTHON, "-I", str(HERE / "loop.py"), str(folder / "dialog.jsonl"), *agent]


def tee(folder: Path, agent: list[str]) -> list[str]:
    """A pipe to `tee`."""
    words = ["sh", "-c", '"$@" | tee "$0" >/dev/null', str(folder / "out"), *agent]
    return words


@dataclass
class Cost:
    """What a run took: seconds, CPU seconds without the agent's, samples of PSS."""

    wall: float
    cpu: float
    memory: list[int] = field(default_factory=list)


def _own_memory(root: psutil.Process) -> int:
    total = 0
    with contextlib.suppress(psutil.Error):
        for process in [root, *root.children(recursive=True)]:
            if process.cmdline()[: len(AGENT)] != AGENT:
                total += process.memory_full_info().pss
    return total


@contextlib.contextmanager
def _sampled(pid: int, into: list[int], every: float) -> Iterator[None]:
    done = threading.Event()

    def sample() -> None:
        process = psutil.Process(pid)
        while not done.wait(every):
            into.append(_own_memory(process))

    thread = threading.Thread(target=sample)
    thread.start()
    yield
    done.set()
    thread.join()


def run(side: Side, folder: Path, agent: list[str], *, sample_every: float = 0) -> Cost:
    """Run a side once, in a folder that is there.

    Raises:
        AssertionError: the product's dialog has no end, or not a true one.

    """
    spent = folder / "agent-cpu"
    command = side(folder, [*AGENT, agent[0], str(spent), *agent[1:]])
    memory: list[int] = []
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **SECRET},
    )
    watch = (
        _sampled(process.pid, memory, sample_every)
        if sample_every
        else contextlib.nullcontext()
    )
    with watch:
        # Not Popen.wait: only wait4 tells what this tree of processes took.
        # With WNOWAIT first, so that the watch never meets another's pid.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = time.monotonic() - began
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if side is product:
        _check(folder, process.returncode)
    cpu = usage.ru_utime + usage.ru_stime - float(spent.read_text())
    return Cost(wall, cpu, memory)


def _check(folder: Path, code: int) -> None:
    """Refuse to measure a wrong dialog."""
    with (folder / "dialog.jsonl").open("rb") as dialog:
        dialog.seek(max(0, dialog.seek(0, os.SEEK_END) - 65536))
        last = json.loads(dialog.read().splitlines()[-1])
    assert (code, last["type"], last["status"]) == (0, "complete", "success"), (
        code,
        last,
    )
