"""Passing bytes on to our own stdout and stderr, which may be slow, full or gone.

A reader that is gone is no error; one that takes nothing for `PATIENCE` seconds
loses the echo for good. The record never waits for either: it is written first.
"""

from __future__ import annotations

import os
import socket
import stat

PATIENCE = 1.0


class Echo:
    """One of our own output files, written without ever blocking; None: nothing."""

    def __init__(self, fd: int | None, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.lost = False
        self._pending = b""
        self._socket: socket.socket | None = None
        self._own = False
        self._restore = False
        self.fd = -1
        if fd is None:
            self.lose()
        else:
            self.fd = self._open(fd)

    @property
    def stalled(self) -> bool:
        """Does something wait for the reader?"""
        return bool(self._pending) and not self.lost

    def write(self, data: bytes) -> None:
        """Pass bytes on, as far as the reader takes them; keep the rest."""
        if not self.lost:
            self._pending = self._pending + data if self._pending else data
            self.flush()

    def flush(self) -> None:
        """Pass on what waits, as far as the reader takes it."""
        try:
            while self._pending:
                self._pending = self._pending[self._write(self._pending) :]
        except BlockingIOError:
            pass
        except OSError:  # the reader is gone, or the disk is full: not our business
            self.lose()

    def lose(self) -> None:
        """Give the echo up for good."""
        self.lost = True
        self._pending = b""

    def close(self) -> None:
        """Leave the file as it was found."""
        if self._socket is not None:
            self._socket.close()
        if self._own:
            os.close(self.fd)
        elif self._restore:
            os.set_blocking(self.fd, True)
        self.lose()

    def _write(self, data: bytes) -> int:
        if self._socket is not None:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        return os.write(self.fd, data)

    def _open(self, fd: int) -> int:
        """Find a way to write to `fd` that cannot block.

        The non-blocking flag belongs to the open file, which others share; opening
        it anew leaves theirs alone. In a container that is often forbidden (a pipe
        of root's), but there nobody shares it.
        """
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            self.lose()
            return fd
        if stat.S_ISREG(mode):
            return fd
        if stat.S_ISSOCK(mode):
            self._socket = socket.socket(fileno=os.dup(fd))
            return fd
        try:
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
            anew = os.open(f"/proc/self/fd/{fd}", flags)
            self._own = True
            return anew
        except OSError:
            self._restore = os.get_blocking(fd)
            os.set_blocking(fd, False)
            return fd
