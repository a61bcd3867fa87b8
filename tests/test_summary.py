"""`summary.json`: every key is there and tells the truth."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import pytest

from agent_wrap import __version__

from .harness import Run, child, run, scripted

KEYS = {
    *("version", "status", "exit_code", "agent_exit", "reason", "message", "task"),
    *("cwd", "model", "agent", "adapter", "agent_version", "wrapper_version"),
    *("command", "started_at", "ended_at", "duration_ms", "first_output_ms"),
    *("last_progress_ms", "turns", "tokens", "reported", "cost_usd", "tools"),
    *("lines", "unknown_events", "entries", "entries_lost", "fields_cut"),
    *("redactions", "resources", "killed", "notes"),
}
"""What docs/command-line.md lists."""

CLAUDE = ("--adapter", "claude-code")


def test_a_full_run(tmp_path: Path) -> None:
    steps = (
        *("init", "text=Hi", "tool=t1", "done=t1", "tool=t2", "failed=t2", "tool=t3"),
        *('event={"type": "brand_new"}', 'event={"type": "brand_new"}', "event=noise"),
        *("event=", "sleep=0.2", "text=Bye", "result", "err=note"),
    )
    command = scripted(*steps)
    with Run(tmp_path, command, *CLAUDE, "--task", "CVE-1", "--model", "m") as started:
        started.end()
    told = started.summary
    assert KEYS - told.keys() == set()
    assert told["version"] == 1
    assert (told["status"], told["exit_code"], told["reason"]) == (
        "success",
        0,
        "completed",
    )
    assert told["agent_exit"] == {"code": 0, "signal": None}
    assert told["message"] == ""
    assert (told["task"], told["model"], told["agent"]) == ("CVE-1", "m", "claude-code")
    assert told["cwd"] == str(started.folder)
    assert told["adapter"] == {
        "name": "claude-code",
        "version": __version__,
        "detected_by": "option",
    }
    assert told["agent_version"] == "2.1.332"
    assert told["session_id"] == "s-1"
    assert told["wrapper_version"] == __version__
    assert told["command"] == command
    begun = datetime.fromisoformat(told["started_at"])
    ended = datetime.fromisoformat(told["ended_at"])
    assert begun.utcoffset() is not None
    lasted = (ended - begun).total_seconds() * 1000
    assert abs(lasted - told["duration_ms"]) < 2
    assert 200 <= told["duration_ms"] <= started.seconds * 1000
    assert 0 < told["first_output_ms"] <= told["last_progress_ms"]
    assert told["last_progress_ms"] >= 200
    assert told["last_progress_ms"] <= told["duration_ms"]
    assert told["turns"] == 5
    assert told["tokens"] == {
        "in": 50,
        "out": 25,
        "input": 50,
        "cached": 0,
        "cache_written": 0,
        "output": 25,
        "reasoning": 0,
    }
    assert told["reported"] == {"in": 50, "out": 25, "turns": 5}
    assert told["cost_usd"] is None
    assert told["tools"] == {
        "started": 3,
        "success": 1,
        "error": 1,
        "closed_by_wrapper": 1,
    }
    assert told["lines"] == {
        "read": 13,
        "mapped": 9,
        "ignored": 1,
        "unknown": 2,
        "unparsable": 1,
    }
    assert told["unknown_events"] == {"brand_new": 2}
    assert told["entries"] == len(started.entries)
    assert (told["entries_lost"], told["fields_cut"], told["redactions"]) == (0, 0, 0)
    assert told["resources"]["cpu_s"] > 0
    assert set(told["resources"]) == {
        *("cpu_s", "peak_rss_bytes", "peak_processes", "samples")
    }
    assert told["killed"] == []


def test_what_is_not_known(tmp_path: Path) -> None:
    told = run(tmp_path, scripted("exit=3")).summary
    assert KEYS - told.keys() == set()
    assert (told["task"], told["model"]) == ("unknown", "unknown")
    assert told["first_output_ms"] is None
    assert told["last_progress_ms"] is None
    assert told["reported"] == {"in": None, "out": None, "turns": None}
    assert told["lines"]["read"] == 0
    assert told["agent_version"] == ""


def test_a_command_that_never_ran(tmp_path: Path) -> None:
    told = run(tmp_path, ["no-such-agent", "word"]).summary
    assert KEYS - told.keys() == set()
    assert told["command"] == ["no-such-agent", "word"]
    assert told["agent_exit"] == {"code": None, "signal": None}
    assert told["resources"]["peak_processes"] == 0


def test_the_command_is_the_one_that_ran(tmp_path: Path) -> None:
    """Also where it was changed: a reader must be able to repeat it."""
    told = run(tmp_path, child("inside", "{prompt}"), "--prompt", "do it").summary
    assert told["command"][-1] == "do it"


def test_a_difference_of_tokens_is_said(tmp_path: Path) -> None:
    usage = (
        '{"seq":%d,"ts":"x","type":"message","role":"assistant","content":"a",'
        '"tokens":{"in":10,"out":5}}'
    )
    end = (
        '{"seq":3,"ts":"x","type":"complete","status":"success","turns":9,'
        '"duration_ms":1,"total_tokens":{"in":7,"out":7}}'
    )
    init = (
        '{"seq":0,"ts":"x","type":"init","data":'
        '{"task":"t","cwd":"/","model":"m","agent":"a"}}'
    )
    steps = [f"event={line}" for line in (init, usage % 1, usage % 2, end)]
    told = run(tmp_path, scripted(*steps)).summary
    assert told["adapter"]["name"] == "dialog"
    assert told["reported"] == {"in": 7, "out": 7, "turns": 9}
    assert told["turns"] == 2
    assert any("10 out" in note and "7 in" in note for note in told["notes"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_it_used(tmp_path: Path) -> None:
    """A child of the agent counts, and so does what has ended already."""
    code = (
        "import time; x = bytearray(60_000_000)\n"
        "while time.process_time() < 0.4: pass\n"
        "time.sleep(0.9)"
    )
    command = ["sh", "-c", f"{sys.executable} -S -c '{code}'; true"]
    told = run(tmp_path, command).summary["resources"]
    assert 0.3 <= told["cpu_s"] < 5
    assert told["peak_rss_bytes"] > 60_000_000
    assert told["peak_processes"] >= 2
    *looks, end = told["samples"]
    assert end[1:] == [told["cpu_s"], 0, 0]
    assert max(look[2] for look in looks) > 60_000_000
    assert [look[0] for look in looks] == sorted({look[0] for look in looks})
    assert 0 < looks[-1][0] <= end[0]
