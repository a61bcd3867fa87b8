"""Does something to its own record in the middle of its run, then goes on.

meddler.py ARCHIVE HOW
"""

from __future__ import annotations

import os
import sys
import time

archive, how = sys.argv[1:]
dialog = os.path.join(archive, "dialog.jsonl")


def text() -> bytes:
    with open(dialog, "rb") as file:
        return file.read()


def overwrite() -> None:
    """Change bytes and keep the size: only the content tells."""
    at = text().index(b"before")
    fd = os.open(dialog, os.O_WRONLY)
    os.pwrite(fd, b"BEFORE", at)
    os.close(fd)


def append() -> None:
    with open(dialog, "ab") as file:
        file.write(b'{"type":"complete","status":"success"}\n')


def garbage() -> None:
    with open(dialog, "ab") as file:
        file.write(b"\xff\0 no line feed")


def rename_archive() -> None:
    os.rename(archive, archive + ".moved")


def rename_dialog() -> None:
    os.rename(dialog, dialog + ".moved")


def remove_archive() -> None:
    for name in os.listdir(archive):
        os.unlink(os.path.join(archive, name))
    os.rmdir(archive)


def file_in_place() -> None:
    remove_archive()
    with open(archive, "wb") as file:
        file.write(b"in the way")


def truncate() -> None:
    os.truncate(dialog, len(text()) // 2)


def longer() -> None:
    os.truncate(dialog, 5_000_000)


def link() -> None:
    os.unlink(dialog)
    os.symlink(archive + ".victim", dialog)


def folder() -> None:
    os.unlink(dialog)
    os.mkdir(dialog)
    os.mkdir(os.path.join(dialog, "below"))


def fifo() -> None:
    os.unlink(dialog)
    os.mkfifo(dialog)


def other_file() -> None:
    os.unlink(dialog)
    with open(dialog, "wb") as file:
        file.write(b"mine\n")


def summary_folder() -> None:
    os.mkdir(os.path.join(archive, "summary.json"))


def modes() -> None:
    os.chmod(dialog, 0)
    os.chmod(archive, 0)


os.write(1, b"before\n\n")
while b"before" not in text():
    time.sleep(0.01)
globals()[how]()
os.write(1, b"after\n\n")
