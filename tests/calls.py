"""What the tests give to a run that they start from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_wrap.validate import check

from .harness import MARK, environment, marked

GOOD = ("init", "text=Hi", "tool=t1", "done=t1", "result")
HANG = ("init", "text=Hi", "tool=t1", "sleep=60")


class Place:
    """An archive and an environment with a mark: what a call is given."""

    def __init__(self, folder: Path) -> None:
        self.archive = folder / "archive"
        self.env = environment(self.archive)
        self.options: dict[str, Any] = {
            "env": self.env,
            "archive": str(self.archive),
            "adapter": "claude-code",
        }

    def types(self) -> list[str]:
        lines = (self.archive / "dialog.jsonl").read_bytes()
        assert [problem for problem in check(lines) if not problem.warning] == []
        return [json.loads(line)["type"] for line in lines.splitlines()]

    def output(self) -> bool:
        """Has the agent printed anything?"""
        path = self.archive / "stdout.log"
        return path.exists() and bool(path.stat().st_size)

    def alive(self) -> dict[int, str]:
        return marked(self.env[MARK])
