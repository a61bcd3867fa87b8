"""One wrapped run of a real agent: how it is started, and what it left behind.

Owns the way from a command to comparable facts. The tests say what the facts must be.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_wrap.validate import check

MARK = "LIVE_TEST_MARK"
"""Variable by which every process of a run is found, however far it strayed."""

SUMMARY_KEYS = {
    "version",
    "status",
    "exit_code",
    "agent_exit",
    "reason",
    "message",
    "task",
    "cwd",
    "model",
    "agent",
    "adapter",
    "agent_version",
    "wrapper_version",
    "command",
    "started_at",
    "ended_at",
    "duration_ms",
    "first_output_ms",
    "last_progress_ms",
    "turns",
    "tokens",
    "reported",
    "cost_usd",
    "tools",
    "lines",
    "unknown_events",
    "entries",
    "entries_lost",
    "fields_cut",
    "redactions",
    "resources",
    "killed",
    "notes",
}

PATIENCE = 60.0
"""Seconds that anything may take on a busy machine before it counts as hanging."""


@dataclass(frozen=True)
class Outcome:
    """What the dialog says about a run, in the form that tests state."""

    status: str
    code: int
    turns: int
    tokens: tuple[int, int]
    messages: list[str]
    tools: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Run:
    """A run that was started."""

    process: subprocess.Popen[bytes]
    mark: str
    folder: Path
    archive: Path

    def wait(self) -> None:
        """Wait for the wrapper's end; one that hangs fails the test."""
        self.process.wait(PATIENCE)

    def stop(self, signum: signal.Signals) -> None:
        """Send a signal to the wrapper alone and wait for its end."""
        self.process.send_signal(signum)
        self.wait()

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Poll a condition; a wrapper that ends before it holds fails the test."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            code = self.process.poll()
            assert code is None, f"exit {code} before {what}: {self.stderr}"
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(0.05)

    def wait_for_tool(self, command: str) -> None:
        """Wait until the dialog shows a running tool and its process exists."""
        self.wait_for(lambda: "running" in self.tool_states(), "a running tool")
        self.wait_for(
            lambda: any(command in line for line in self.alive().values()), command
        )

    @property
    def stdout(self) -> bytes:
        """What the wrapper wrote to its stdout."""
        return (self.folder / "stdout").read_bytes()

    @property
    def stderr(self) -> str:
        """What the wrapper wrote to its stderr."""
        return (self.folder / "stderr").read_text(errors="replace")

    @property
    def dialog(self) -> bytes:
        """The dialog as it is now."""
        path = self.archive / "dialog.jsonl"
        return path.read_bytes() if path.exists() else b""

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The whole lines of the dialog as it is now."""
        return [json.loads(line) for line in self.dialog.split(b"\n")[:-1]]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary; empty while there is none."""
        path = self.archive / "summary.json"
        return dict(json.loads(path.read_bytes())) if path.exists() else {}

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
        entries = self.entries
        assert entries, f"no dialog; exit {self.process.returncode}: {self.stderr}"
        end = entries[-1]
        assert end["type"] == "complete", f"no end: {end}; stderr: {self.stderr}"
        return Outcome(
            status=end["status"],
            code=self.process.returncode,
            turns=end["turns"],
            tokens=(end["total_tokens"]["in"], end["total_tokens"]["out"]),
            messages=[entry["content"] for entry in self.of_type("message")],
            tools=self._tools(),
        )

    def alive(self) -> dict[int, str]:
        """Command lines of the processes of this run that are alive now, by pid."""
        wanted = f"{MARK}={self.mark}".encode()
        found = {}
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                # A zombie's environment is empty, so only the living are found.
                environ = Path(entry.path, "environ").read_bytes()
                words = Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue  # ended meanwhile, or not ours to read
            if wanted in environ.split(b"\0"):
                found[int(entry.name)] = words.replace(b"\0", b" ").decode()
        return found

    def kill(self) -> None:
        """Leave nothing running, whatever the test found."""
        for pid in self.alive():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(PATIENCE)

    def problems(self) -> list[str]:
        """Everything that must not be, in any run: one line each."""
        found = [f"still alive: {line}" for line in self.alive().values()]
        found += [
            f"dialog: {problem}"
            for problem in check(self.dialog)
            if not problem.warning
        ]
        summary = self.summary
        found += [f"summary lacks {key}" for key in SUMMARY_KEYS - summary.keys()]
        if found:
            return found
        end = self.entries[-1]
        pairs = {
            "exit_code": (summary["exit_code"], self.process.returncode),
            "status": (summary["status"], end["status"]),
            "turns": (summary["turns"], end["turns"]),
            "in": (summary["tokens"]["in"], end["total_tokens"]["in"]),
            "out": (summary["tokens"]["out"], end["total_tokens"]["out"]),
            "entries": (summary["entries"], len(self.entries)),
            "unknown events": (summary["unknown_events"], {}),
            "unknown lines": (summary["lines"]["unknown"], 0),
            "unparsable lines": (summary["lines"]["unparsable"], 0),
            "tools started": (
                summary["tools"]["started"],
                len(self.tool_states()),
            ),
        }
        found += [
            f"summary.json: {name} is {said!r}, expected {true!r}"
            for name, (said, true) in pairs.items()
            if said != true
        ]
        if (self.archive / "stdout.log").read_bytes() != self.stdout:
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
        self.archive = self.folder / "archive"
        self.home.mkdir()
        self.work.mkdir()

    def start(
        self,
        command: Sequence[str],
        *options: str,
        variables: Mapping[str, str] | None = None,
    ) -> Run:
        """Start `agent-wrap OPTIONS -- COMMAND` as a caller would."""
        mark = uuid.uuid4().hex
        environment = {
            "PATH": os.pathsep.join((self.programs, os.environ["PATH"])),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "SSE_ARCHIVE": str(self.archive),
            MARK: mark,
            **self.variables,
            **(variables or {}),
        }
        wrapper = Path(sys.prefix, "bin", "agent-wrap")
        with (
            Path(self.folder, "stdout").open("wb") as stdout,
            Path(self.folder, "stderr").open("wb") as stderr,
        ):
            # Files, not pipes: a process that is left behind cannot hold up the test.
            process = subprocess.Popen(
                [str(wrapper), *options, "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                cwd=self.work,
                env=environment,
                start_new_session=True,
            )
        run = Run(process, mark, self.folder, self.archive)
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
