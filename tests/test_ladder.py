"""The way down: gently, then surely, and nothing is left on any way out."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_wrap import process
from agent_wrap.ladder import Ladder

from .harness import SOON, child, in_one_of_few, run, run_all, scripted

# With real processes


def test_sigterm_then_sigkill_for_a_whole_tree(tmp_path: Path) -> None:
    options = ("--timeout", "1", "--kill-grace", "0.4")
    done = run(tmp_path, child("stubborn_tree"), *options)
    assert done.code == 124
    assert 1.4 <= done.seconds < SOON
    assert done.messages == ["all four are there"]
    killed = done.summary["killed"]
    assert len(killed) == 5
    assert {kill["signal"] for kill in killed} == {"SIGKILL"}
    assert {kill["name"][:6] for kill in killed} == {"python"}
    assert done.summary["agent_exit"] == {"code": None, "signal": "SIGKILL"}


def test_an_agent_that_obeys_is_not_made_to_wait(tmp_path: Path) -> None:
    done = run(
        tmp_path, scripted("sleep=60"), *("--timeout", "0.5", "--kill-grace", "20")
    )
    assert done.seconds < SOON
    assert done.summary["killed"] == []
    assert done.summary["agent_exit"]["signal"] == "SIGTERM"


def test_sigterm_reaches_the_agents_group(tmp_path: Path) -> None:
    """A shell waits for its child: the child has to get the signal, too."""
    command = ["sh", "-c", "sleep 60; echo done"]
    done = run(tmp_path, command, "--timeout", "0.4", "--kill-grace", "20")
    assert done.seconds < SOON


def test_daemons_end_with_the_run(tmp_path: Path) -> None:
    quick = ("--drain-grace", "0.3")
    words: dict[str, tuple[str, ...]] = {
        "stubborn": ("--stubborn",),
        "holding it stubbornly": ("--hold", "--stubborn"),
        "respawning": ("--stubborn", "--respawn"),
        "writing on": ("--chatty", "--stubborn"),
    }
    done = run_all(
        tmp_path,
        {name: (child("daemon", *those), quick) for name, those in words.items()},
    )
    for name, each in done.items():
        assert (name, each.code) == (name, 0)
        assert each.complete["status"] == "success"
        assert "left a daemon" in "\n".join(each.messages)
        assert each.seconds < SOON
        assert each.summary["killed"]
    assert any("still here" in said for said in done["writing on"].messages)


@pytest.mark.parametrize("words", [(), ("--hold",)], ids=["detached", "holding stdout"])
def test_a_daemon_that_obeys_is_not_killed(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = in_one_of_few(  # it has 50 ms
        lambda: run(tmp_path, child("daemon", *words), "--drain-grace", "0.3"),
        lambda done: not done.summary["killed"],
    )
    assert (done.code, done.complete["status"]) == (0, "success")
    assert "left a daemon" in "\n".join(done.messages)
    assert done.seconds < SOON
    assert done.summary["killed"] == []


def test_what_a_helper_still_says_is_kept(tmp_path: Path) -> None:
    """A launcher may be gone before the agent that it started has said its last."""
    done = run(tmp_path, child("daemon", "--late"), "--drain-grace", "20")
    assert "said late" in "\n".join(done.messages)
    assert done.seconds < SOON  # it ends: nothing waits for the rest of the grace


def test_daemons_end_when_the_agent_cannot_be_told(tmp_path: Path) -> None:
    """A stopped process takes no SIGTERM; only SIGKILL ends it."""
    command = ["sh", "-c", "echo stopping; kill -STOP $$; echo never"]
    done = run(tmp_path, command, "--timeout", "0.6", "--kill-grace", "0.2")
    assert done.code == 124
    assert done.messages == ["stopping"]


def test_zero_graces(tmp_path: Path) -> None:
    none = ("--kill-grace", "0", "--drain-grace", "0", "--result-grace", "0")
    good = ("init", "text=Hi", "result")
    done = run_all(
        tmp_path,
        {
            "limit": (child("stubborn_tree"), (*none, "--timeout", "0.5")),
            "good": (scripted(*good), none),
            "large": (child("flood", 1, 900_000), none),
        },
    )
    assert done["limit"].code == 124
    assert done["good"].code == 0
    assert done["good"].messages == ["Hi"]
    assert done["large"].messages[-1] == "flood over"


# The waiting itself

GRACE = 0.1


class FakeAgent(process.Agent):
    """Takes note of signals; `on_signal` is what it does then."""

    def __init__(self) -> None:
        super().__init__(0, -1, -1, -1)
        self.got: list[int] = []
        self.on_signal: Callable[[], None] = lambda: None

    def signal_group(self, number: int) -> None:
        self.got.append(number)
        self.on_signal()


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace the signalling of real processes; gives the signals."""
    sent: list[int] = []

    def signal_descendants(root: int, number: int) -> list[int]:
        assert root == os.getpid()
        sent.append(number)
        return [4_000_000]

    monkeypatch.setattr(process, "signal_descendants", signal_descendants)
    monkeypatch.setattr(process, "descendants", lambda root: [])
    return sent


