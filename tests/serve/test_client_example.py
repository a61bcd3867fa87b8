"""`examples/session_client.py`: it sends, follows, and comes back."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from pathlib import Path

from ..harness import PATIENCE, child, wait_for
from .server import Server

CLIENT = Path(__file__).parents[2] / "examples" / "session_client.py"


class Client:
    def __init__(
        self, folder: Path, server: Server, *words: str, key: str = ""
    ) -> None:
        self.out = folder / f"client-{uuid.uuid4().hex[:8]}"
        with self.out.open("wb") as out:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(CLIENT),
                    f"http://127.0.0.1:{server.port}",
                    *words,
                ],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={},
            )

    @property
    def said(self) -> str:
        return self.out.read_text()

    def end(self) -> int:
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()


def test_it_sends_and_shows(tmp_path: Path) -> None:
    steps = ("init", "text=Hello", "tool=t1", "done=t1", "text=Bye", "result")
    server = Server(tmp_path, child("scripted", *steps))
    try:
        session = str(uuid.uuid4())
        client = Client(tmp_path, server, session, "Hi", "there")
        assert client.end() == 0, client.said
        assert client.said == (
            '[user] Hi there\nHello\n> Bash {"command":"make"}\n'
            "  complete: output of t1\nBye\n[completed]\n"
        )
        again = Client(tmp_path, server, session, "More")
        assert again.end() == 0
        assert again.said.startswith(
            "[user] Hi there\n[assistant] Hello\n\nBye\n[user] More"
        )
        bad = Client(tmp_path, server, "no-uuid")
        assert bad.end() == 1
        assert "INVALID_SESSION_ID" in bad.said
    finally:
        server.close()


def test_it_comes_back_after_a_restart(tmp_path: Path) -> None:
    server = Server(tmp_path, child("scripted", "init", "text=Hello", "sleep=600"))
    again = None
    try:
        client = Client(tmp_path, server, str(uuid.uuid4()), "Hi")
        wait_for(lambda: "Hello" in client.said, "a text")
        server.end(signal.SIGKILL)
        again = Server(tmp_path, child("scripted"), port=server.port)
        assert client.end() == 0
        assert client.said == "[user] Hi\nHello\n[error]\n"
    finally:
        server.close()
        if again is not None:
            again.close()
