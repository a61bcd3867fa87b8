"""The archive: one run at a time, fresh files, never through a link, put back if gone.

Opened before the agent runs and shared by the guardian and the supervisor, so only
the standard library's cheapest modules.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from agent_wrap.errors import ArchiveError
from agent_wrap.log_file import LogFile

DIALOG, STDOUT, STDERR, SUMMARY, PROMPT = (
    "dialog.jsonl",
    "stdout.log",
    "stderr.log",
    "summary.json",
    "prompt.txt",
)
FIRST_ROOM = (1 << 20, 1 << 17)
"""Room that the dialog has before anything is written; less on a small disk."""

_APPEND = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
_FRESH = _APPEND | os.O_CREAT | os.O_EXCL
_REUSED = _APPEND | os.O_TRUNC


class Archive:
    """The folder of one run, locked while it is open."""

    def __init__(self, path: str, folder: int, files: dict[str, LogFile]) -> None:
        self.path = path
        self._folder = folder
        self.dialog = files[DIALOG]
        self.stdout = files.get(STDOUT) or LogFile(-1)
        self.stderr = files.get(STDERR) or LogFile(-1)
        self.copy: LogFile | None = None
        """What the dialog is restored from: a file without a name."""

    @classmethod
    def open(cls, path: str, *, dialog_only: bool = False) -> Archive:
        """Make the folder with its parents, lock it, start fresh files.

        `dialog_only`: only the dialog is ours, all else in the folder is left alone.
        Raises ArchiveError naming the path and the reason.
        """
        folder = -1
        at = path
        try:
            os.makedirs(path, exist_ok=True)
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            _lock(folder, path)
            files = {}
            for name in (DIALOG,) if dialog_only else (DIALOG, STDOUT, STDERR):
                at = os.path.join(path, name)
                files[name] = LogFile(_fresh(name, at, folder))
            for name in () if dialog_only else (SUMMARY, PROMPT):
                at = os.path.join(path, name)
                _remove(name, folder)
        except OSError as error:
            if folder >= 0:
                os.close(folder)
            raise ArchiveError(at, _reason(error), _hint(error)) from None
        except ArchiveError:
            if folder >= 0:
                os.close(folder)
            raise
        archive = cls(path, folder, files)
        if not dialog_only:
            archive._open_copy()
            # Before the agent runs: it may be the one that fills the disk.
            for size in FIRST_ROOM:
                if archive.dialog.allocate(size) != errno.ENOSPC:
                    break
        return archive

    def keep_to_ourselves(self) -> None:
        """Make the folder ours, so that another user can read it and no more.

        Raises ArchiveError.
        """
        try:
            os.fchown(self._folder, os.geteuid(), os.getegid())
            os.fchmod(self._folder, 0o755)
        except OSError as error:
            raise ArchiveError(
                self.path, f"cannot be made ours for --user: {_reason(error)}"
            ) from None

    @classmethod
    def reopen(cls, path: str) -> Archive:
        """Open the archive of an earlier run as it is, and lock it.

        Raises ArchiveError: in use, no such folder, no dialog in it.
        """
        folder = -1
        at = path
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            _lock(folder, path)
            at = os.path.join(path, DIALOG)
            dialog = LogFile(os.open(DIALOG, _APPEND, dir_fd=folder))
        except (OSError, ArchiveError) as error:
            if folder >= 0:
                os.close(folder)
            if isinstance(error, ArchiveError):
                raise
            raise ArchiveError(at, _reason(error)) from None
        dialog.size = os.fstat(dialog.fd).st_size
        return cls(path, folder, {DIALOG: dialog})

    @property
    def dialog_path(self) -> str:
        """Where the dialog is."""
        return os.path.join(self.path, DIALOG)

    def read_dialog(self) -> bytes:
        """Give what is in the dialog's file now. Raises OSError."""
        return self.dialog.read_whole()

    def reread_dialog(self) -> bytes:
        """Give the dialog that stands at its place, and write to that one from now on.

        Another process of ours may have put it there (`replace_dialog`).
        """
        if self.look_at_dialog() == "replaced":
            fd = os.open(DIALOG, _APPEND, dir_fd=self._folder)
            os.dup2(fd, self.dialog.fd, inheritable=False)
            os.close(fd)
        return self.read_dialog()

    def recover_dialog(self) -> bytes:
        """Give the dialog as its supervisor left it; put it back where that is gone.

        Raises OSError.
        """
        try:
            found = self.reread_dialog()
            gone = self.look_at_dialog() in ("removed", "replaced")
        except OSError:  # a link, a folder
            found, gone = b"", True
        saved = b"" if self.copy is None else self.copy.read_whole()
        if not gone and found.startswith(saved):
            return found
        saved = saved or self.read_dialog()
        error = self.replace_dialog(saved)
        if error is not None:
            raise error
        return saved

    def look_at_dialog(self) -> str | None:
        """Say what somebody did to the dialog's file; None: it is as we left it."""
        ours = os.fstat(self.dialog.fd)
        try:
            found = os.stat(self.dialog_path, follow_symlinks=False)
        except OSError:
            return "removed"
        if (found.st_dev, found.st_ino) != (ours.st_dev, ours.st_ino):
            return "replaced"
        if found.st_size != self.dialog.size:
            return "truncated" if found.st_size < self.dialog.size else "written to"
        return None

    def replace_dialog(self, data: bytes) -> OSError | None:
        """Put a new dialog with this content in its place; give the error.

        The folder is made again where it is gone.
        """
        try:
            if os.path.lexists(self.path) and not os.path.isdir(self.path):
                _move_away(self.path)
            os.makedirs(self.path, exist_ok=True)
            here = os.stat(self.path)
            ours = os.fstat(self._folder)
            if (here.st_dev, here.st_ino) != (ours.st_dev, ours.st_ino):
                folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                os.dup2(folder, self._folder, inheritable=False)
                os.close(folder)
                _lock(self._folder, self.path)
            error = self.write_file(DIALOG, data)
            if error is not None:
                return error
            fd = os.open(DIALOG, _APPEND, dir_fd=self._folder)
            os.dup2(fd, self.dialog.fd, inheritable=False)
            os.close(fd)
        except (OSError, ArchiveError) as error:
            return error if isinstance(error, OSError) else OSError(str(error))
        self.dialog.size = len(data)
        return None

    def _open_copy(self) -> None:
        try:
            fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600, dir_fd=self._folder)
            self.copy = LogFile(fd)
        except (OSError, AttributeError):  # a file system without unnamed files
            pass

    def read_file(self, name: str) -> bytes:
        """Give a file's content; empty when it is not there or is no regular file."""
        # Whoever put a pipe in its place must not keep us waiting for a writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with open(os.open(name, flags, dir_fd=self._folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return b""
                return file.read()
        except OSError:
            return b""

    def remove(self, name: str) -> None:
        """Remove a file of ours, if it is there."""
        try:
            _remove(name, self._folder)
        except OSError:
            pass

    def make_folder(self, name: str, owner: tuple[int, int] | None) -> OSError | None:
        """Make an empty folder in place of whatever has its name; give the error.

        `owner` is the user and the group that it is given to.
        """
        import shutil

        path = os.path.join(self.path, name)
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                self.remove(name)
            os.mkdir(name, 0o700, dir_fd=self._folder)
            if owner is not None:
                os.chown(name, *owner, dir_fd=self._folder, follow_symlinks=False)
        except OSError as error:
            return error
        return None

    def write_file(self, name: str, data: bytes) -> OSError | None:
        """Write a whole small file at once, or leave the old one; give the error."""
        folder, path = self._folder, os.path.join(self.path, name)
        temporary = f".{name}.{time.time_ns()}"  # a name that nobody has taken before
        try:
            file = LogFile(os.open(temporary, _FRESH, 0o644, dir_fd=folder))
            try:
                written = file.append(data)
            finally:
                file.close()
            if written:
                if os.path.isdir(path) and not os.path.islink(path):
                    _move_away(path)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                return None
        except OSError as error:
            self.remove(temporary)
            return error
        self.remove(temporary)  # half a file takes the room of others
        return file.error

    def close(self) -> None:
        """Close the files and give the lock back."""
        for file in (self.dialog, self.stdout, self.stderr, self.copy):
            if file is not None:
                file.close()
        if self._folder >= 0:
            # A forked child may hold the same lock: give it back for all.
            fcntl.flock(self._folder, fcntl.LOCK_UN)
            os.close(self._folder)
            self._folder = -1


