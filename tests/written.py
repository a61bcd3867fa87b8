"""What the tests of the drop-in writer write with it, and read back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from agent_wrap.dialog_writer import DialogWriter
from agent_wrap.validate import check

PATH = os.pathsep.join(sys.path)


def begun(dialog: DialogWriter) -> DialogWriter:
    dialog.init(task="T", cwd="/w", model="M", agent="A")
    dialog.prompt("P")
    return dialog


def entries_of(dialog: DialogWriter) -> list[dict[str, Any]]:
    """Read what is on disk; finished, it breaks no rule."""
    data = dialog.log_path.read_bytes()
    entries = [json.loads(line) for line in data.splitlines()]
    if any(entry["type"] == "complete" for entry in entries):
        assert check(data) == []
    return entries


def short(entries: list[dict[str, Any]]) -> list[str]:
    return [
        f"{e['status']} {e['tool_id']} {e['name']}"
        if e["type"] == "tool"
        else e["type"]
        for e in entries
    ]


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run an agent of a few lines in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": PATH, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
