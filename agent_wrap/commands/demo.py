"""`agent-wrap demo`: a scripted agent run for real, and what comes out of it.

No network and no key: the agent is a small Python program (`demo_agent`), wrapped
like any other one, in a folder of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from agent_wrap.commands.validate import main as validate

FOLDER = "agent-wrap-demo"


def main(argv: Sequence[str]) -> int:
    """Run the demo; give 0 when its dialog conforms."""
    parser = argparse.ArgumentParser(
        prog="agent-wrap demo",
        description="Run a built-in scripted agent and show what comes out. Needs no "
        "network and no key.",
    )
    parser.add_argument("--archive", metavar="DIR", default=FOLDER)
    archive = parser.parse_args(list(argv)).archive
    command = [
        *(sys.executable, "-P", "-m", "agent_wrap"),
        *("--archive", archive, "--task", "demo", "--model", "scripted"),
        *("--agent", "demo", "--adapter", "dialog", "--echo", "pretty"),
        *("--prompt", "Make the failing test pass.", "--prompt-via", "none"),
        "--",
        *(sys.executable, "-P", "-m", "agent_wrap.commands.demo_agent"),
    ]
    print(f"$ agent-wrap --archive {archive} ... -- demo-agent\n", flush=True)
    code = subprocess.run(command, check=False).returncode
    if not os.path.isfile(os.path.join(archive, "dialog.jsonl")):
        return code or 1
    print(f"\nexit code {code}. What it left in {archive}/:")
    for name in sorted(os.listdir(archive)):
        size = os.path.getsize(os.path.join(archive, name))
        print(f"  {name:<14} {size:>7} bytes")
    print("\n$ agent-wrap validate", os.path.join(archive, "dialog.jsonl"), flush=True)
    checked = validate([os.path.join(archive, "dialog.jsonl")])
    print("\nNext: agent-wrap -- YOUR-AGENT ...   (agent-wrap adapters, --help)")
    return code or checked
