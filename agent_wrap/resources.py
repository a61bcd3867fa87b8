"""Memory and CPU of the agent's process tree, for `summary.json`."""

from __future__ import annotations

import os
import resource

from agent_wrap.process import descendants

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Sampler:
    """Keeps the peaks of what it has seen. `/proc` is read by hand: five times
    cheaper than psutil, and this runs beside the agent all the time."""

    def __init__(self) -> None:
        self.peak_rss_bytes = 0
        self.peak_processes = 0

    def sample(self, root: int) -> None:
        """Look at everything that descends from `root`."""
        pids = descendants(root)
        self.peak_processes = max(self.peak_processes, len(pids))
        self.peak_rss_bytes = max(self.peak_rss_bytes, sum(map(_rss, pids)))

    def as_dict(self) -> dict[str, float | int]:
        """Give the figures; the CPU time is that of all children reaped so far."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        largest = used.ru_maxrss * 1024  # of one process: a short run has no sample
        return {
            "cpu_s": round(used.ru_utime + used.ru_stime, 3),
            "peak_rss_bytes": max(self.peak_rss_bytes, largest),
            "peak_processes": self.peak_processes,
        }


def _rss(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
