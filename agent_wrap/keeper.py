"""The dialog's file while the run lasts: room for its end, and nobody else's hands.

Room is allocated ahead (`fallocate`, without changing the size), so that a disk that
fills up stops ordinary entries while the end can still be written: measured to hold
on ext4, tmpfs and overlay, also against a competitor that takes all that is free.
Whatever the agent does to the file is undone from a copy that has no name.
"""

from __future__ import annotations

import errno
import os
import resource

from agent_wrap.writer import Archive

AHEAD = 1 << 20
RESERVE = 1 << 16
RESERVE_A_TOOL = 3584
"""The longest result that the end may have to write: id and name of 128 characters
each, of which one may take twelve bytes."""
NO_LIMIT = 1 << 62
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_RESERVE_FILE = ".reserve"


class Keeper:
    """Writes the dialog's lines and watches over its file.

    `full` is set when only the end may still be written; `notes` tell what was done
    to the file and undone.
    """

    def __init__(self, archive: Archive) -> None:
        self.full = False
        self.notes: list[str] = []
        self._archive = archive
        self._file = archive.dialog
        self._fallback = False
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        self._limit = NO_LIMIT if limit == resource.RLIM_INFINITY else limit
        self._allocated = min(self._file.allocated, self._limit)
        self._reserve = min(RESERVE, self._limit // 4)
        self._copy = archive.copy
        self._uncopied: list[bytes] = []

    @property
    def error(self) -> OSError | None:
        """What kept a line from being written."""
        return self._file.error

    def append(self, lines: list[bytes], open_tools: int) -> int:
        """Write ordinary lines while room for the end remains; say how many.

        All at once where they fit: a write takes longer than most lines took so far.
        """
        if self._append(b"".join(lines), open_tools):
            return len(lines)
        written = 0
        for line in lines if len(lines) > 1 else ():
            if not self._append(line, open_tools):
                break
            written += 1
        self.full = written < len(lines)
        return written

    def append_last(self, line: bytes) -> bool:
        """Write a line of the end, out of the reserve."""
        if self._fallback:
            self._archive.remove(_RESERVE_FILE)
            self._fallback = False
        return self._write(line)

    def copy(self) -> None:
        """Bring the copy up to date: once for all lines of a chunk, as writes cost."""
        lines = b"".join(self._uncopied)
        self._uncopied.clear()
        if lines and self._copy is not None and not self._copy.append(lines):
            self._drop_copy()

    def check(self) -> None:
        """Put the dialog back if its file is gone, replaced or changed in size."""
        found = self._archive.look_at_dialog()
        if found is None:
            return
        self.copy()
        note = f"dialog.jsonl was {found} during the run"
        if self._copy is None:
            self._note(f"{note}; it could not be restored")
            return
        error = self._archive.replace_dialog(self._copy.read())
        self._allocated = 0
        self._note(f"{note}; " + (f"not restored: {error}" if error else "restored"))

    def close(self) -> None:
        """Give back what was allocated ahead; look at the file for a last time."""
        self.copy()
        self.check()
        if self._copy is not None:
            if not self._archive.dialog.is_like(self._copy):
                self._archive.replace_dialog(self._copy.read())
                self._note("dialog.jsonl was overwritten during the run; restored")
            self._drop_copy()
        self._file.cut()

    def _append(self, lines: bytes, open_tools: int) -> bool:
        end = self._file.size + len(lines) + self._reserve + open_tools * RESERVE_A_TOOL
        if self.full or (end > self._allocated and not self._allocate(end)):
            return False
        return self._write(lines)

    def _write(self, lines: bytes) -> bool:
        if not self._file.append(lines):
            return False
        if self._copy is not None:
            self._uncopied.append(lines)
        return True

    def _allocate(self, wanted: int) -> bool:
        """Allocate room up to `wanted` and some more; say whether it is there."""
        # fallocate does not look at this limit while it keeps the size.
        if wanted > self._limit:
            self._file.error = OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            return False
        for size in (min(wanted + AHEAD, self._limit), wanted):
            number = self._file.allocate(size)
            if number in _UNSUPPORTED:
                return self._make_reserve_file()
            if not number:
                self._allocated = size
                return True
            self._file.error = OSError(number, os.strerror(number))
        return False

    def _make_reserve_file(self) -> bool:
        """Hold room in a second file, where the file system cannot allocate ahead."""
        error = self._archive.write_file(_RESERVE_FILE, b"\0" * self._reserve)
        self._fallback = error is None
        self._allocated = NO_LIMIT
        self._file.error = error
        return error is None

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _drop_copy(self) -> None:
        if self._copy is not None:
            self._copy.close()
            self._copy = None
