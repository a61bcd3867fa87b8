"""A hundred wrapped agents on Ray: retries, archives, and a worker that is killed.

From the repository's root:

    python3 -m venv .venv-ray && .venv-ray/bin/pip install . ray && \
    .venv-ray/bin/python examples/ray_fan_out.py --out fan-out --lose-a-worker

then `agent-wrap view fan-out`. On a cluster: start it with RAY_ADDRESS set, and an
`--out` that all machines see. Ray schedules and runs again what was lost; agent-wrap
sees to it that a worker that dies leaves no agent behind, and a whole dialog.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from itertools import count
from pathlib import Path

import ray

import agent_wrap

AGENT = """
echo "I work on $AGENT_TASK, attempt $AGENT_ATTEMPT."
sleep "${AGENT_SECONDS:-2}"
case "$AGENT_TASK-$AGENT_ATTEMPT" in *7-1) echo "no luck" >&2; exit 75;; esac
echo "Done."
"""
"""Stands for a real one; every tenth task fails at its first attempt."""

AGAIN = {
    *("agent_exit", "agent_killed", "out_of_memory", "no_final_event", "stopped"),
    *("wrapper_killed", "spawn_failed", "internal"),
}
"""Why a run is tried again: something broke. A limit and what the agent calls an error
are results."""


class RunBrokeError(Exception):
    """A run that is worth another attempt."""


def new_attempt(out: Path, task: str) -> tuple[int, Path]:
    """Make the folder of the next attempt: nothing of an earlier one is overwritten."""
    for number in count(1):
        folder = out / task / f"attempt-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return number, folder
    raise AssertionError("count() has no end")


@ray.remote(num_cpus=0.25, max_retries=3, retry_exceptions=[RunBrokeError])
def run_one(out: Path, task: str, timeout: float) -> dict[str, object]:
    """Run one task in this worker. Agents wait for models: four share a processor."""
    number, folder = new_attempt(out, task)
    (folder / "worker.pid").write_text(str(os.getpid()))
    result = agent_wrap.run(
        ["sh", "-c", AGENT],
        env={**os.environ, "AGENT_TASK": task, "AGENT_ATTEMPT": str(number)},
        archive=folder,
        task=task,
        timeout=timeout,
    )
    if result.reason in AGAIN:
        raise RunBrokeError(f"{task}, attempt {number}: {result.message}")
    return {"task": task, "status": result.status, "attempts": number}


def lose_a_worker(out: Path) -> str:
    """Kill a worker in the middle of a run, as a machine does that fails."""
    while True:
        for pid_file in out.glob("*/attempt-1/worker.pid"):
            log = pid_file.with_name("stdout.log")
            if log.exists() and log.stat().st_size:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid_file.read_text()), signal.SIGKILL)
                    return pid_file.parent.parent.name
        time.sleep(0.02)


def main() -> int:
    """Run them all; say what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--lose-a-worker", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    out = given.out.resolve()
    here = {} if "RAY_ADDRESS" in os.environ else {"include_dashboard": False}
    ray.init(log_to_driver=False, **here)
    began = time.monotonic()
    waiting = [
        run_one.remote(out, f"task-{number:03}", given.timeout)
        for number in range(given.tasks)
    ]
    lost = lose_a_worker(out) if given.lose_a_worker else ""
    results = ray.get(waiting)
    good = sum(result["status"] == "success" for result in results)
    again = [result["task"] for result in results if result["attempts"] > 1]
    print(f"{good} of {given.tasks} succeeded in {time.monotonic() - began:.0f} s")
    print(f"{len(again)} needed another attempt: {', '.join(map(str, again))}")
    if lost:
        print(f"the worker of {lost} was killed")
    return 0 if good == given.tasks else 1


if __name__ == "__main__":
    sys.exit(main())
