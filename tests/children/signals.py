"""Writes the name of each signal that it gets; ends well after N of them."""

from __future__ import annotations

import os
import signal
import sys
import time

left = int(sys.argv[1])


def tell(number: int, frame: object) -> None:
    global left
    left -= 1
    os.write(1, signal.Signals(number).name.encode() + b"\n\n")
    if not left:
        os._exit(0)


for name in ("SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"):
    signal.signal(getattr(signal, name), tell)
os.write(1, b"listening\n\n")
while True:
    time.sleep(0.05)
