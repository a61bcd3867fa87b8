"""A file that only grows, and is compared without being held."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_wrap import log_file
from agent_wrap.log_file import LogFile


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[LogFile, LogFile]]:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    files = [LogFile(os.open(tmp_path / name, flags)) for name in ("one", "other")]
    yield files[0], files[1]
    for file in files:
        file.close()


def test_a_file_that_takes_nothing() -> None:
    full = LogFile(os.open("/dev/full", os.O_WRONLY))
    assert not full.append(b"one\n")
    assert full.error is not None
    assert full.error.errno == errno.ENOSPC
    full.sync()
    full.close()
    assert not full.append(b"two\n")
    assert full.error.errno == errno.EBADF


@pytest.mark.parametrize("size", [0, 1, log_file._PIECE, 2 * log_file._PIECE + 7])
def test_files_are_alike_when_every_byte_is(
    pair: tuple[LogFile, LogFile], size: int
) -> None:
    one, other = pair
    for file in pair:
        file.append(b"x" * size)
    assert one.is_like(other)
    one.append(b"y")
    assert not one.is_like(other)
    other.append(b"z")
    assert not one.is_like(other)
