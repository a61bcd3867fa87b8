"""Pi under the wrapper: what is true of it alone."""

from __future__ import annotations

import os
import signal

import pytest

from .agents import PI
from .conftest import Prepare
from .harness import Run

pytestmark = pytest.mark.live


def test_cost_is_the_agents_own(pi: Prepare) -> None:
    run = pi("tool_ok").run(PI.command)

    assert run.summary["cost_usd"] == pytest.approx((2001 + 2 * 201) / 1e6)


def test_killed_in_the_middle_of_a_tool(pi: Prepare) -> None:
    """Its tool's process, in a session of its own, is gone with it."""
    run = pi("long_tool").start(PI.command)
    run.wait_for_tool("sleep 60")
    os.kill(agent_of(run), signal.SIGKILL)
    run.wait()

    assert run.outcome() == PI.cut_off("error", 137)
    assert run.problems() == []
    assert run.summary["reason"] == "agent_killed"


def agent_of(run: Run) -> int:
    """Give the process of Pi itself: it calls itself by its name."""
    (pid,) = [pid for pid, words in run.alive().items() if words.split()[0] == "pi"]
    return pid
