"""One wrapped run of a real agent: what every run must show, and more.

Owns the way from a command to comparable facts. The tests say what the facts must be.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import harness

SUMMARY_KEYS = {
    *("version", "status", "exit_code", "agent_exit", "reason", "message", "task"),
    *("cwd", "model", "agent", "adapter", "agent_version", "wrapper_version"),
    *("command", "started_at", "ended_at", "duration_ms", "first_output_ms"),
    *("last_progress_ms", "turns", "tokens", "reported", "cost_usd", "tools"),
    *("lines", "unknown_events", "entries", "entries_lost", "fields_cut"),
    *("redactions", "resources", "killed", "notes"),
}


@dataclass(frozen=True)
class Outcome:
    """What the dialog says about a run, in the form that tests state."""

    status: str
    code: int
    turns: int
    tokens: tuple[int, int]
    messages: list[str]
    tools: list[tuple[str, str]] = field(default_factory=list)


class Run(harness.Run):
    """A run of a real agent, which may be slow to start."""

    patience = 60.0

    def wait_for_tool(self, command: str) -> None:
        """Wait until the dialog shows a running tool and its process exists."""
        self.until(lambda: "running" in self.tool_states(), "a running tool")
        self.wait_for_process(command)

    def wait_for_process(self, command: str) -> None:
        """Wait until a process of the run has a command in its words."""
        self.until(lambda: any(command in c for c in self.alive().values()), command)

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The entries of one type."""
        return [entry for entry in self.entries if entry["type"] == kind]

    def tool_states(self) -> list[str]:
        """Status of each tool, in the order of their starts; `running` when open."""
        return [status for _, status in self._tools()]

    def _tools(self) -> list[tuple[str, str]]:
        tools: dict[str, tuple[str, str]] = {}
        for entry in self.of_type("tool"):
            tools[entry["tool_id"]] = (entry["name"], entry["status"])
        return list(tools.values())

    def outcome(self) -> Outcome:
        """What the dialog says, and the exit code that the caller saw."""
        end = self.complete
        return Outcome(
            status=end["status"],
            code=self.process.returncode,
            turns=end["turns"],
            tokens=(end["total_tokens"]["in"], end["total_tokens"]["out"]),
            messages=self.messages,
            tools=self._tools(),
        )

    def problems(self) -> list[str]:
        """Everything that must not be, in any run: one line each."""
        if found := super().problems():
            return found
        summary = self.summary
        found = [f"summary lacks {key}" for key in SUMMARY_KEYS - summary.keys()]
        pairs = {
            "unknown events": (summary["unknown_events"], {}),
            "unknown lines": (summary["lines"]["unknown"], 0),
            "unparsable lines": (summary["lines"]["unparsable"], 0),
            "tools started": (summary["tools"]["started"], len(self.tool_states())),
        }
        found += [
            f"summary.json: {name} is {said!r}, expected {true!r}"
            for name, (said, true) in pairs.items()
            if said != true
        ]
        if self.raw != self.stdout:
            found.append("stdout is not the agent's, byte for byte")
        return found


@dataclass
class Bench:
    """A throw-away place to run an agent in."""

    folder: Path
    programs: str
    variables: dict[str, str]
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.work = self.folder / "work"
        self.home.mkdir()
        self.work.mkdir()

    def start(
        self,
        command: Sequence[str],
        *options: str,
        variables: Mapping[str, str] | None = None,
    ) -> Run:
        """Start `agent-wrap OPTIONS -- COMMAND` as a caller would."""
        environment = {
            "PATH": os.pathsep.join((self.programs, os.environ["PATH"])),
            "HOME": str(self.home),
            **self.variables,
            **(variables or {}),
        }
        run = Run(self.folder, command, *options, env=environment, cwd=self.work)
        self.runs.append(run)
        return run

    def run(
        self,
        command: Sequence[str],
        *options: str,
        variables: Mapping[str, str] | None = None,
    ) -> Run:
        """Start a run and wait for its end."""
        run = self.start(command, *options, variables=variables)
        run.wait()
        return run

    def close(self) -> None:
        """End what is left of the runs."""
        for run in self.runs:
            run.kill()


def find_program(name: str) -> str | None:
    """Folder of an agent's program: the one named by the environment, else PATH."""
    named = os.environ.get("AGENT_WRAP_LIVE_BIN")
    path = os.pathsep.join(filter(None, (named, os.environ.get("PATH"))))
    found = shutil.which(name, path=path)
    return None if found is None else str(Path(found).parent)
