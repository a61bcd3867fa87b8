"""Tells what an agent finds when it starts: one JSON object as plain text.

`--read`: stdin to its end, too.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys

read_stdin = "--read" in sys.argv
fds = sorted(
    int(name)
    for name in os.listdir("/proc/self/fd")
    if os.path.exists(f"/proc/self/fd/{name}")
)
status = {}
with open("/proc/self/status", encoding="ascii", errors="replace") as file:
    for line in file:
        key, _, value = line.partition(":")
        status[key] = value.strip()
with open("/proc/self/oom_score_adj", encoding="ascii") as file:
    oom = int(file.read())
told = {
    "argv": [os.fsencode(word).hex() for word in sys.argv[1:]],
    "environment": dict(os.environ),
    "fds": fds,
    "links": {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in fds},
    "blocked": int(status["SigBlk"], 16),
    "ignored": int(status["SigIgn"], 16),
    "cwd": os.getcwd(),
    "own_session": os.getsid(0) == os.getpid() == os.getpgid(0),
    "oom_score_adj": oom,
    "pipe_size": fcntl.fcntl(1, getattr(fcntl, "F_GETPIPE_SZ", 1032)),
    "sigterm_default": signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
    "stdin": sys.stdin.buffer.read().decode() if read_stdin else None,
}
print(json.dumps(told))
