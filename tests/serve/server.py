"""A process of `agent-wrap serve`, and what clients do with it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..harness import PATIENCE, WRAPPER, environment, marked, wait_for
from .client import Parser, Stream, get


class Server:
    """A server process; what it kept is there for the next one."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        *options: str,
        port: int = 0,
        adapter: str = "claude-code",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.variables = environment(folder / "unused", **(env or {}))
        self.mark = next(v for k, v in self.variables.items() if k.endswith("MARK"))
        self.said = folder / f"said-{uuid.uuid4().hex[:8]}"
        with self.said.open("wb") as err:
            self.process = subprocess.Popen(
                [
                    *(WRAPPER, "serve", "--listen", f"127.0.0.1:{port}"),
                    *("--data", str(folder / "data"), "--root", str(self.work)),
                    *("--adapter", adapter, *options, "--", *command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                env=self.variables,
            )
        wait_for(lambda: " at http://" in self.stderr or self.ended, "a server")
        assert not self.ended, self.stderr
        address = self.stderr.partition(" at http://")[2].partition(",")[0]
        self.port = int(address.rpartition(":")[2])

    @property
    def stderr(self) -> str:
        return self.said.read_text()

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def post(
        self, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, PATIENCE)
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request("POST", path, raw, named)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def message(
        self, session: str, content: Any, **more: Any
    ) -> tuple[int, dict[str, Any]]:
        path = f"/api/sessions/{session}/messages"
        return self.post(path, {"content": content, **more})

    def interrupt(self, session: str) -> dict[str, Any]:
        return self.post(f"/api/sessions/{session}/interrupt")[1]

    def open(self, session: str, last: str | None = None) -> Stream:
        mark = int(last.rpartition("-")[2]) if last else None
        path = f"/api/sessions/{session}/events"
        stream = Stream(self.port, path, parser=Parser(mark), last=last)
        return stream if last else stream.until_kind("snapshot")

    def history(self, session: str) -> list[dict[str, Any]]:
        path = f"/api/sessions/{session}/messages"
        return list(json.loads(get(self.port, path)[2])["messages"])

    def end(self, number: int = signal.SIGTERM) -> int:
        if not self.ended:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """Leave nothing running, whatever the test found."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for pid in marked(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
