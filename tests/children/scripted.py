"""An agent that plays the steps of its command line, in Claude Code's stream format.

init  text=TEXT  tool=ID  done=ID  failed=ID  result  error=TEXT
event=JSON  raw=TEXT (escapes, no line feed)  err=TEXT (to stderr)
sleep=S  touch=FILE  until=FILE  tick=S (keep-alives)  respond=FILE (copy to text)
many=LINE (200,000 times)  parent=SIGNAL
ignore=SIGNAL  close=FD  exit=N  kill=SIGNAL  flush=TEXT (said upon SIGTERM)
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any


def write(data: bytes, fd: int = 1) -> None:
    while data:
        data = data[os.write(fd, data) :]


def line(event: dict[str, Any]) -> None:
    write(json.dumps(event).encode() + b"\n")


class Player:
    """Plays one step after the other."""

    def do_many(self, value: str) -> None:
        write((value + "\n").encode() * 200_000)

    def do_parent(self, value: str) -> None:
        os.kill(os.getppid(), getattr(signal, value))

    def __init__(self) -> None:
        self.messages = 0

    def play(self, step: str) -> None:
        name, _, value = step.partition("=")
        getattr(self, f"do_{name}")(value)

    def say(self, block: dict[str, Any]) -> None:
        self.messages += 1
        message = {
            "id": f"m{self.messages}",
            "role": "assistant",
            "model": "scripted-model",
            "content": [block],
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        line({"type": "assistant", "session_id": "s-1", "message": message})

    def answer(self, tool: str, *, failed: bool) -> None:
        result = {
            "type": "tool_result",
            "tool_use_id": tool,
            "content": f"output of {tool}",
            "is_error": failed,
        }
        message = {"role": "user", "content": [result]}
        line({"type": "user", "session_id": "s-1", "message": message})

    def end(self, text: str, *, failed: bool) -> None:
        line(
            {
                "type": "result",
                "subtype": "error_during_execution" if failed else "success",
                "is_error": failed,
                "num_turns": self.messages,
                "result": text,
                "session_id": "s-1",
                "usage": {
                    "input_tokens": 10 * self.messages,
                    "output_tokens": 5 * self.messages,
                },
            }
        )

    def do_init(self, _: str) -> None:
        line(
            {
                "type": "system",
                "subtype": "init",
                "session_id": "s-1",
                "model": "scripted-model",
                "cwd": os.getcwd(),
                "tools": ["Bash"],
                "claude_code_version": "2.1.332",
            }
        )

    def do_text(self, text: str) -> None:
        self.say({"type": "text", "text": text})

    def do_tool(self, tool: str) -> None:
        use = {"type": "tool_use", "id": tool, "name": "Bash"}
        self.say({**use, "input": {"command": "make"}})

    def do_done(self, tool: str) -> None:
        self.answer(tool, failed=False)

    def do_failed(self, tool: str) -> None:
        self.answer(tool, failed=True)

    def do_result(self, text: str) -> None:
        self.end(text or "all done", failed=False)

    def do_error(self, text: str) -> None:
        self.end(text, failed=True)

    def do_event(self, text: str) -> None:
        write(text.encode() + b"\n")

    def do_raw(self, text: str) -> None:
        write(text.encode("latin-1").decode("unicode_escape").encode("latin-1"))

    def do_err(self, text: str) -> None:
        write(text.encode() + b"\n", 2)

    def do_sleep(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def do_touch(self, path: str) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

    def do_until(self, path: str) -> None:
        while not os.path.exists(path):
            time.sleep(0.01)

    def do_tick(self, seconds: str) -> None:
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            line({"type": "keep_alive"})
            time.sleep(0.05)

    def do_respond(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self.do_text(file.read())

    def do_ignore(self, name: str) -> None:
        signal.signal(getattr(signal, name), signal.SIG_IGN)

    def do_close(self, fd: str) -> None:
        os.close(int(fd))

    def do_exit(self, code: str) -> None:
        os._exit(int(code))

    def do_kill(self, name: str) -> None:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), getattr(signal, name))

    def do_flush(self, text: str) -> None:
        def flush(number: int, frame: object) -> None:
            self.do_text(text)
            self.do_result("")
            os._exit(0)

        signal.signal(signal.SIGTERM, flush)


player = Player()
for word in sys.argv[1:]:
    player.play(word)
