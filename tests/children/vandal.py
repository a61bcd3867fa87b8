"""Destroys the record while it is written, then goes on and ends well.

vandal.py remove|truncate|replace ARCHIVE
"""

from __future__ import annotations

import os
import shutil
import sys
import time

how, archive = sys.argv[1:]
dialog = os.path.join(archive, "dialog.jsonl")
os.write(1, b"before\n\n")
while True:
    with open(dialog, "rb") as file:
        if b"before" in file.read():
            break
    time.sleep(0.01)
if how == "remove":
    shutil.rmtree(archive)
elif how == "truncate":
    os.truncate(dialog, 0)
else:
    os.unlink(dialog)
    os.symlink("/dev/null", dialog)
os.write(1, b"after\n\n")
