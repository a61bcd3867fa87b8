"""A file that only grows, by whole records.

Used before the agent runs, so only the standard library's cheapest modules.
"""

from __future__ import annotations

import os

from agent_wrap.libc import fallocate

_KEEP_SIZE = 1
_PIECE = 128 * 1024
"""Bytes that are compared at once: memory stays flat however large a file is."""


class LogFile:
    """A file that only grows, by whole records."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.allocated = 0
        self.error: OSError | None = None
        self.lost = 0
        """Bytes that could not be written."""

    def append(self, record: bytes) -> bool:
        """Write one record whole, or nothing of it; say whether it was written."""
        done = 0
        try:
            done = os.write(self.fd, record)
            while done < len(record):
                done += os.write(self.fd, record[done:])
        except OSError as error:
            self.error = error
            self.lost += len(record)
            if done:
                self.cut()
            return False
        self.size += done
        return True

    def read(self) -> bytes:
        """Give all records that were appended. Raises OSError."""
        return os.pread(self.fd, self.size, 0)

    def read_whole(self) -> bytes:
        """Give what is in the file, whoever wrote it. Raises OSError."""
        return os.pread(self.fd, os.fstat(self.fd).st_size, 0)

    def is_like(self, other: LogFile) -> bool:
        """Is this what is in the file: the records of another? Raises OSError."""
        if os.fstat(self.fd).st_size != other.size:
            return False
        return all(
            os.pread(self.fd, _PIECE, at) == os.pread(other.fd, _PIECE, at)
            for at in range(0, other.size, _PIECE)
        )

    def allocate(self, size: int) -> int:
        """Allocate the first `size` bytes and keep the size; give the errno, or 0.

        `os.posix_fallocate` would make the file longer, with NULs that readers see.
        """
        number = fallocate(self.fd, _KEEP_SIZE, size)
        if number:
            return number
        self.allocated = size
        return 0

    def sync(self) -> None:
        """Ask the system to put what was written on the disk."""
        try:
            os.fdatasync(self.fd)
        except OSError as error:
            self.error = error

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def cut(self) -> None:
        """Cut off whatever lies beyond the last whole record."""
        try:
            os.ftruncate(self.fd, self.size)
        except OSError as error:
            self.error = error
