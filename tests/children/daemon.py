"""Leaves a daemon behind (double fork, own session), then ends well.

--hold: it keeps stdout   --stubborn: it ignores SIGTERM   --chatty: it writes on
--respawn: a child of it is replaced as soon as it ends    --late: one last line
"""

from __future__ import annotations

import os
import signal
import sys
import time

ready, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        if "--stubborn" in sys.argv:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
        if not {"--hold", "--chatty", "--late"} & set(sys.argv):
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
        os.write(told, b"1")
        end = time.monotonic() + 60
        if "--late" in sys.argv:
            while os.getppid() != 1 and time.monotonic() < end - 59.8:
                time.sleep(0.01)
            os.write(1, b"said late\n")
            os._exit(0)
        while time.monotonic() < end:
            if "--respawn" in sys.argv and os.fork() == 0:
                time.sleep(0.005)
                os._exit(0)
            if "--chatty" in sys.argv:
                os.write(1, b"still here\n\n")
            time.sleep(0.01)
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pass
    os._exit(0)
os.read(ready, 1)
os.write(1, b"left a daemon\n")
