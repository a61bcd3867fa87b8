"""The ways out of a run, and what none of them may leave behind.

It alone says what a stray may be (children/strays.py makes them) and which ways out
there are; processes are found by a word in their arguments, since some of them clear
their environment.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent_wrap import process

from .harness import Run, child, wait_for
from .killing import AT_ONCE, having

KINDS = ("group", "session", "daemon", "bare", "holder", "chain", "many")
LASTING = "group,session,daemon,bare,holder"
MOST = f"{LASTING},chain"
"""All but the many, which cost most."""
CLAUDE = ("--adapter", "claude-code")
QUICK = ("--drain-grace", "0.1", "--kill-grace", "0.1", "--echo", "none")


Act = Callable[[Run], object]


class Way:
    """A way out: how the agent ends, the options, what is done from outside."""

    def __init__(
        self, how: str, code: int, *options: str, act: Act | None = None
    ) -> None:
        self.how = how
        self.code = code
        self.options = options
        self.act = act


def send(*numbers: int) -> Act:
    """Signal the wrapper once the strays are there."""

    def act(started: Run) -> None:
        for number in numbers:
            started.process.send_signal(number)

    return act


def kill_supervisor(started: Run) -> None:
    (supervisor,) = process.descendants(started.process.pid)[:1]
    os.kill(supervisor, signal.SIGKILL)


def kill_agent(started: Run) -> None:
    os.kill(process.descendants(started.process.pid)[1], signal.SIGKILL)


TERM, KILL = signal.SIGTERM, signal.SIGKILL
WAYS = {
    "exit 0": Way("exit=0", 0),
    "exit 3": Way("exit=3", 3),
    "the agent kills itself": Way("kill", 137),
    "the agent is killed": Way("hang", 137, act=kill_agent),
    "stopped": Way("obey", 143, act=send(TERM)),
    "stopped, ignored": Way("hang", 143, act=send(TERM)),
    "stopped twice": Way("hang", 130, act=send(signal.SIGINT, TERM)),
    "timeout": Way("hang", 124, "--timeout", "0.7"),
    "idle": Way("obey", 124, "--idle-timeout", "0.4"),
    "hangs after its result": Way("result", 0, "--result-grace", "0.1", *CLAUDE),
    "supervisor killed": Way("hang", 137, act=kill_supervisor),
    "guardian killed": Way("hang", -9, act=send(KILL)),
}


def leave(folder: Path, mark: str, kinds: str, way: Way, **how: object) -> Run:
    """Take one way out; give the finished run, with nothing left of it."""
    command = child("strays", mark, kinds, way.how)
    options = (*QUICK, *way.options)
    with Run(folder, command, *options, **how) as started:  # type: ignore[arg-type]
        if way.act is not None:
            started.until(lambda: b"all are there" in started.raw, "strays")
            way.act(started)
        code = started.wait()
        if code == -KILL:  # the first process is gone at once, the rest follows
            wait_for(lambda: not having(mark), "the end of all")
        survivors = having(mark)
        assert survivors == {}, f"{kinds}: {survivors}"
        assert code == way.code, started.stderr
        assert started.types[-1] == "complete", started.stderr
        assert b"all are there" in started.raw
        if code >= 0:
            assert started.problems() == []
    return started


def at_once(cases: Iterable[str], take: Callable[[str], object]) -> None:
    """Take several ways out side by side: each waits most of its time."""

    def one(case: str) -> str:
        try:
            take(case)
        except Exception as error:
            return f"{case}: {type(error).__name__}: {error}"
        return ""

    with ThreadPoolExecutor(AT_ONCE) as several:
        found = list(filter(None, several.map(one, cases)))
    assert found == [], "\n".join(found)
