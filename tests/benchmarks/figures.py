"""The figures: what is run for each, interleaved, and the ratios that come out."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .measure import PYTHON, Side, loop, product, run, tee
from .streams import STREAMS, small, write

MB = 1 << 20
LINE = 16 * MB
START_UP = 10_000
"""Bytes of the stream whose cost is taken off as start-up."""


@dataclass(frozen=True)
class Figure:
    """A figure of one side, one value a round."""

    name: str
    side: str
    goal: float | None
    values: list[float]

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.values)


def _once(
    side: Side, agent: list[str], *, sample_every: float = 0
) -> tuple[float, list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        cost = run(side, Path(folder), agent, sample_every=sample_every)
    return cost.cpu, cost.memory


def throughput(folder: Path, rounds: int, only: str) -> Iterator[Figure]:
    """CPU for a stream over the bare loop's, start-up taken off."""
    goals = {"small lines": 2.2, "partial messages": 2.0, "mostly not ASCII": 1.2}
    goals["one line of 16 MB"] = 1.6
    short = write(folder / "short", small(), START_UP)
    for name, (lines, size) in STREAMS.items():
        if only not in name:
            continue
        stream = write(folder / "stream", lines(), size)
        cpu: dict[str, list[float]] = {"agent-wrap": [], "tee": []}
        for _ in range(rounds):
            spent = {
                side: _once(side, [str(stream)])[0] - _once(side, [str(short)])[0]
                for side in (loop, product, tee)
            }
            cpu["agent-wrap"].append(spent[product] / spent[loop])
            cpu["tee"].append(spent[tee] / spent[loop])
        for side, values in cpu.items():
            goal = goals.get(name, 1.7) if side == "agent-wrap" else None
            yield Figure(f"CPU over the loop, {name}", side, goal, values)


def memory(folder: Path, rounds: int) -> Iterator[Figure]:
    """PSS of the wrapper's own processes."""
    big = write(folder / "stream", STREAMS["realistic 200 MB"][0](), 200_000_000)
    peaks, growth, idle, line = [], [], [], []
    for _ in range(rounds):
        _, used = _once(product, [str(big)], sample_every=0.1)
        peaks.append(max(used) / MB)
        quarter = len(used) // 4
        growth.append(max(used[-quarter:]) / max(used[:quarter]))
        _, used = _once(product, ["1", "paced"], sample_every=0.1)
        idle.append(statistics.median(used) / MB)
    one = write(folder / "stream", STREAMS["one line of 16 MB"][0](), 1 << 40)
    for _ in range(rounds):
        _, used = _once(product, [str(one)], sample_every=0.005)
        line.append(max(used) / LINE)
    side = "agent-wrap"
    yield Figure("memory over 200 MB: peak, MiB", side, 40, peaks)
    yield Figure("memory over 200 MB: last quarter over first", side, 1.1, growth)
    yield Figure("memory while idle, MiB", side, 24, idle)
    yield Figure("one line of 16 MB: peak over the line", side, 6, line)


class _Follower(threading.Thread):
    """Reads a dialog while it grows; keeps how late each stamped entry was."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)  # a failed run must not wait for it
        self.path = path
        self.done = threading.Event()
        self.delays: list[float] = []

    def run(self) -> None:
        """Follow until told that it is done."""
        while not self.path.exists() and not self.done.is_set():
            time.sleep(0.001)
        with self.path.open("rb") as dialog:
            while not self.done.is_set():
                seen = dialog.read()
                now = time.monotonic_ns()
                for stamp in re.findall(rb"@(\d+)@", seen):
                    self.delays.append((now - int(stamp)) / 1e6)
                time.sleep(0.00005)


def latency(rounds: int) -> Iterator[Figure]:
    """From the agent's write to the readable entry, over the bare loop's."""
    middle, late = [], []
    for _ in range(rounds):
        delays: dict[Side, list[float]] = {}
        for side in (loop, product):
            with tempfile.TemporaryDirectory() as folder:
                follower = _Follower(Path(folder, "dialog.jsonl"))
                follower.start()
                run(side, Path(folder), ["500", "paced"])
                follower.done.set()
                follower.join()
                delays[side] = sorted(follower.delays)
        ours, limit = delays[product], delays[loop]
        middle.append(statistics.median(ours) / statistics.median(limit))
        late.append(ours[len(ours) * 99 // 100])
    yield Figure("latency over the loop: p50", "agent-wrap", 1.3, middle)
    yield Figure("latency: p99, ms", "agent-wrap", None, late)


def _spent(command: list[str]) -> tuple[float, float]:
    """Seconds and seconds of CPU that a command takes."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def start(rounds: int) -> Iterator[Figure]:
    """The agent's first instruction, and a whole short run, over a bare interpreter."""
    first, whole = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            stamp = Path(folder, "stamp")
            agent = ["sh", "-c", 'date +%s%N >"$0"', str(stamp)]
            _, bare = _spent(agent)
            began = time.time_ns()
            _, cpu = _spent(product(Path(folder), agent))
            seconds = (int(stamp.read_text()) - began) / 1e9
            base, base_cpu = _spent([PYTHON, "-I", "-S", "-c", "pass"])
        first.append(seconds / base)
        whole.append((cpu - bare) / base_cpu)
    name = "over `python3 -I -S -c pass`"
    yield Figure(
        f"start to the agent's first instruction, {name}", "agent-wrap", 2, first
    )
    yield Figure(f"CPU of a short run, {name}", "agent-wrap", 11, whole)
