"""A disk, a quota or a limit that is full: what the record still says."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_wrap.validate import check
from agent_wrap.writer import SUMMARY

from .harness import Run, child


def limit_file_size(size: int) -> Callable[[], None]:
    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return prepare


SIZES = (200, 1_000, 4_096, 20_000, 100_000, 1_000_000)


def test_files_may_not_grow(tmp_path: Path) -> None:
    """From far too little to just too little; the agent is not touched by it."""
    runs = {
        size: Run(
            tmp_path,
            child("flood", 1, 1_200_000),
            *("--echo", "none"),
            prepare=limit_file_size(size),
        )
        for size in SIZES
    }
    for size, started in runs.items():
        with started:
            assert started.wait() == 0, (size, started.stderr)
            assert started.alive() == {}
            assert "Traceback" not in started.stderr
            data = started.dialog
            assert len(data) <= size
            assert not data or data.endswith(b"}\n")
            if size < 4_096:  # no room for a record: it is told where it can be
                continue
            assert [p for p in check(data) if not p.warning] == [], size
            assert (
                "entries could not be written (File too large)"
                in (started.complete["message"])
            )
            if size > 4_096:
                assert started.summary["entries_lost"] > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)]
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("no right to mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> None:
    """Take all that is free."""
    with (place / "ballast").open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


def test_a_disk_that_is_full_before_the_first_entry(
    small_disk: Path, tmp_path: Path
) -> None:
    """The room is there before the agent is, which may be what fills the disk."""
    archive = small_disk / "archive"
    command = [
        "sh",
        "-c",
        f"cat /dev/zero > {small_disk}/ballast 2>/dev/null; echo end",
    ]
    with Run(tmp_path, command, "--adapter", "plain", archive=archive) as started:
        started.wait()
        assert started.types[0] == "init"
        assert started.types[-1] == "complete"


@pytest.mark.parametrize("how", ["by the agent's output", "by somebody else"])
def test_a_full_disk(small_disk: Path, tmp_path: Path, how: str) -> None:
    archive = small_disk / "archive"
    if how == "by somebody else":
        steps = ("init", "text=before", "tool=t1", "until=go", "text=after", "result")
        command = child("scripted", *steps)
    else:
        command = child("flood", 1, 3_000_000)
    with Run(tmp_path, command, "--echo", "none", archive=archive) as started:
        if how == "by somebody else":
            started.until(lambda: "tool" in started.types, "a tool")
            fill(small_disk)
            (started.folder / "go").touch()
        assert started.wait() == 0
        assert started.alive() == {}
        assert "Traceback" not in started.stderr
        data = started.dialog
        assert [p for p in check(data) if not p.warning] == []
        assert started.complete["status"] == "success"
        if how == "by somebody else":
            assert started.messages[0] == "before"
        else:
            assert "No space left" in started.complete["message"]


def test_a_full_disk_and_a_killed_supervisor(small_disk: Path, tmp_path: Path) -> None:
    """The guardian's end fits into the room that its supervisor kept."""
    from .killing import kill_supervisor

    steps = ("init", "text=before", "tool=t1", "sleep=60")
    archive = small_disk / "archive"
    command = child("scripted", *steps)
    claude = ("--adapter", "claude-code")
    with Run(tmp_path, command, *claude, archive=archive) as started:
        started.until(lambda: "tool" in started.types, "a tool")
        fill(small_disk)
        kill_supervisor(started)
        assert started.wait() == 137
        assert [p for p in check(started.dialog) if not p.warning] == []
        assert started.types[-2:] == ["tool", "complete"]


def test_a_disk_that_becomes_read_only(small_disk: Path, tmp_path: Path) -> None:
    """What is open may still be written or not; nothing hangs, nobody is failed."""
    archive = small_disk / "archive"
    steps = ("init", "text=before", "until=go", "text=after", "result")
    command = child("scripted", *steps)
    with Run(tmp_path, command, archive=archive) as started:
        started.until_message("before")
        # With files open for writing the kernel refuses the plain way.
        words = ["mount", "-o", "remount,ro", str(small_disk)]
        busy = subprocess.run(words, capture_output=True, check=False).returncode != 0
        (started.folder / "go").touch()
        assert started.wait() == 0
        assert started.alive() == {}
        if busy:
            assert started.complete["status"] == "success"
        assert SUMMARY in os.listdir(archive) or not busy
