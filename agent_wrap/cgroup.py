"""What the kernel's cgroup says of the run: processes killed for lack of memory.

Found through mountinfo, version 1 or 2; silent where there is none (no /proc, no
cgroup file system, another system).
"""

from __future__ import annotations

import os


class MemoryEvents:
    """Counts the kernel's out-of-memory kills in our cgroup since it was made."""

    def __init__(self, proc: str = "/proc") -> None:
        self._file = _events_file(proc)
        self._before = self._read()

    @property
    def kills(self) -> int:
        """Out-of-memory kills since the start; 0 where nobody counts them."""
        return max(self._read() - self._before, 0)

    def _read(self) -> int:
        if not self._file:
            return 0
        try:
            with open(self._file, encoding="utf-8") as file:
                for line in file:
                    name, _, value = line.partition(" ")
                    if name == "oom_kill":
                        return int(value)
        except (OSError, ValueError):
            pass
        return 0


def _events_file(proc: str) -> str:
    """Give the file that counts, or an empty string.

    `memory.events` of a v2 cgroup counts its descendants too; a v1 cgroup has
    `memory.oom_control`.
    """
    for version, mount, root in _mounts(f"{proc}/self/mountinfo"):
        path = _own_path(f"{proc}/self/cgroup", version)
        if not path:
            continue
        name = "memory.events" if version == 2 else "memory.oom_control"
        for below in (os.path.relpath(path, root), "."):
            file = os.path.normpath(os.path.join(mount, below, name))
            if os.path.isfile(file):
                return file
    return ""


def _mounts(path: str) -> list[tuple[int, str, str]]:
    """Give (version, mount point, root within the hierarchy), the newer version first.

    A line is `36 35 98:0 /root /mount opts ... - type source super-options`.
    """
    found = []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return []
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2":
            found.append((2, fields[4], fields[3]))
        elif kind[0] == "cgroup" and "memory" in kind[2].split(","):
            found.append((1, fields[4], fields[3]))
    return sorted(found, reverse=True)


def _own_path(path: str, version: int) -> str:
    """Give our own cgroup's path: `0::/path` in v2, `4:memory:/path` in v1."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                number, controllers, name = line.rstrip("\n").split(":", 2)
                if version == 2 and number == "0" and not controllers:
                    return name
                if version == 1 and "memory" in controllers.split(","):
                    return name
    except (OSError, ValueError):
        pass
    return ""
