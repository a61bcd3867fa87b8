"""The figures: what is run for each, interleaved, and the ratios that come out."""

from __future__ import annotations

import json
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
READERS, BURST = 100, 20_000
START_UP = 10_000
"""Bytes of the stream whose cost is taken off as start-up."""

LIVE = ("agent-wrap", "canonical wrapper", "SDK")
"""Sides that follow a stream as it comes; the others take a file, or read nothing."""

QUADRATIC = ("canonical wrapper",)
"""Takes minutes for one long line."""


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


def throughput(
    folder: Path, rounds: int, only: str, peers: dict[str, Side]
) -> Iterator[Figure]:
    """CPU for a stream over the bare loop's, start-up taken off."""
    goals = {"small lines": 2.2, "partial messages": 2.0, "mostly not ASCII": 1.2}
    goals["one line of 16 MB"] = 1.6
    short = write(folder / "short", small(), START_UP)
    for name, (lines, size) in STREAMS.items():
        if only not in name:
            continue
        stream = write(folder / "stream", lines(), size)
        sides = {"agent-wrap": product, "tee": tee, **peers}
        for side in QUADRATIC if name == "one line of 16 MB" else ():
            sides.pop(side, None)
        beyond = _beyond_start({"loop": loop, **sides}, stream, short, rounds)
        limit = beyond.pop("loop")
        for side, cpu in beyond.items():
            goal = goals.get(name, 1.7) if side == "agent-wrap" else None
            values = [taken / least for taken, least in zip(cpu, limit, strict=True)]
            yield Figure(f"CPU over the loop, {name}", side, goal, values)


def _beyond_start(
    sides: dict[str, Side], stream: Path, short: Path, rounds: int
) -> dict[str, list[float]]:
    """Give the CPU that a stream takes beyond a short one, a value a round.

    Of the short one, which varies as much as a fast side takes for the long one, it
    is the median. A side that cannot read the stream is left out.
    """
    starts: dict[str, list[float]] = {name: [] for name in sides}
    whole: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            if name not in whole:
                continue
            try:
                starts[name] += [_once(side, [str(short)])[0] for _ in range(2)]
                whole[name].append(_once(side, [str(stream)])[0])
            except FileNotFoundError:  # it ended the agent
                del whole[name]
    return {
        name: [cpu - statistics.median(starts[name]) for cpu in values]
        for name, values in whole.items()
    }


def memory(folder: Path, rounds: int, peers: dict[str, Side]) -> Iterator[Figure]:
    """PSS of the processes that are a side's own."""
    big = write(folder / "stream", STREAMS["realistic 200 MB"][0](), 200_000_000)
    for name, side in {"agent-wrap": product, **peers}.items():
        if name in LIVE:
            yield from _memory(name, side, big, rounds)
    one = write(folder / "stream", STREAMS["one line of 16 MB"][0](), 1 << 40)
    line = []
    for _ in range(rounds):
        _, used = _once(product, [str(one)], sample_every=0.005)
        line.append(max(used) / LINE)
    yield Figure("one line of 16 MB: peak over the line", "agent-wrap", 6, line)


def _memory(name: str, side: Side, big: Path, rounds: int) -> Iterator[Figure]:
    peaks, growth, idle = [], [], []
    for _ in range(rounds):
        _, used = _once(side, [str(big)], sample_every=0.1)
        peaks.append(max(used) / MB)
        quarter = len(used) // 4
        growth.append(max(used[-quarter:]) / max(used[:quarter]))
        _, used = _once(side, ["1", "paced"], sample_every=0.1)
        idle.append(statistics.median(used) / MB)
    goals = (40, 1.1, 24) if side is product else (None, None, None)
    over = "memory over 200 MB"
    yield Figure(f"{over}: peak, MiB", name, goals[0], peaks)
    yield Figure(f"{over}: last quarter over first", name, goals[1], growth)
    yield Figure("memory while idle, MiB", name, goals[2], idle)


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


