"""One run of the real program, and what it left: how every test of a run begins.

It alone knows how the executable is started, how a run's processes are found again
(a variable in their environment, however far they strayed), and what must hold at
the end of every run (`Run.problems`).
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from agent_wrap.validate import check

T = TypeVar("T")

MARK = "RUN_TEST_MARK"
PATIENCE = 20.0
"""Seconds that anything may take on a busy machine before it counts as hanging."""

SOON = 15.0
"""Seconds within which a run ends that does not wait for something of 20 or more."""

WRAPPER = str(Path(sys.prefix, "bin", "agent-wrap"))
CHILDREN = Path(__file__).parent / "children"
PYTHON = [sys.executable, "-E", "-S"]
"""Children need no site packages, and start twice as fast without."""


def child(name: str, *words: object) -> list[str]:
    """Give the command of one of the children."""
    return [*PYTHON, str(CHILDREN / f"{name}.py"), *map(str, words)]


def scripted(*steps: str) -> list[str]:
    """Give the command of the child that plays steps."""
    return child("scripted", *steps)


def wait_for(
    condition: Callable[[], object], what: str, patience: float = PATIENCE
) -> None:
    """Poll a condition, within patience."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)


def in_one_of_few(attempt: Callable[[], T], kept: Callable[[T], bool]) -> T:
    """Repeat what must be quick until it was; gives the last try.

    For promises of a second and less. A busy machine can break them, never keep them:
    one try that is quick shows as much as all.
    """
    for _ in range(4):
        if kept(tried := attempt()):
            return tried
    return attempt()


def environment(archive: object, **variables: str) -> dict[str, str]:
    """Give a small environment with a mark of its own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "SSE_ARCHIVE": str(archive),
        MARK: uuid.uuid4().hex,
        **variables,
    }


def marked(mark: str) -> dict[int, str]:
    """Give the living processes whose environment has the mark, with their command."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            # A zombie's environment is empty: only the living are found.
            if wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                words = Path(entry.path, "cmdline").read_bytes()
                found[int(entry.name)] = words.replace(b"\0", b" ").decode()
        except OSError:
            continue  # ended meanwhile, or not ours to read
    return found


