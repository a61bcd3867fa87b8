"""What others do the job with: sides for the packages that are installed beside us.

    pip install ssebench claude-agent-sdk atif-make con-duct     (Python 3.12 or newer)

They know the agent as `claude`, so it is given as a program that runs ours.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

from .measure import AGENT, HERE, PYTHON, Side

SCRIPTS = HERE / "peer_programs"


def installed() -> dict[str, Side]:
    """Give the peers that this Python has, by name."""
    return {name: side for name, (package, side) in _ALL.items() if _has(package)}


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _program(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    return found or name


def _as_claude(folder: Path, agent: list[str]) -> str:
    """Make a program that runs the measured agent whatever its arguments are."""
    program = folder / "claude"
    given = json.dumps(agent[len(AGENT) :])
    program.write_text(
        f"#!/bin/sh\nBENCHMARK_AGENT='{given}' exec {' '.join(AGENT)} \"$@\"\n"
    )
    program.chmod(0o755)
    return str(program)


def canonical(folder: Path, agent: list[str]) -> list[str]:
    """The wrapper for Claude Code that SSEBench carries, without its daemon."""
    script = str(SCRIPTS / "canonical.py")
    return [PYTHON, script, str(folder), _as_claude(folder, agent)]


def sdk(folder: Path, agent: list[str]) -> list[str]:
    """A loop over the messages of Claude's SDK for agents."""
    script = str(SCRIPTS / "sdk.py")
    return [PYTHON, script, str(folder), _as_claude(folder, agent)]


def atif_make(folder: Path, agent: list[str]) -> list[str]:
    """A converter of the whole file, once it is there: no agent runs."""
    stream, spent = agent[len(AGENT) : len(AGENT) + 2]
    words = [_program("atif-make"), "convert", "-q", "-f", "claude-code-stream"]
    out = str(folder / "trajectory.json")
    convert = [*words, "-o", out, stream]
    return ["sh", "-c", 'echo 0 >"$0"; exec "$@"', spent, *convert]


def con_duct(folder: Path, agent: list[str]) -> list[str]:
    """A recorder of output and resources that reads no stream."""
    return [_program("con-duct"), "run", "-p", f"{folder}/duct_", *agent]


_ALL: dict[str, tuple[str, Side]] = {
    "canonical wrapper": ("ssebench", canonical),
    "SDK": ("claude_agent_sdk", sdk),
    "atif-make": ("atif_make", atif_make),
    "con-duct": ("con_duct", con_duct),
}
