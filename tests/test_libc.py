"""The C library is called without ctypes, and answers as it does with it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile

import pytest

from agent_wrap import libc
from agent_wrap.libc import contains, fallocate, prctl

KEEP_SIZE = 1
GET_DUMPABLE, SET_NO_SUCH_THING = 3, 987654


def test_prctl_is_called() -> None:
    assert not prctl(SET_NO_SUCH_THING, 0)
    script = """if True:
        import ctypes
        from agent_wrap.libc import prctl
        worked, held = prctl(36, 1), ctypes.c_int(0)
        ctypes.CDLL(None).prctl(37, ctypes.byref(held))
        print(worked, held.value)
    """
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "1"], done.stderr


@pytest.mark.parametrize("size", [1 << 16, 3 << 30])
def test_fallocate_takes_room_and_keeps_the_size(size: int) -> None:
    with tempfile.TemporaryFile() as file:
        number = fallocate(file.fileno(), KEEP_SIZE, size)
        if number in (errno.EOPNOTSUPP, errno.ENOSPC):
            pytest.skip(f"not on this file system: {errno.errorcode[number]}")
        found = os.fstat(file.fileno())
        assert (number, found.st_size) == (0, 0)
        assert found.st_blocks * 512 >= size


def test_a_failure_gives_its_number() -> None:
    read, write = os.pipe()
    try:
        assert fallocate(write, KEEP_SIZE, 1) == errno.ESPIPE
        os.close(write)
        assert fallocate(write, KEEP_SIZE, 1) == errno.EBADF
    finally:
        os.close(read)


def test_without_ctypes_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libc, "_ctypes", None)
    monkeypatch.setattr(libc, "_found", {})
    assert not prctl(GET_DUMPABLE, 0)
    assert fallocate(0, KEEP_SIZE, 1) == errno.ENOSYS
    assert contains(b"abc", b"b")
    assert contains(b"abc" * 20_000, b"b")


@pytest.mark.parametrize("size", [1, 300, 1 << 20])
def test_parts_are_found_wherever_they_are(size: int) -> None:
    rest = b"\0a" * size
    for data in (b"a\0bc" + rest, rest + b"a\0bc", rest + b"a\0bc" + rest):
        assert contains(data, b"a\0bc")
        assert not contains(data, b"a\0bd")
    assert contains(rest, b"")
    assert not contains(b"", rest)