def _lock(folder: int, path: str) -> None:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ArchiveError(
            path,
            "is in use by another run",
            "Give each run an archive of its own (--archive DIR)",
        ) from None
    except OSError as error:
        # Some network file systems have no locks: then there is nothing to hold.
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EBADF):
            raise


def _move_away(path: str) -> None:
    """Make place for what is ours; what stood there keeps a name of its own."""
    os.rename(path, f"{path}.{time.time_ns()}")


def _fresh(name: str, path: str, folder: int) -> int:
    """Open an empty regular file, replacing whatever stands there but a folder."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return os.open(name, _FRESH, 0o644, dir_fd=folder)
    if stat.S_ISDIR(found.st_mode):
        raise ArchiveError(
            path,
            "is a folder",
            "Remove it (a bind mount of a file that does not exist makes one)",
        )
    try:
        os.unlink(name, dir_fd=folder)
    except OSError as error:
        # A file that is itself a mount point, or a folder that only lets us write.
        if not stat.S_ISREG(found.st_mode) or error.errno == errno.EROFS:
            raise
        return os.open(name, _REUSED, dir_fd=folder)
    return os.open(name, _FRESH, 0o644, dir_fd=folder)


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _reason(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, "error")
    return f"{error.strerror} ({name})"


def _hint(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Give a folder that this user can write (--archive DIR)"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "The archive must be a folder (--archive DIR)"
    return ""
