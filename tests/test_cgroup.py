"""Where the kernel counts its out-of-memory kills, and a run that it killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_wrap.cgroup import MemoryEvents

from .harness import PYTHON, Run

V2_LINE = "31 23 0:28 {root} {mount} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_LINE = "35 31 0:32 {root} {mount} rw,relatime - cgroup cgroup rw,{controllers}\n"
OTHER = "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"


class Place:
    """A made-up /proc with a cgroup file system."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.mount = folder / "cgroup"
        (self.proc / "self").mkdir(parents=True)

    def tell(self, mounts: str, groups: str) -> None:
        (self.proc / "self" / "mountinfo").write_text(mounts)
        (self.proc / "self" / "cgroup").write_text(groups)

    def file(self, path: str, text: str) -> Path:
        place = self.mount / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def events(self) -> MemoryEvents:
        return MemoryEvents(str(self.proc))

    def kills(self, path: str, text: str, before: int, after: int) -> int:
        """The kills that are counted when the kernel's number in a file goes up."""
        file = self.file(path, text.format(before))
        events = self.events()
        assert events.kills == 0
        file.write_text(text.format(after))
        return events.kills

    def v2(self, root: str = "/") -> str:
        return OTHER + V2_LINE.format(root=root, mount=self.mount)

    def v1(self, root: str = "/", controllers: str = "memory") -> str:
        mount = self.mount
        return V1_LINE.format(root=root, mount=mount, controllers=controllers) + OTHER


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


V2_EVENTS = "low 0\nhigh 0\nmax 12\noom 5\noom_kill {}\noom_group_kill 0\n"
V1_EVENTS = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"


def test_version_2_counts_from_our_start(place: Place) -> None:
    place.tell(place.v2(), "0::/jobs/one\n")
    assert place.kills("jobs/one/memory.events", V2_EVENTS, 3, 5) == 2


def test_version_1(place: Place) -> None:
    place.tell(
        place.v1(controllers="cpu,memory"),
        "9:name=systemd:/\n4:cpu,memory:/jobs/one\n0::/\n",
    )
    assert place.kills("jobs/one/memory.oom_control", V1_EVENTS, 0, 1) == 1


def test_a_container_sees_its_own_group_as_the_root(place: Place) -> None:
    """The mount shows a part of the hierarchy: paths are relative to that."""
    place.tell(place.v2(root="/docker/abc"), "0::/docker/abc\n")
    assert place.kills("memory.events", V2_EVENTS, 0, 1) == 1


def test_a_namespace_hides_where_we_are(place: Place) -> None:
    """Paths that lead out of the mount: then the mount's own root is asked."""
    place.tell(place.v1(root="/docker/abc"), "4:memory:/../outside\n")
    assert place.kills("memory.oom_control", V1_EVENTS, 0, 4) == 4


def test_with_both_versions_the_one_that_has_memory_counts(place: Place) -> None:
    """A hybrid system: version 2 is mounted and has no memory controller."""
    empty = place.mount / "unified"
    empty.mkdir(parents=True)
    mounts = V2_LINE.format(root="/", mount=empty) + place.v1()
    place.tell(mounts, "4:memory:/one\n0::/\n")
    assert place.kills("one/memory.oom_control", V1_EVENTS, 0, 1) == 1


@pytest.mark.parametrize(
    ("mounts", "groups"),
    [
        ("", ""),
        ("nonsense\n\n - \n36 35 - cgroup2\n", "0::/\n"),
        ("{v2}", ""),
        ("{v2}", "nonsense\n"),
        ("{v2}", "0::/elsewhere\n"),
        ("{v1}", "0::/\n"),
        ("{v1}", "4:cpu:/one\n"),
    ],
)
def test_nobody_counts(place: Place, mounts: str, groups: str) -> None:
    place.tell(mounts.format(v2=place.v2(), v1=place.v1()), groups)
    assert place.events().kills == 0


def test_no_proc(tmp_path: Path) -> None:
    assert MemoryEvents(str(tmp_path / "nothing")).kills == 0


@pytest.mark.parametrize("text", ["", "oom_kill\n", "oom_kill x\n", "\xff\xfe", "7"])
def test_a_file_that_says_nothing(place: Place, text: str) -> None:
    place.tell(place.v2(), "0::/\n")
    file = place.file("memory.events", V2_EVENTS.format(2))
    events = place.events()
    file.write_bytes(text.encode("latin-1"))
    assert events.kills == 0
    file.unlink()
    assert events.kills == 0


# With a real group

LIMIT = 150 << 20


def limit_of(group: Path) -> Path:
    for name in ("memory.max", "memory.limit_in_bytes"):
        if (group / name).exists():
            return group / name
    raise FileNotFoundError(group)


def own_group() -> Path | None:
    """Give the folder of our own memory group, if there is one."""
    counted = MemoryEvents()._file
    return Path(counted).parent if counted else None


@pytest.fixture
def group() -> Iterator[Path]:
    """A memory group of little room."""
    parent = own_group()
    if parent is None or os.geteuid() != 0:
        pytest.skip("needs root and a memory cgroup")
    place = parent / f"agent-wrap-test-{os.getpid()}"
    try:
        place.mkdir()
        limit_of(place).write_text(str(LIMIT))
    except OSError as error:
        if place.exists():
            place.rmdir()
        pytest.skip(f"the memory cgroup cannot be written: {error}")
    yield place
    place.rmdir()


def run_in(group: Path, folder: Path, command: list[str]) -> Run:
    """A run, wrapper and all, within a group; ended."""

    def enter() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    with Run(folder, command, "--echo", "none", prepare=enter) as started:
        started.end()
    return started


HOG = """
import os, sys
print("starting", flush=True)
held = []
while True:
    held.append(bytearray(os.urandom(4096)) * 1024)
"""


def test_out_of_memory(tmp_path: Path, group: Path) -> None:
    """The kernel takes the agent, not us; and the record says why it died."""
    started = run_in(group, tmp_path, [*PYTHON, "-c", HOG])
    assert started.code == 137
    assert started.summary["reason"] == "out_of_memory"
    assert "out of memory" in started.complete["message"].lower()
    assert started.summary["agent_exit"]["signal"] == "SIGKILL"


def test_a_child_of_the_agent_runs_out_of_memory(tmp_path: Path, group: Path) -> None:
    """The agent lives on and ends well: its end is its own."""
    words = " ".join(f"'{word}'" for word in [*PYTHON, "-c", HOG])
    started = run_in(group, tmp_path, ["sh", "-c", f"{words}; echo child: $?"])
    assert started.code == 0
    assert "child: 137" in "\n".join(started.messages)
    assert started.complete["status"] == "success"
