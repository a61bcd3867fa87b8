"""Ignores SIGTERM and SIGINT with a tree of children that do the same.

One child is in the agent's group, one in a group of its own, one in a session of its
own with a child. It writes a line when all of them are there.
"""

from __future__ import annotations

import os
import signal
import time

ready, told = os.pipe()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for place in ("group", "own group", "own session"):
    if os.fork() == 0:
        if place == "own group":
            os.setpgid(0, 0)
        if place == "own session":
            os.setsid()
            if os.fork() == 0:
                os.write(told, b"1")
                time.sleep(60)
        os.write(told, b"1")
        time.sleep(60)
count = 0
while count < 4:
    count += len(os.read(ready, 4))
os.write(1, b"all four are there\n")
time.sleep(60)
