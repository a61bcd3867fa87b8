"""Makes many orphans that end at once, and says so; lives until a file is there."""

from __future__ import annotations

import os
import sys
import time

COUNT = 30
for _ in range(COUNT):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
os.write(1, b"orphans made\n")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