def latency(rounds: int, peers: dict[str, Side]) -> Iterator[Figure]:
    """From the agent's write to the readable entry, over the bare loop's."""
    sides: dict[str, Side] = {"loop": loop, "agent-wrap": product}
    sides |= {name: side for name, side in peers.items() if name == "canonical wrapper"}
    middle: dict[str, list[float]] = {name: [] for name in sides}
    late: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            delays = _delays(side)
            middle[name].append(statistics.median(delays))
            late[name].append(delays[len(delays) * 99 // 100])
    limit = middle.pop("loop")
    for name, values in middle.items():
        ratios = [value / least for value, least in zip(values, limit, strict=True)]
        goal = 1.3 if name == "agent-wrap" else None
        yield Figure("latency over the loop: p50", name, goal, ratios)
    for name, values in late.items():
        yield Figure("latency: p99, ms", name, None, values)


def _delays(side: Side) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        follower = _Follower(Path(folder, "dialog.jsonl"))
        follower.start()
        run(side, Path(folder), ["500", "paced"])
        follower.done.set()
        follower.join()
    return sorted(follower.delays)


def _fan_out(side: str) -> tuple[float, float, float]:
    """CPU, seconds to the last reader, peak of memory (MiB) of one burst.

    Raises:
        AssertionError: a reader lost an event, or got other bytes than another.

    """
    folder = Path(__file__).parent
    words = [PYTHON, str(folder / "fanout.py"), side, str(READERS), str(BURST)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        port, path = server.stdout.readline().split()
        read = [PYTHON, str(folder / "readers.py"), port, path, str(READERS)]
        seen = json.loads(subprocess.check_output(read))
        told = json.loads(server.stdout.readline())
    assert {count for count, _ in seen["readers"]} == {BURST}, side
    assert len({found for _, found in seen["readers"]}) == 1, side
    return told["cpu"], seen["done"] - told["began"], told["peak"]


def fan_out(rounds: int) -> Iterator[Figure]:
    """A live session with many readers, over a bare loop that writes the same."""
    cpu, last, peak = [], [], []
    for _ in range(rounds):
        bare, ours = _fan_out("bare"), _fan_out("product")
        cpu.append(ours[0] / bare[0])
        last.append(ours[1] / bare[1])
        peak.append(ours[2])
    name = f"{READERS} readers of {BURST} events over a bare fan-out"
    yield Figure(f"{name}: CPU", "agent-wrap", 6, cpu)
    yield Figure(f"{name}: last reader", "agent-wrap", 6, last)
    yield Figure(
        "peak memory of the process that serves, MiB", "agent-wrap", None, peak
    )


def _spent(command: list[str]) -> tuple[float, float]:
    """Seconds and seconds of CPU that a command takes."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def _until(stamp: Path, command: list[str]) -> tuple[float, float]:
    """Seconds until a command's agent has left its stamp; all its seconds of CPU."""
    began = time.time_ns()
    _, cpu = _spent(command)
    return (int(stamp.read_text()) - began) / 1e9, cpu


def start(rounds: int, peers: dict[str, Side]) -> Iterator[Figure]:
    """The agent's first instruction, and a whole short run, over a bare interpreter."""
    sides: dict[str, Side] = {"agent-wrap": product}
    sides |= {name: side for name, side in peers.items() if name == "con-duct"}
    first: dict[str, list[float]] = {name: [] for name in sides}
    whole: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            with tempfile.TemporaryDirectory() as folder:
                stamp = Path(folder, "stamp")
                agent = ["sh", "-c", 'date +%s%N >"$0"', str(stamp)]
                alone, bare = _until(stamp, agent)
                seconds, cpu = _until(stamp, side(Path(folder), agent))
            base, base_cpu = _spent([PYTHON, "-I", "-S", "-c", "pass"])
            first[name].append((seconds - alone) / base)
            whole[name].append((cpu - bare) / base_cpu)
    over = "over `python3 -I -S -c pass`"
    for name in sides:
        goals = (2, 11) if name == "agent-wrap" else (None, None)
        what = f"start to the agent's first instruction, {over}"
        yield Figure(what, name, goals[0], first[name])
        yield Figure(f"CPU of a short run, {over}", name, goals[1], whole[name])
