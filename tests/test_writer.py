"""The archive's files: locks, links, folders and stale files; whole lines or none."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_wrap.errors import ArchiveError
from agent_wrap.writer import DIALOG, STDERR, STDOUT, SUMMARY, Archive

from .harness import Run, run, scripted

NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be a user whom file modes bind: root can write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Make the disk full for files of that size."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    archive = Archive.open(str(path))
    try:
        yield archive
    finally:
        archive.close()


def refused(path: Path) -> ArchiveError:
    with pytest.raises(ArchiveError) as caught:
        Archive.open(str(path))
    return caught.value


# Opening


def test_the_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b" / "c"
    with opened(place) as archive:
        assert archive.dialog_path == str(place / DIALOG)
        assert {path.name for path in place.iterdir()} == {DIALOG, STDOUT, STDERR}
        assert archive.dialog.append(b"one\n")
        assert (place / DIALOG).read_bytes() == b"one\n"
    archive.close()  # a second time does nothing


def test_a_fresh_file_each_time(tmp_path: Path) -> None:
    stale = "old line\n" * 1000
    for name in (DIALOG, STDOUT, STDERR, SUMMARY):
        (tmp_path / name).write_text(stale)
    (tmp_path / "theirs").write_text("stays")
    with opened(tmp_path) as archive:
        for file in (archive.dialog, archive.stdout, archive.stderr):
            assert file.append(b"new\n")
    for name in (DIALOG, STDOUT, STDERR):
        assert (tmp_path / name).read_text() == "new\n"
    assert not (tmp_path / SUMMARY).exists()
    assert (tmp_path / "theirs").read_text() == "stays"


def test_a_reader_of_the_old_file_keeps_it(tmp_path: Path) -> None:
    (tmp_path / DIALOG).write_text("old")
    with (tmp_path / DIALOG).open() as reader, opened(tmp_path):
        assert reader.read() == "old"


@pytest.mark.parametrize("kind", ["file", "nothing", "folder", "itself"])
def test_a_link_is_replaced_not_followed(tmp_path: Path, kind: str) -> None:
    victim = tmp_path / "victim"
    if kind == "file":
        victim.write_text("precious")
    elif kind == "folder":
        victim.mkdir()
    elif kind == "itself":
        victim = tmp_path / "a" / DIALOG
    place = tmp_path / "a"
    place.mkdir()
    for name in (DIALOG, STDOUT, STDERR):
        (place / name).symlink_to(victim)
    (place / SUMMARY).symlink_to(victim)
    with opened(place) as archive:
        assert archive.dialog.append(b"new\n")
        assert archive.write_file(SUMMARY, b"{}") is None
    for name in (DIALOG, STDOUT, STDERR, SUMMARY):
        assert not (place / name).is_symlink()
    if kind == "file":
        assert victim.read_text() == "precious"
    if kind == "nothing":
        assert not victim.exists()


def test_a_hard_link_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = tmp_path / "a"
    place.mkdir()
    (place / DIALOG).hardlink_to(victim)
    with opened(place) as archive:
        archive.dialog.append(b"new\n")
    assert victim.read_text() == "precious"


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / DIALOG)
    with opened(tmp_path) as archive:
        assert archive.dialog.append(b"new\n")
    assert (tmp_path / DIALOG).is_file()


@pytest.mark.parametrize("name", [DIALOG, STDOUT, STDERR])
def test_a_folder_in_a_files_place(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    error = refused(tmp_path)
    assert error.path == str(tmp_path / name)
    assert "folder" in error.reason
    (tmp_path / name).rmdir()
    with opened(tmp_path):  # the lock was given back
        pass


def test_an_archive_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        assert "must be a folder" in str(refused(path))


def test_an_archive_that_cannot_be_written(tmp_path: Path) -> None:
    place = tmp_path / "closed"
    place.mkdir(mode=0o500)
    for path in (place, place / "below"):
        with unprivileged():
            error = refused(path)
        assert "Permission denied" in error.reason
        assert "--archive" in error.hint
    error = refused(Path("/proc/no-such-folder"))
    assert error.path.startswith("/proc/no-such-folder")


def test_a_writable_file_in_a_folder_that_is_not(tmp_path: Path) -> None:
    """A bind mount of single files: what can be emptied is used."""
    for name in (DIALOG, STDOUT, STDERR):
        (tmp_path / name).write_text("old")
        (tmp_path / name).chmod(0o666)
    tmp_path.chmod(0o555)
    for parent in tmp_path.parents:
        if os.geteuid() == 0 and parent.stat().st_mode & 0o777 == 0o700:
            parent.chmod(0o755)
    try:
        with unprivileged(), opened(tmp_path) as archive:
            assert archive.dialog.append(b"new\n")
            assert archive.write_file(SUMMARY, b"{}") is not None
        assert (tmp_path / DIALOG).read_text() == "new\n"
    finally:
        tmp_path.chmod(0o700)


# The lock


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path) as archive:
        archive.dialog.append(b"first\n")
        error = refused(tmp_path)
        assert "in use" in error.reason
        assert "--archive" in error.hint
        assert (tmp_path / DIALOG).read_text() == "first\n"
    with opened(tmp_path):
        pass


def test_a_second_run_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    steps = ("init", "text=Hi", "until=go", "text=Bye", "result")
    claude = ("--adapter", "claude-code")
    with Run(tmp_path, scripted(*steps), *claude, archive=archive) as first:
        first.until_message("Hi")
        second = Run(tmp_path, ["touch", "started"], archive=archive)
        assert second.wait() == 125
        assert "in use by another run" in second.stderr
        assert not (second.folder / "started").exists()
        (first.folder / "go").touch()
        first.end()
    assert first.messages == ["Hi", "Bye"]
    assert run(tmp_path, ["true"], archive=archive).code == 0


def test_the_lock_ends_with_the_run_whatever_is_left(tmp_path: Path) -> None:
    """A process that escaped must not hold the archive: it has no file of ours."""
    archive = tmp_path / "archive"
    with Run(tmp_path, scripted("init", "sleep=60"), archive=archive) as started:
        started.until(lambda: started.raw, "output")
        started.process.kill()
        started.process.wait()
        deadline = 400
        while deadline:
            after = Run(tmp_path, ["true"], archive=archive)
            if after.wait() == 0:
                break
            deadline -= 1
        assert deadline
        assert after.problems() == []


# Records


def test_a_record_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with opened(tmp_path) as archive:
        dialog = archive.dialog
        assert dialog.append(b"x" * 99 + b"\n")
        with no_file_larger_than(150):
            assert not dialog.append(b"y" * 99 + b"\n")
            assert dialog.error is not None
            assert dialog.error.errno == errno.EFBIG
            assert (tmp_path / DIALOG).stat().st_size == 100
            assert dialog.append(b"z" * 49 + b"\n")  # what fits is still taken
        assert dialog.append(b"last\n")
    data = (tmp_path / DIALOG).read_bytes()
    assert data == b"x" * 99 + b"\n" + b"z" * 49 + b"\nlast\n"


def test_a_small_file_is_replaced_at_once(tmp_path: Path) -> None:
    with opened(tmp_path) as archive:
        assert archive.write_file("a.json", b"one") is None
        with (tmp_path / "a.json").open("rb") as reader:
            assert archive.write_file("a.json", b"two") is None
            assert reader.read() == b"one"
        assert (tmp_path / "a.json").read_bytes() == b"two"
        with no_file_larger_than(10):
            error = archive.write_file("a.json", b"x" * 100)
        assert error is not None
        assert (tmp_path / "a.json").read_bytes() == b"two"
        assert {path.name for path in tmp_path.iterdir()} == {
            *(DIALOG, STDOUT, STDERR),
            "a.json",
        }
        (tmp_path / "folder").mkdir()
        assert archive.write_file("folder", b"x") is None
        assert (tmp_path / "folder").read_bytes() == b"x"


# Through the program


def test_an_archive_that_cannot_be_used_starts_no_agent(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with Run(tmp_path, ["touch", "started"], archive=file) as started:
        assert started.wait() == 125
        assert not (started.folder / "started").exists()
        assert started.stderr.startswith("agent-wrap: archive: ")
        assert started.stderr.count("\n") == 1


def test_the_kernel_refuses_to_hold_no_descriptor_of_ours(tmp_path: Path) -> None:
    """What the agent starts cannot reach the record through an inherited file."""
    done = run(tmp_path, ["ls", "-l", "/proc/self/fd"])
    assert str(done.archive) not in done.raw.decode()
    subprocess.run(["true"], check=True)
