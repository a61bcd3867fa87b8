"""The dialog's file in bad hands."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_wrap import keeper as keeper_module
from agent_wrap.keeper import RESERVE, Keeper
from agent_wrap.log_file import LogFile
from agent_wrap.writer import DIALOG, STDERR, STDOUT, Archive

from .harness import Run, child

LINE = b'{"some":"line"}\n'


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive.open(str(tmp_path / "archive"))
    yield archive
    archive.close()


def shown(archive: Archive) -> bytes:
    return Path(archive.dialog_path).read_bytes()


def names(archive: Archive) -> set[str]:
    return set(os.listdir(archive.path))


def blocks(archive: Archive) -> int:
    return os.stat(archive.dialog_path).st_blocks * 512


# Room for the end


def test_lines_are_there_at_once_and_room_is_kept(archive: Archive) -> None:
    keeper = Keeper(archive)
    for number in range(1, 4):
        assert keeper.append([LINE], 0)
        assert shown(archive) == LINE * number
    assert blocks(archive) > RESERVE
    assert keeper.append_last(LINE)
    keeper.close()
    assert shown(archive) == LINE * 4
    assert blocks(archive) < RESERVE
    assert keeper.notes == []
    assert keeper.error is None


def test_a_disk_that_gives_no_more_room(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ordinary lines stop, however short; the end is written out of the reserve."""
    keeper = Keeper(archive)
    assert keeper.append([LINE], 0)
    monkeypatch.setattr(LogFile, "allocate", lambda file, size: errno.ENOSPC)
    large = b"x" * (keeper_module.AHEAD + RESERVE)
    assert not keeper.append([large], 0)
    assert not keeper.append([LINE], 0)
    assert keeper.full
    assert keeper.error is not None
    assert keeper.error.errno == errno.ENOSPC
    assert keeper.append_last(LINE)
    assert shown(archive) == LINE * 2


def test_of_lines_that_do_not_all_fit_the_first_are_written(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = RESERVE + 3 * len(LINE)
    archive.dialog.allocated = 0

    def allocate(file: LogFile, size: int) -> int:
        return errno.ENOSPC if size > room else 0

    monkeypatch.setattr(LogFile, "allocate", allocate)
    keeper = Keeper(archive)
    assert keeper.append([LINE], 0) == 1
    assert not keeper.full
    assert keeper.append([LINE] * 4, 0) == 2
    assert keeper.full
    assert shown(archive) == LINE * 3
    keeper.copy()
    assert archive.copy is not None
    assert archive.copy.read() == LINE * 3


def test_lines_that_fit_once_room_came_back_are_all_written(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may refuse many lines at once and take each of them a moment later."""
    append = LogFile.append

    def refuse_many(file: LogFile, record: bytes) -> bool:
        return len(record) == len(LINE) and append(file, record)

    monkeypatch.setattr(LogFile, "append", refuse_many)
    keeper = Keeper(archive)
    assert keeper.append([LINE] * 3, 0) == 3
    assert not keeper.full
    assert shown(archive) == LINE * 3


def test_open_tools_take_part_of_the_reserve(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def remember(file: LogFile, size: int) -> int:
        asked.append(size)
        return errno.ENOSPC

    archive.dialog.allocated = 0
    monkeypatch.setattr(LogFile, "allocate", remember)
    Keeper(archive).append([LINE], 0)
    Keeper(archive).append([LINE], 1000)
    few, many = asked[1], asked[3]
    assert many - few >= 1000 * 500


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_that_cannot_allocate_ahead(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Then a second file holds the room, and goes before the end is written."""
    archive.dialog.allocated = 0
    monkeypatch.setattr(LogFile, "allocate", lambda file, size: number)
    keeper = Keeper(archive)
    assert keeper.append([LINE], 0)
    assert keeper.append([LINE], 0)
    (reserve,) = names(archive) - {DIALOG, STDOUT, STDERR}
    assert os.stat(os.path.join(archive.path, reserve)).st_size == RESERVE
    assert keeper.append_last(LINE)
    keeper.close()
    assert names(archive) == {DIALOG, STDOUT, STDERR}
    assert shown(archive) == LINE * 3


def test_the_copy_costs_one_write_a_chunk(archive: Archive) -> None:
    keeper = Keeper(archive)
    assert archive.copy is not None
    keeper.append([LINE], 0)
    keeper.append([LINE], 0)
    assert archive.copy.read() == b""
    keeper.copy()
    assert archive.copy.read() == LINE * 2


# What somebody does to the file


def do_truncate(path: Path) -> None:
    os.truncate(path, 3)


def do_append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"mine")


def do_replace(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"mine")


def do_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "victim")


