"""Runs of agents that are spoken to: prompt, permissions, the gentle way to stop."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from .harness import Run, child, run

ACP = ("--adapter", "acp", "--prompt", "Say hi")


def agent(part: str) -> list[str]:
    return child("acp_agent", part)


class TestRuns:
    def test_the_prompt(self, tmp_path: Path) -> None:
        ended = run(tmp_path, agent("answer"), *ACP)
        assert ended.code == 0
        assert ended.messages == ["asked: Say hi"]
        assert ended.summary["agent"] == "answer"

    @pytest.mark.parametrize("via", ["stdin", "auto"])
    def test_its_stdin_speaks_the_protocol_only(self, tmp_path: Path, via: str) -> None:
        ended = run(tmp_path, agent("answer"), *ACP, "--prompt-via", via)
        assert (ended.code, ended.messages) == (0, ["asked: Say hi"])

    @pytest.mark.parametrize(
        ("policy", "said", "status"),
        [("allow", "decided: yes", "success"), ("deny", "decided: no", "error")],
    )
    def test_permission(
        self, tmp_path: Path, policy: str, said: str, status: str
    ) -> None:
        ended = run(tmp_path, agent("ask"), *ACP, "--permissions", policy)
        assert ended.code == 0
        assert ended.messages == [said]
        tools = [e for e in ended.entries if e["type"] == "tool"]
        assert [t["status"] for t in tools] == ["running", status]

    @pytest.mark.parametrize("part", ["ask", "deaf", "mute"])
    def test_permission_ends_the_run(self, tmp_path: Path, part: str) -> None:
        """Whether the agent listens or not."""
        options = ("--permissions", "fail", "--kill-grace", "1")
        ended = run(tmp_path, agent(part), *ACP, *options)
        assert ended.code == 1
        assert ended.complete["status"] == "error"
        assert ended.complete["message"] == "the agent asked for permission: rm"
        assert ended.summary["reason"] == "permission"
        tools = [e for e in ended.entries if e["type"] == "tool"]
        assert [t["status"] for t in tools] == ["running", "error"]

    def test_asked_the_gentle_way_first(self, tmp_path: Path) -> None:
        """The agent has said how its tool ended before its input does."""
        with Run(tmp_path, agent("stay"), *ACP) as stopped:
            stopped.until(lambda: b"t1" in stopped.raw, "a tool")
            stopped.stop(signal.SIGTERM)
            assert stopped.problems() == []
            assert stopped.code == 143
            assert stopped.summary["agent_exit"] == {"code": 0, "signal": None}
            assert stopped.entries[-2]["error"] == "stopped"
            assert b'"cancelled"' in stopped.raw

    def test_then_the_other_way(self, tmp_path: Path) -> None:
        with Run(tmp_path, agent("stubborn"), *ACP, "--kill-grace", "1") as stopped:
            stopped.until(lambda: b"t1" in stopped.raw, "a tool")
            since = time.monotonic()
            stopped.stop(signal.SIGTERM)
            assert time.monotonic() - since < 10
            assert stopped.problems() == []
            assert (stopped.code, stopped.alive()) == (143, {})

    def test_out_of_time(self, tmp_path: Path) -> None:
        ended = run(tmp_path, agent("stay"), *ACP, "--timeout", "2")
        assert ended.code == 124
        assert ended.summary["agent_exit"] == {"code": 0, "signal": None}

    def test_an_end_before_the_beginning(self, tmp_path: Path) -> None:
        ended = run(tmp_path, agent("early"), *ACP)
        assert (ended.code, ended.complete["status"]) == (0, "success")

    def test_without_a_prompt(self, tmp_path: Path) -> None:
        """It is asked nothing: its input ends at once, and the dialog says why."""
        ended = run(tmp_path, agent("answer"), "--adapter", "acp")
        assert ended.complete["status"] == "error"
        assert "no prompt was given" in ended.complete["message"]
        assert ended.summary["agent_exit"] == {"code": 9, "signal": None}
