"""Our own stdout: untouched bytes, a timeline, or nothing; its reader slow or gone."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_wrap.echo import Echo

from .harness import (
    SOON,
    WRAPPER,
    Run,
    child,
    environment,
    in_one_of_few,
    read_terminal,
    run,
    scripted,
    wait_for,
)

CLAUDE = ("--adapter", "claude-code")
STEPS = ("init", "text=Hi there", "tool=t1", "done=t1", "failed=none", "result")


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ours, theirs = os.pipe()
    try:
        yield ours, theirs
    finally:
        for fd in (ours, theirs):
            try:
                os.close(fd)
            except OSError:
                pass


# One file


def test_what_the_reader_takes() -> None:
    with pipe() as (reader, fd):
        echo = Echo(fd)
        echo.write(b"one ")
        echo.write(b"two")
        assert os.read(reader, 100) == b"one two"
        assert not echo.stalled
        echo.close()
        assert os.get_blocking(fd)


def test_a_reader_that_is_behind() -> None:
    with pipe() as (reader, fd):
        echo = Echo(fd)
        data = os.urandom(300_000)
        echo.write(data)
        assert echo.stalled
        got = b""
        while len(got) < len(data):
            got += os.read(reader, 65536)
            echo.flush()
        assert got == data
        assert not echo.stalled
        echo.close()


def test_a_lost_echo_takes_nothing_more() -> None:
    with pipe() as (_, fd):
        echo = Echo(fd)
        echo.write(b"x" * 300_000)
        echo.lose()
        assert not echo.stalled
        echo.write(b"more")
        assert not echo.stalled
        echo.close()


def test_a_reader_that_is_gone() -> None:
    with pipe() as (reader, fd):
        echo = Echo(fd)
        os.close(reader)
        echo.write(b"one")
        assert echo.lost
        echo.write(b"two")
        echo.close()


def test_a_file_that_is_closed_or_full() -> None:
    with pipe() as (_, fd):
        os.close(fd)
        closed = Echo(fd)
        assert closed.lost
        closed.write(b"one")
        closed.close()
    fd = os.open("/dev/full", os.O_WRONLY)
    full = Echo(fd)
    full.write(b"one")
    assert full.lost
    full.close()
    os.close(fd)


def test_a_regular_file_grows_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"before\n")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    echo = Echo(fd)
    echo.write(b"x" * 1_000_000)
    assert not echo.stalled
    echo.close()
    os.write(fd, b"after")
    os.close(fd)
    assert path.read_bytes() == b"before\n" + b"x" * 1_000_000 + b"after"


def test_a_socket() -> None:
    """Some job runners give a socket pair: it cannot be opened anew."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        echo = Echo(theirs.fileno())
        echo.write(b"one")
        assert ours.recv(10) == b"one"
        echo.write(b"x" * 10_000_000)
        assert echo.stalled
        echo.close()
        assert theirs.getblocking()


# Through the program


def test_native_is_the_agents_output_untouched(tmp_path: Path) -> None:
    odd = r'raw=\x1b[31m\xff\x00 caf\xc3\xa9\r\n{"a": "\xed\xa0\xbd'
    for words in ((), ("--echo", "native")):
        done = run(tmp_path, scripted("err=note", odd), *words)
        assert done.stdout == done.raw
        assert done.stderr == "note\n"


def test_pretty_shows_the_whole_dialog(tmp_path: Path) -> None:
    options = (*CLAUDE, "--echo", "pretty", "--prompt", "do it")
    # An agent that says nothing for a second has an `init` without its model.
    done = in_one_of_few(
        lambda: run(tmp_path, scripted(*STEPS), *options),
        lambda done: done.entries[0]["data"]["model"] != "unknown",
    )
    shown = done.stdout.decode()
    expected = [
        "scripted-model",
        "do it",
        "Hi there",
        "Bash",
        "output of t1",
        "success",
    ]
    assert [text for text in expected if text not in shown] == []
    assert "{" not in shown.replace('{"command": "make"}', "")


def test_pretty_shows_what_was_known_before(tmp_path: Path) -> None:
    options = ("--echo", "pretty", "--prompt", "do it", "--model", "m")
    shown = run(tmp_path, scripted(*STEPS), *CLAUDE, *options).stdout.decode()
    assert "claude-code" in shown.splitlines()[0]
    assert "> do it" in shown.splitlines()


def test_pretty_shows_the_beginning_of_a_silent_agent(tmp_path: Path) -> None:
    options = ("--echo", "pretty", "--prompt", "do it")
    done = run(tmp_path, scripted("sleep=1.2", *STEPS), *CLAUDE, *options)
    shown = done.stdout.decode().splitlines()
    assert done.entries[0]["data"]["model"] == "unknown"
    assert "claude-code" in shown[0]
    assert "> do it" in shown


def test_none_shows_nothing(tmp_path: Path) -> None:
    done = run(
        tmp_path, scripted(*STEPS, "err=still passed"), *CLAUDE, "--echo", "none"
    )
    assert (done.stdout, done.stderr) == (b"", "still passed\n")


def test_auto_on_a_terminal_is_pretty(tmp_path: Path) -> None:
    command = [WRAPPER, *CLAUDE, "--", *scripted(*STEPS)]
    code, shown = read_terminal(command, environment(tmp_path / "archive"))
    assert code == 0
    assert "Hi there" in shown.decode()
    assert '"assistant"' not in shown.decode()
    assert (tmp_path / "archive" / "summary.json").exists()