class Run:
    """A run that was started; a context manager that leaves nothing running."""

    patience = PATIENCE

    def __init__(
        self,
        folder: Path,
        command: Sequence[str | bytes],
        *options: str | bytes,
        archive: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        cwd: Path | None = None,
        prepare: Callable[[], None] | None = None,
        under: Sequence[str] = (),
    ) -> None:
        self.folder = folder / f"run-{uuid.uuid4().hex[:8]}"
        self.folder.mkdir()
        self.archive = archive or self.folder / "archive"
        variables = environment(self.archive, **(env or {}))
        self.mark = variables[MARK]
        # Files, not pipes: a process that is left behind cannot hold up the test.
        with (
            (self.folder / "stdout").open("wb") as out,
            (self.folder / "stderr").open("wb") as err,
        ):
            self.started = time.monotonic()
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [*under, WRAPPER, *options, "--", *command],
                stdin=stdin,
                stdout=out if stdout is None else stdout,
                stderr=err if stderr is None else stderr,
                cwd=cwd or self.folder,
                env=variables,
                start_new_session=True,
                preexec_fn=prepare,
            )
        self.seconds = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def wait(self, patience: float | None = None) -> int:
        """Wait for the wrapper's end; give its exit code."""
        code = self.process.wait(patience or self.patience)
        self.seconds = time.monotonic() - self.started
        return code

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the wrapper alone and wait for its end."""
        self.process.send_signal(number)
        return self.wait()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Poll a condition; a wrapper that ends before it holds fails the test."""

        def holds() -> bool:
            code = self.process.poll()
            return bool(condition()) or self._ended(code, what)

        wait_for(holds, what, self.patience)

    def until_message(self, text: str) -> None:
        """Wait until the dialog has a message with a text in it."""
        self.until(lambda: any(text in said for said in self.messages), f"said {text}")

    def _ended(self, code: int | None, what: str) -> bool:
        assert code is None, f"exit {code} before {what}: {self.stderr}"
        return False

    @property
    def code(self) -> int | None:
        """The exit code, None while it runs."""
        return self.process.returncode

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
    def types(self) -> list[str]:
        """The entries' types, in order."""
        return [entry["type"] for entry in self.entries]

    @property
    def messages(self) -> list[str]:
        """What the messages say."""
        return [e["content"] for e in self.entries if e["type"] == "message"]

    @property
    def complete(self) -> dict[str, Any]:
        """The last entry."""
        last = self.entries[-1]
        assert last["type"] == "complete", f"no end: {last}; stderr: {self.stderr}"
        return last

    @property
    def summary(self) -> dict[str, Any]:
        """The summary."""
        return dict(json.loads((self.archive / "summary.json").read_bytes()))

    @property
    def raw(self) -> bytes:
        """The agent's stdout as it was kept; empty while there is none."""
        path = self.archive / "stdout.log"
        return path.read_bytes() if path.exists() else b""

    @property
    def told(self) -> dict[str, Any]:
        """What the child `inside` told."""
        return dict(json.loads(self.raw))

    def alive(self) -> dict[int, str]:
        """The processes of this run that are alive now."""
        return marked(self.mark)

    def kill(self) -> None:
        """Leave nothing running, whatever the test found."""
        if self.process.poll() is None:
            self.process.kill()
        for pid in self.alive():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(self.patience)

    def problems(self) -> list[str]:
        """What must not be at the end of any run that left a dialog."""
        found = [f"still alive: {line}" for line in self.alive().values()]
        found += [
            f"dialog: {problem}"
            for problem in check(self.dialog)
            if not problem.warning
        ]
        if found or not self.entries:
            return [*found, *([] if self.entries else [f"no dialog: {self.stderr}"])]
        summary, end = self.summary, self.complete
        tokens = end["total_tokens"]
        lines = dict(summary["lines"])
        pairs = {
            "exit_code": (summary["exit_code"], self.code),
            "status": (summary["status"], end["status"]),
            "message": (summary["message"], end.get("message", "")),
            "turns": (summary["turns"], end["turns"]),
            "duration": (summary["duration_ms"], end["duration_ms"]),
            "in": (summary["tokens"]["in"], tokens["in"]),
            "out": (summary["tokens"]["out"], tokens["out"]),
            "entries": (summary["entries"], len(self.entries)),
            "lines": (lines.pop("read"), sum(lines.values())),
        }
        return [
            f"summary.json: {name} is {said!r}, expected {true!r}"
            for name, (said, true) in pairs.items()
            if said != true
        ]

    def end(self, patience: float | None = None) -> Self:
        """Wait for the end and check what holds for every run."""
        try:
            self.wait(patience)
            assert self.problems() == []
            assert "Traceback" not in self.stderr
        finally:
            self.kill()
        return self


def run(folder: Path, command: Sequence[str], *options: str, **how: Any) -> Run:
    """Run a command to its end; what holds for every run is checked."""
    return Run(folder, command, *options, **how).end()


def run_all(
    folder: Path, runs: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, Run]:
    """Run several at once: `name: (command, options)`."""
    started = {
        name: Run(folder, command, *options)
        for name, (command, options) in runs.items()
    }
    try:
        return {name: each.end() for name, each in started.items()}
    finally:
        for each in started.values():
            each.kill()


def wrapper(
    *words: str | bytes, env: Mapping[str, str] | None = None, **how: Any
) -> subprocess.CompletedProcess[bytes]:
    """Call the program with any words; nothing is checked."""
    how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("stdout", subprocess.PIPE)
    how.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(
        [WRAPPER, *words],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **(env or {})},
        timeout=PATIENCE,
        check=False,
        **how,
    )


def read_terminal(command: Sequence[str], env: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a command on a terminal; give its exit code and what was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(env)
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # EIO: the other side is closed
        pass
    finally:
        os.close(ours)
    return process.wait(PATIENCE), shown
