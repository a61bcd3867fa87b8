"""A process of `agent-wrap view --web`, and dialogs to look at."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from agent_wrap import entries
from agent_wrap.encode import encode
from agent_wrap.entries import Entry

from ..harness import PATIENCE, WRAPPER, environment, wait_for
from .client import Parser, Stream, get

TS = "2026-01-15T10:30:00.000000+00:00"


def begin(task: str = "t-1", asked: str = "Fix it", cwd: str = "/src") -> list[Entry]:
    return [
        entries.init(0, TS, task=task, cwd=cwd, model="m-1", agent="an-agent"),
        entries.prompt(1, TS, asked),
    ]


def end(seq: int, status: str = "success", message: str = "") -> Entry:
    return entries.complete(
        seq,
        TS,
        status=status,
        turns=1,
        duration_ms=1,
        tokens=(1, 1),
        message=message,
    )


def write(archive: Path, written: Iterable[Entry]) -> Path:
    """Add entries to an archive's dialog."""
    archive.mkdir(parents=True, exist_ok=True)
    path = archive / "dialog.jsonl"
    with path.open("ab") as file:
        file.write(b"".join(map(encode, written)))
    return path


class Viewed:
    """The page on a path, until the block ends."""

    def __init__(
        self, folder: Path, path: Path, *options: str, **variables: str
    ) -> None:
        self.out = folder / f"viewed-{time.monotonic_ns()}"
        with self.out.open("wb") as out:
            self.process = subprocess.Popen(
                [WRAPPER, "view", "--web", *options, str(path)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment(folder / "unused", **variables),
            )
        wait_for(lambda: b"\n" in self.out.read_bytes() or self.ended, "an address")
        assert not self.ended, self.out.read_text()
        self.url = self.out.read_text().strip()
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def __enter__(self) -> Viewed:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.process.send_signal(signal.SIGTERM)
                assert self.process.wait(PATIENCE) == 0
                assert self.out.read_text().strip() == self.url
        finally:
            self.process.kill()
            self.process.wait(PATIENCE)

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def sessions(self) -> list[dict[str, Any]]:
        return list(json.loads(get(self.port, "/api/sessions")[2])["sessions"])

    def open(self, session: str, last: str | None = None) -> Stream:
        mark = int(last.rpartition("-")[2]) if last else None
        path = f"/api/sessions/{session}/events"
        return Stream(self.port, path, parser=Parser(mark), last=last)
