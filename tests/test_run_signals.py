"""A run that is told to stop: at any moment, twice, by whom ever."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from .harness import (
    SOON,
    Run,
    run,
    scripted,
)
from .whole_runs import CLAUDE, GOOD, HANG, STUBBORN, outcome


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_stop_signal(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with Run(tmp_path, scripted("init", "tool=t1", HANG), *CLAUDE) as started:
        started.until(lambda: "tool" in started.types, "a tool")
        started.stop(number)
        assert started.problems() == []
    assert outcome(started) == ("error", 128 + number, "stopped")
    assert name in started.complete["message"]
    assert "stopped" in started.entries[-2]["error"]


def test_a_stop_signal_to_the_whole_group(tmp_path: Path) -> None:
    """What `timeout(1)`, a terminal and most job runners do."""
    with Run(tmp_path, scripted("init", "text=Hi", HANG), *CLAUDE) as started:
        started.until_message("Hi")
        os.killpg(started.process.pid, signal.SIGINT)
        started.end()
    assert outcome(started) == ("error", 130, "stopped")


def test_a_stop_signal_after_the_end_changes_nothing(tmp_path: Path) -> None:
    with Run(tmp_path, scripted(*GOOD, HANG), *CLAUDE) as started:
        # The final event leaves no entry; what is read is kept and understood at once.
        started.until(lambda: b'"type": "result"' in started.raw, "the end")
        started.stop()
        assert started.problems() == []
    assert outcome(started) == ("success", 0, "completed")


def test_a_limit_then_a_signal_is_the_limit(tmp_path: Path) -> None:
    options = ("--timeout", "1", "--kill-grace", "20")
    with Run(tmp_path, STUBBORN, *options) as started:
        started.until((started.folder / "told").exists, "SIGTERM")
        started.stop()
        assert started.problems() == []
    assert outcome(started) == ("timeout", 124, "timeout")
    assert started.seconds < SOON


def test_a_second_signal_hurries(tmp_path: Path) -> None:
    with Run(tmp_path, STUBBORN, "--kill-grace", "20") as started:
        started.until(lambda: started.raw, "output")
        begun = time.monotonic()
        started.process.send_signal(signal.SIGTERM)
        started.until((started.folder / "told").exists, "SIGTERM")
        started.stop(signal.SIGINT)
        assert time.monotonic() - begun < SOON
        assert started.problems() == []
    assert outcome(started) == ("error", 143, "stopped")
    assert {kill["signal"] for kill in started.summary["killed"]} == {"SIGKILL"}


def test_a_signal_at_any_moment_of_the_start(tmp_path: Path) -> None:
    """Before our first line there is no run; after it there is a whole dialog."""
    whole = 0
    late = (0.3, 1.0, 3.0)
    for delays in ((0.0, 0.01, 0.02, 0.04), (0.06, 0.08, 0.1, 0.15), late):
        if delays is late and whole:  # it is for a busy machine
            break
        started = [Run(tmp_path, scripted("init", HANG), *CLAUDE) for _ in delays]
        for delay, each in zip(delays, started, strict=True):
            time.sleep(max(each.started + delay - time.monotonic(), 0))
            each.process.send_signal(signal.SIGTERM)
        for each in started:
            with each:
                code = each.wait()
                assert each.alive() == {}
                if each.archive.exists() or code > 0:
                    assert code == 143
                    assert each.problems() == []
                    whole += 1
                else:
                    assert code == -signal.SIGTERM
    assert whole


def test_a_signal_that_the_caller_ignores(tmp_path: Path) -> None:
    """`nohup agent-wrap ...` must survive the end of its terminal."""

    def prepare() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    steps = ("init", "text=Hi", "until=go", "result")
    with Run(tmp_path, scripted(*steps), *CLAUDE, prepare=prepare) as started:
        started.until_message("Hi")
        started.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)  # that nothing happens cannot be waited on
        (started.folder / "go").touch()
        started.end()
    assert outcome(started) == ("success", 0, "completed")


def test_a_caller_that_ignores_sigterm_can_stop_the_run(tmp_path: Path) -> None:
    def prepare() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with Run(
        tmp_path, scripted("init", "text=Hi", HANG), *CLAUDE, prepare=prepare
    ) as r:
        r.until_message("Hi")
        r.process.send_signal(signal.SIGTERM)
        r.end()
    assert outcome(r) == ("error", 143, "stopped")
    assert r.seconds < SOON


def test_an_agent_that_kills_its_parent_stops_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, scripted("init", "text=Hi", "parent=SIGTERM", HANG), *CLAUDE)
    assert outcome(done) == ("error", 143, "stopped")
