"""How long a run may take and what it may use: each limit, and what stops a clock."""

from __future__ import annotations

from pathlib import Path

from .harness import (
    SOON,
    child,
    in_one_of_few,
    run,
    run_all,
    scripted,
)
from .whole_runs import CLAUDE, GOOD, HANG, outcome

LIMITS = ("--timeout", "1", "--kill-grace", "0.2", "--echo", "none")


def test_limits_of_time(tmp_path: Path) -> None:
    quick = (*CLAUDE, "--kill-grace", "0.3")
    done = run_all(
        tmp_path,
        {
            "wall": (scripted("init", "tool=t1", HANG), (*quick, "--timeout", "1.2")),
            "first": (scripted("tick=20"), (*quick, "--first-output-timeout", "0.5")),
            "idle": (
                scripted("init", "text=Hi", "tick=20"),
                (*quick, "--idle-timeout", "0.5"),
            ),
            "after a tool": (
                scripted("init", "tool=t1", "done=t1", "tick=20"),
                (*quick, "--idle-timeout", "0.5"),
            ),
            "closed stdout": (
                scripted("init", "close=1", "close=2", HANG),
                (*quick, "--timeout", "0.6"),
            ),
        },
    )
    assert outcome(done["wall"]) == ("timeout", 124, "timeout")
    assert "1.2 s" in done["wall"].complete["message"]
    tool = done["wall"].entries[-2]
    assert (tool["status"], tool["tool_id"]) == ("error", "t1")
    assert "timed out" in tool["error"]
    assert done["wall"].summary["tools"]["closed_by_wrapper"] == 1
    assert outcome(done["first"]) == ("timeout", 124, "first_output_timeout")
    assert outcome(done["idle"]) == ("timeout", 124, "idle_timeout")
    assert outcome(done["after a tool"]) == ("timeout", 124, "idle_timeout")
    assert outcome(done["closed stdout"]) == ("timeout", 124, "timeout")
    for each in done.values():
        assert each.seconds < SOON


def test_clocks_that_must_stand_still(tmp_path: Path) -> None:
    # Generous: the start of an interpreter on a busy machine counts as idle, too.
    idle = (*CLAUDE, "--idle-timeout", "2")
    tool = ("init", "tool=t1", "sleep=2.4", "done=t1", "text=Hi", "result")
    steady = ("init", *("text=on", "sleep=0.2") * 12, "result")
    done = run_all(
        tmp_path,
        {
            "a tool is open": (scripted(*tool), idle),
            "progress": (scripted(*steady), idle),
            "output came": (
                scripted("init", "sleep=2.4", "result"),
                (*CLAUDE, "--first-output-timeout", "2"),
            ),
        },
    )
    for name, each in done.items():
        assert (name, *outcome(each)) == (name, "success", 0, "completed")


def test_an_agent_that_hangs_after_its_end_has_succeeded(tmp_path: Path) -> None:
    done = run_all(
        tmp_path,
        {
            "result grace": (scripted(*GOOD, HANG), (*CLAUDE, "--result-grace", "0.3")),
            "wall clock": (scripted(*GOOD, HANG), (*CLAUDE, "--timeout", "2.5")),
            "bad end": (
                scripted("init", "error=no", HANG),
                (*CLAUDE, "--result-grace", "0.3"),
            ),
            "no grace": (scripted(*GOOD, HANG), (*CLAUDE, "--result-grace", "0")),
            "idle": (
                scripted(*GOOD, HANG),
                (*CLAUDE, "--idle-timeout", "2", "--result-grace", "2.3"),
            ),
        },
    )
    bad = done.pop("bad end")
    assert outcome(bad) == ("error", 1, "agent_error")
    for name, each in done.items():
        assert (name, *outcome(each)) == (name, "success", 0, "completed")
        assert each.seconds < SOON
        assert each.summary["agent_exit"] == {"code": None, "signal": "SIGTERM"}


def test_what_comes_after_a_limit_is_kept_and_decides_nothing(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        scripted("flush=last words", "init", "text=Hi", HANG),
        *CLAUDE,
        *("--timeout", "1.2"),
    )
    assert outcome(done) == ("timeout", 124, "timeout")
    assert done.messages == ["Hi", "last words"]
    assert done.summary["agent_exit"] == {"code": 0, "signal": None}


def test_the_containers_timeout_leaves_a_margin(tmp_path: Path) -> None:
    """SSEBench sends SIGKILL at TIMEOUT seconds: all must be over before."""
    started = in_one_of_few(
        lambda: run(tmp_path, child("stubborn_tree"), env={"TIMEOUT": "2"}),
        lambda done: done.seconds < 2,
    )
    assert outcome(started) == ("timeout", 124, "timeout")
    assert "limit of 1 s" in started.complete["message"]
    assert started.seconds < 2
    ignored = run_all(
        tmp_path,
        {
            "earlier": (scripted(HANG), ("--timeout", "0.3")),
        },
    )
    assert "0.3 s" in ignored["earlier"].complete["message"]


def test_a_flood_does_not_hold_up_the_clock(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        child("flood", 1, 10**12),
        *CLAUDE,
        *("--timeout", "0.5", "--echo", "none"),
    )
    assert outcome(done) == ("timeout", 124, "timeout")
    assert done.seconds < SOON


def test_a_flood_of_short_lines_does_not_hold_up_the_clock(tmp_path: Path) -> None:
    """Each line costs far more than its bytes: what is read at once must be little."""
    done = run_all(
        tmp_path,
        {
            line: (scripted("init", *["many=" + line] * 20, HANG), (*CLAUDE, *LIMITS))
            for line in ("", "x", "{}")
        },
    )
    for line, each in done.items():
        assert (line, *outcome(each)) == (line, "timeout", 124, "timeout")
        assert each.seconds < SOON, line


def test_waking_up_is_no_reason_to_live_on(tmp_path: Path) -> None:
    done = run(
        tmp_path, scripted(*GOOD, "init", HANG), *CLAUDE, "--result-grace", "0.3"
    )
    assert outcome(done) == ("success", 0, "completed")
    assert done.seconds < SOON


def test_a_skipped_line_is_told(tmp_path: Path) -> None:
    long = "text=" + "x" * 3000
    done = run(tmp_path, scripted("init", long), *CLAUDE, "--max-line-bytes", "2000")
    assert any("over the limit" in note for note in done.summary["notes"])


def test_limits_of_use(tmp_path: Path) -> None:
    talk = ("init", "text=1", "text=2", "text=3", "text=4", HANG)
    done = run_all(
        tmp_path,
        {
            "turns": (scripted(*talk), (*CLAUDE, "--max-turns", "2")),
            "tokens": (scripted(*talk), (*CLAUDE, "--max-tokens", "20")),
            "not exceeded": (
                scripted("init", "text=1", "text=2", "result"),
                (*CLAUDE, "--max-turns", "2", "--max-tokens", "30"),
            ),
        },
    )
    assert outcome(done["turns"]) == ("error", 1, "turn_limit")
    assert "more than 2 turns" in done["turns"].complete["message"]
    assert outcome(done["tokens"]) == ("error", 1, "token_limit")
    assert outcome(done["not exceeded"]) == ("success", 0, "completed")


def test_a_limit_of_tokens_for_an_agent_that_reports_none(tmp_path: Path) -> None:
    """A limit that cannot be kept is said once, and loudly."""
    done = run(tmp_path, scripted(r"raw=text only\n\nmore\n"), "--max-tokens", "5")
    said = [line for line in done.stderr.splitlines() if "max-tokens" in line]
    assert len(said) == 1