def do_folder(path: Path) -> None:
    path.unlink()
    (path / "below").mkdir(parents=True)


def do_remove_all(path: Path) -> None:
    shutil.rmtree(path.parent)


def do_rename(path: Path) -> None:
    path.parent.rename(path.parent.parent / f"moved-{path.stat().st_ino}")


@pytest.mark.parametrize(
    ("do", "what"),
    [
        (do_truncate, "truncated"),
        (do_append, "written to"),
        (do_replace, "replaced"),
        (do_link, "replaced"),
        (do_folder, "replaced"),
        (do_remove_all, "removed"),
        (do_rename, "removed"),
        (Path.unlink, "removed"),
    ],
)
def test_it_is_put_back(
    archive: Archive, do: Callable[[Path], None], what: str
) -> None:
    keeper = Keeper(archive)
    path = Path(archive.dialog_path)
    assert keeper.append([LINE], 0)
    keeper.check()
    assert keeper.notes == []
    do(path)
    keeper.check()
    assert shown(archive) == LINE
    assert not path.is_symlink()
    assert keeper.notes == [f"dialog.jsonl was {what} during the run; restored"]
    do(path)  # and again: the note is made once
    assert keeper.append([LINE], 0)
    keeper.close()
    assert shown(archive) == LINE * 2
    assert len(keeper.notes) == 1


@pytest.mark.parametrize("at", [2, 131_070, 300_001, -5])
def test_bytes_that_were_changed_are_found_at_the_end(
    archive: Archive, at: int
) -> None:
    keeper, lines = Keeper(archive), [LINE] * 20_000
    keeper.append(lines, 0)
    fd = os.open(archive.dialog_path, os.O_WRONLY)
    os.pwrite(fd, b"EVIL", at % (len(LINE) * len(lines)))
    os.close(fd)
    keeper.check()
    assert keeper.notes == []
    keeper.close()
    assert shown(archive) == b"".join(lines)
    assert "overwritten" in keeper.notes[0]


def test_without_a_copy_the_loss_is_told(archive: Archive) -> None:
    keeper = Keeper(archive)
    assert archive.copy is not None
    archive.copy.close()
    archive.copy.fd = os.open("/dev/full", os.O_WRONLY)
    keeper.append([LINE], 0)
    keeper.copy()  # the copy's disk is full
    Path(archive.dialog_path).unlink()
    keeper.check()
    assert "could not be restored" in keeper.notes[0]


# Through the program

KINDS = {
    "overwrite": "overwritten",
    "append": "written to",
    "garbage": "written to",
    "rename_archive": "removed",
    "rename_dialog": "removed",
    "remove_archive": "removed",
    "truncate": "truncated",
    "longer": "written to",
    "link": "replaced",
    "folder": "replaced",
    "fifo": "replaced",
    "other_file": "replaced",
}


def test_an_agent_that_meddles_with_its_record(tmp_path: Path) -> None:
    started = {
        how: Run(
            tmp_path, child("meddler", tmp_path / how, how), archive=tmp_path / how
        )
        for how in KINDS
    }
    for how, each in started.items():
        each.end()
        assert (how, each.code) == (how, 0)
        assert (how, each.messages) == (how, ["before", "after"])
        assert each.complete["status"] == "success"
        notes = "; ".join(each.summary["notes"])
        assert KINDS[how] in notes, how
        assert "restored" in notes, how
    assert not (tmp_path / "link.victim").exists()


def test_an_archive_that_becomes_a_file(tmp_path: Path) -> None:
    """The file makes place for the record, and is kept."""
    archive = tmp_path / "archive"
    command = child("meddler", archive, "file_in_place")
    with Run(tmp_path, command, archive=archive) as started:
        assert started.wait() == 0
        assert started.alive() == {}
        assert started.stdout == b"before\n\nafter\n\n"
        assert "Traceback" not in started.stderr
        assert started.messages == ["before", "after"]
        assert started.types[-1] == "complete"
    [aside] = tmp_path.glob("archive.*")
    assert aside.read_bytes() == b"in the way"


@pytest.mark.parametrize("how", ["summary_folder", "modes"])
def test_a_record_that_is_shut(tmp_path: Path, how: str) -> None:
    archive = tmp_path / "archive"
    with Run(tmp_path, child("meddler", archive, how), archive=archive) as started:
        assert started.wait() == 0
        archive.chmod(0o700)
        assert started.types[-1] == "complete"
        assert started.messages == ["before", "after"]
        assert "Traceback" not in started.stderr
