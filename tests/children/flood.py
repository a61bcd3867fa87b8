"""Writes N bytes in lines of 100 to a file descriptor, or one endless line; ends well.

flood.py FD BYTES [--endless]
"""

from __future__ import annotations

import os
import sys

fd, size = int(sys.argv[1]), int(sys.argv[2])
line = b"x" * 100 if "--endless" in sys.argv else b"y" * 99 + b"\n"
chunk = line * 600
while size > 0:
    size -= os.write(fd, chunk[:size])
if "--endless" in sys.argv:
    os.write(fd, b"\n")
os.write(1, b"\nflood over\n")
