"""Memory and CPU of the agent's process tree, for `summary.json`.

`/proc` is read by hand: five times cheaper than psutil, and this runs beside the
agent all the time.
"""

from __future__ import annotations

import os
import resource

from agent_wrap.process import descendants

MOST_SAMPLES = 240
"""Samples that are kept; a longer run has fewer of them in a minute."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")

Sample = tuple[int, float, int, int]
"""Milliseconds since the start, CPU seconds so far, memory in bytes, processes."""


class Sampler:
    """Keeps the peaks of what it has seen, and a bounded series of samples."""

    def __init__(self) -> None:
        self.peak_rss_bytes = 0
        self.peak_processes = 0
        self.samples: list[Sample] = []
        self._joined = 1
        """How many looks one sample stands for."""
        self._waiting: list[Sample] = []

    def sample(self, root: int, at: float) -> None:
        """Look at all that descends from `root`, `at` seconds after the start."""
        used = [_used(pid) for pid in descendants(root)]
        rss, cpu = sum(rss for rss, _ in used), sum(cpu for _, cpu in used)
        self.peak_processes = max(self.peak_processes, len(used))
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss)
        self._keep((int(at * 1000), round(cpu + _reaped(), 3), rss, len(used)))

    def end(self, at: float) -> None:
        """Note the end: nothing runs any more, and all of its time is known."""
        if self._waiting:
            self.samples.append(_join(self._waiting))
            self._waiting = []
        self.samples.append((int(at * 1000), round(_reaped(), 3), 0, 0))

    def _keep(self, sample: Sample) -> None:
        """Keep a sample; once there are too many, each stands for twice as many."""
        self._waiting.append(sample)
        if len(self._waiting) < self._joined:
            return
        self.samples.append(_join(self._waiting))
        self._waiting = []
        if len(self.samples) >= MOST_SAMPLES:
            pairs = zip(self.samples[::2], self.samples[1::2], strict=True)
            self.samples = [_join(list(pair)) for pair in pairs]
            self._joined *= 2

    def as_dict(self) -> dict[str, object]:
        """Give the figures; the CPU time is that of all children reaped so far."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        largest = used.ru_maxrss * 1024  # of one process: a short run has no sample
        return {
            "cpu_s": round(used.ru_utime + used.ru_stime, 3),
            "peak_rss_bytes": max(self.peak_rss_bytes, largest),
            "peak_processes": self.peak_processes,
            "samples": [list(sample) for sample in self.samples],
        }


def _join(samples: list[Sample]) -> Sample:
    """Give one sample for several: the last one's moment and time, their peaks."""
    at, cpu, _, _ = samples[-1]
    return at, cpu, max(s[2] for s in samples), max(s[3] for s in samples)


def _reaped() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _used(pid: int) -> tuple[int, float]:
    """Give a process's memory, and its CPU seconds with those of children it reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[21]) * _PAGE, sum(map(int, fields[11:15])) / _TICKS
    except (OSError, IndexError, ValueError):
        return 0, 0.0
