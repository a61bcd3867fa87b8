"""Says numbered things in Claude Code's stream format all the time, then ends well.

steady.py MARK SECONDS

Every third event is a tool, which stays open for a while; a daemon that ignores
SIGTERM is left behind at the start. MARK is in the arguments of both.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping

mark, seconds = sys.argv[1], float(sys.argv[2])
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.execv("/bin/sleep", ["sleep", mark])


def say(kind: str, **message: object) -> None:
    event = {"type": kind, "session_id": "s-1", "message": message}
    os.write(1, json.dumps(event).encode() + b"\n")


def assistant(number: int, block: Mapping[str, object]) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    say("assistant", id=f"m{number}", model="m", content=[block], usage=usage)


os.write(1, b'{"type":"system","subtype":"init","session_id":"s-1","model":"m"}\n')
end = time.monotonic() + seconds
number = 0
while time.monotonic() < end:
    number += 1
    if number % 3:
        text = f"thing {number} " + "x" * (number * 37 % 4000)
        assistant(number, {"type": "text", "text": text})
    else:
        tool = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
        assistant(number, tool)
        if number > 9:
            done = {"type": "tool_result", "tool_use_id": f"t{number - 9}"}
            say("user", role="user", content=[{**done, "content": "ok"}])
    time.sleep(0.0005)
os.write(1, b'{"type":"result","subtype":"success","is_error":false,"result":"."}\n')