@contextmanager
def on_a_terminal(folder: Path, *steps: str) -> Iterator[tuple[Run, int]]:
    """Start a run whose controlling terminal is ours; gives our side of it."""
    ours, theirs = os.openpty()

    def prepare() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    how: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    with Run(folder, scripted(*steps), *CLAUDE, prepare=prepare, **how) as started:
        os.close(theirs)
        started.until_message("Hi")
        yield started, ours
        try:
            os.close(ours)
        except OSError:
            pass


def test_control_c(tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, "init", "text=Hi", "sleep=60") as (started, terminal):
        os.write(terminal, b"\x03")
        assert started.wait() == 130
        assert started.problems() == []


def test_the_terminal_goes_away(tmp_path: Path) -> None:
    with on_a_terminal(tmp_path, "init", "text=Hi", "sleep=60") as (started, terminal):
        os.close(terminal)
        assert started.wait() == 129
        assert started.problems() == []


@pytest.mark.parametrize("streams", ["stdout", "both"])
def test_a_reader_that_takes_nothing(tmp_path: Path, streams: str) -> None:
    """The run goes on without it, and says so where that is possible."""
    with pipe() as (_, fd):
        stderr = fd if streams == "both" else None
        with Run(
            tmp_path, child("flood", 1, 3_000_000), stdout=fd, stderr=stderr
        ) as started:
            started.end()
    assert started.code == 0
    assert started.messages[-1] == "flood over"
    assert started.seconds < SOON
    if streams == "stdout":
        assert started.stderr.count("\n") == 1
        assert "echo ends" in started.stderr


def test_a_full_terminal_of_errors(tmp_path: Path) -> None:
    """Only stderr is stalled, and it is where we would complain."""
    with (
        pipe() as (_, fd),
        Run(tmp_path, child("flood", 2, 3_000_000), stderr=fd) as started,
    ):
        started.end()
    assert started.messages == ["flood over"]
    assert started.seconds < SOON


def test_a_slow_reader_changes_nothing_of_the_record(tmp_path: Path) -> None:
    """It takes a little all the time, so it is never given up; nor may it cost us
    what the agent said last."""
    options = ("--drain-grace", "0.3")
    with (
        pipe() as (reader, fd),
        Run(tmp_path, child("flood", 1, 900_000), *options, stdout=fd) as started,
    ):
        os.close(fd)
        got = b""
        while part := os.read(reader, 32_768):
            got += part
            time.sleep(0.04)
        started.end()
    assert (started.code, started.summary["reason"]) == (0, "completed")
    assert started.messages[-1].endswith("flood over")
    assert len(started.raw) > 900_000
    assert got == started.raw


def test_the_end_is_on_disk_before_a_slow_reader_has_read_it(tmp_path: Path) -> None:
    with (
        pipe() as (reader, fd),
        Run(tmp_path, child("flood", 1, 250_000), stdout=fd) as started,
    ):
        os.close(fd)
        dialog = started.archive / "dialog.jsonl"
        took = 0
        end = time.monotonic() + 6
        while time.monotonic() < end:
            took += len(os.read(reader, 4096))
            if dialog.exists() and b'"complete"' in started.dialog:
                break
            time.sleep(0.2)
        assert took < 100_000
        while os.read(reader, 1 << 20):
            pass
        started.end()
    assert (started.code, started.summary["reason"]) == (0, "completed")


def test_a_reader_that_is_gone_is_no_error(tmp_path: Path) -> None:
    with pipe() as (reader, fd):
        os.close(reader)
        with Run(tmp_path, child("flood", 1, 500_000), stdout=fd) as started:
            started.end()
        assert (started.code, started.stderr) == (0, "")
        with Run(
            tmp_path, scripted(*STEPS), *CLAUDE, "--echo", "pretty", stdout=fd
        ) as started:
            started.end()
        assert (started.code, started.stderr) == (0, "")
        with Run(tmp_path, scripted("err=note", *STEPS), *CLAUDE, stderr=fd) as started:
            started.end()
        assert started.code == 0


@pytest.mark.parametrize("fds", [(0,), (1,), (2,), (0, 1, 2)])
def test_started_with_files_closed(tmp_path: Path, fds: tuple[int, ...]) -> None:
    def prepare() -> None:
        for fd in fds:
            os.close(fd)

    with Run(tmp_path, child("inside"), prepare=prepare) as started:
        started.end()
    assert started.told["fds"] == [0, 1, 2]


def test_a_full_disk_of_the_callers(tmp_path: Path) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        Run(tmp_path, scripted(*STEPS), *CLAUDE, stdout=full, stderr=full) as started,
    ):
        started.end()
    assert started.code == 0


def test_a_socket_as_our_output(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with Run(
            tmp_path, scripted(*STEPS), *CLAUDE, stdout=theirs.fileno()
        ) as started:
            started.end()
        theirs.close()
        got = b""
        while part := ours.recv(65536):
            got += part
    assert got == started.raw


def test_a_stopped_reader_does_not_hold_up_a_stop_signal(tmp_path: Path) -> None:
    with (
        pipe() as (_, fd),
        Run(tmp_path, child("flood", 1, 10**12), stdout=fd) as started,
    ):
        started.until(lambda: len(started.raw) > 60_000, "output")
        begun = time.monotonic()
        assert started.stop(signal.SIGTERM) == 143
        assert time.monotonic() - begun < SOON
        assert started.problems() == []


def test_the_callers_pipe_stays_blocking(tmp_path: Path) -> None:
    """Whoever shares our stdout must not find it non-blocking afterwards."""
    with pipe() as (reader, fd):
        code = "import os; print(os.get_blocking(1))"
        for command in (scripted(*STEPS), [sys.executable, "-c", code]):
            with Run(tmp_path, command, stdout=fd) as started:
                started.end()
        assert os.get_blocking(fd)
        wait_for(lambda: os.read(reader, 65536), "output")
        subprocess.run(["true"], check=True)
