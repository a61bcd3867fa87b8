"""Killing the wrapper at a random moment, and what must hold of what is left.

Used by the tests of the rescue; it alone knows what "nothing that was visible is
lost" means.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_wrap import process
from agent_wrap.validate import check

from .harness import Run, child, wait_for

CLAUDE = ("--adapter", "claude-code", "--echo", "none", "--drain-grace", "0.05")
LASTS = 0.6
"""Seconds that the agent goes on; moments are drawn from some more."""

HOW_OFTEN = int(os.environ.get("AGENT_WRAP_KILLS", "12"))
AT_ONCE = 3


def new_mark() -> str:
    """Give a word that nobody else has: as a duration, `sleep` takes it."""
    return f"9{random.randrange(10**8, 10**9)}.5"


def having(mark: str) -> dict[int, str]:
    """Give the living processes that have a word among their arguments."""
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:  # a zombie has no arguments
            words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found[int(entry.name)] = b" ".join(words).decode().strip()
    return found


def end_all(mark: str) -> None:
    """Kill the living processes that have a word among their arguments."""
    for pid in having(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def first_child(pid: int) -> int:
    """Give the supervisor of a guardian, 0 while (or when) there is none."""
    return next(iter(process.descendants(pid)), 0)


Kill = Callable[[Run], bytes]
"""Kills something of a run; gives the dialog that was visible just before."""


def kill_supervisor(started: Run) -> bytes:
    supervisor = first_child(started.process.pid)
    seen = started.dialog
    if supervisor:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(supervisor, signal.SIGKILL)
    return seen


def kill_guardian(started: Run) -> bytes:
    seen = started.dialog
    started.process.kill()
    return seen


def kill_both(started: Run) -> bytes:
    """Neither gets to act on the other's death: the guardian is stopped first."""
    guardian = started.process.pid
    started.process.send_signal(signal.SIGSTOP)
    supervisor = first_child(guardian)
    seen = started.dialog
    if supervisor:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(supervisor, signal.SIGKILL)
    started.process.kill()
    return seen


class Killed:
    """A run of the child `steady` that was killed at a moment of its life."""

    def __init__(self, folder: Path, kill: Kill, moment: float, seconds: float) -> None:
        self.moment = moment
        self.mark = new_mark()
        command = child("steady", self.mark, seconds)
        with Run(folder, command, *CLAUDE) as started:
            self.run = started
            try:
                # Before it there is nothing but one process without an agent.
                wait_for(
                    lambda: (
                        first_child(started.process.pid)
                        or started.process.poll() is not None
                    ),
                    "a supervisor",
                )
                time.sleep(moment)
                self.seen = kill(started)
                self.code = started.wait()
                self.at_once = having(self.mark)
                wait_for(lambda: not self._ours(), "the end of ours and the agent")
                self.left = having(self.mark)
            finally:
                end_all(self.mark)

    def _ours(self) -> list[str]:
        """The wrapper's processes and the agent, but for what it left behind."""
        alive = having(self.mark).values()
        return [line for line in alive if line != f"sleep {self.mark}"]

    @property
    def lost(self) -> bytes:
        """Whole lines that were visible and are no more."""
        whole = self.seen[: self.seen.rfind(b"\n") + 1]
        return b"" if self.run.dialog.startswith(whole) else whole

    def problems(self) -> list[str]:
        """What must not be once the dialog is finished."""
        dialog = self.run.dialog
        found = [str(p) for p in check(dialog) if not p.warning]
        if dialog.count(b'"type":"complete"') != 1:
            found.append("not exactly one complete")
        if self.lost:
            found.append(f"lost: {self.lost[-200:]!r}")
        return [f"killed after {self.moment:.4f} s: {what}" for what in found]


def kill_often(folder: Path, kill: Kill, look: Callable[[Killed], list[str]]) -> None:
    """Kill runs at random moments; each is looked at. Fails with all problems."""
    drawn = random.Random()
    moments = [drawn.uniform(0, LASTS + 0.35) for _ in range(HOW_OFTEN)]

    def one(moment: float) -> list[str]:
        killed = Killed(folder, kill, moment, LASTS)
        return look(killed)

    with ThreadPoolExecutor(AT_ONCE) as several:
        found = [what for each in several.map(one, moments) for what in each]
    assert found == [], f"{len(found)} problems of {HOW_OFTEN} runs"