def make(agent: FakeAgent, **how: Any) -> tuple[Ladder, anyio.Event]:
    drained = anyio.Event()
    given = {"kill_grace": GRACE, "drain_grace": GRACE, **how}
    return Ladder(agent, lambda: None, drained=drained, **given), drained


async def test_an_agent_that_is_gone_gets_no_signal(killed: list[int]) -> None:
    agent = FakeAgent()
    ladder, _ = make(agent)
    ladder.gone.set()
    await ladder.end_agent()
    assert (agent.got, killed) == ([], [])


async def test_the_grace_ends_with_the_agent(killed: list[int]) -> None:
    agent = FakeAgent()
    ladder, drained = make(agent, kill_grace=20, drain_grace=20)

    def obey() -> None:
        ladder.gone.set()
        drained.set()

    agent.on_signal = obey
    begun = time.monotonic()
    await ladder.end_agent()
    assert time.monotonic() - begun < SOON
    assert (agent.got, killed) == ([signal.SIGTERM], [])


async def test_the_drain_grace_bounds_the_wait_for_the_streams(
    killed: list[int],
) -> None:
    agent = FakeAgent()
    ladder, _ = make(agent, kill_grace=20)
    agent.on_signal = ladder.gone.set
    begun = time.monotonic()
    await ladder.end_agent()
    await ladder.drain()
    assert 2 * GRACE <= time.monotonic() - begun < SOON
    assert killed == []


async def test_a_hurry_shortens_every_wait(
    killed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_wrap.ladder.SECOND_SIGNAL_GRACE", GRACE)
    monkeypatch.setattr("agent_wrap.ladder.PATIENCE", GRACE)
    agent = FakeAgent()
    ladder, _ = make(agent, kill_grace=20, drain_grace=20)
    begun = time.monotonic()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ladder.end_agent)
        await anyio.wait_all_tasks_blocked()
        ladder.hurry.set()
    await ladder.drain()
    assert time.monotonic() - begun < SOON
    assert (agent.got, killed) == ([signal.SIGTERM], [signal.SIGKILL])
    assert ladder.killed == [{"pid": 4_000_000, "name": "", "signal": "SIGKILL"}]


async def test_a_process_is_noted_once(
    killed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_wrap.ladder.PATIENCE", GRACE)
    monkeypatch.setattr("agent_wrap.ladder.LAST_READ", 0)
    left = [[1], [1], [1], []]
    monkeypatch.setattr(
        process, "descendants", lambda root: left.pop() if left[1:] else []
    )
    ladder, _ = make(FakeAgent())
    ladder.gone.set()
    await ladder.sweep()
    assert len(ladder.killed) <= 1
    assert killed[0] == signal.SIGTERM
