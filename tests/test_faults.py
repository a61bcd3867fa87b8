"""A poor place to run in: what is missing, closed, limited or crowded.

Each run here is good but for its surroundings: the agent must not notice, and the
record is whole.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .harness import SOON, WRAPPER, Run, child, scripted

GOOD = ("init", "text=Hi", "tool=t1", "done=t1", "result")
CLAUDE = ("--adapter", "claude-code")
NOBODY = 65534
LONG = bool(os.environ.get("AGENT_WRAP_LONG"))


def good(started: Run) -> None:
    """What any good run leaves."""
    started.end()
    assert started.code == 0, started.stderr
    assert started.messages == ["Hi"]
    assert started.types == ["init", "prompt", "message", "tool", "tool", "complete"]
    assert started.complete["status"] == "success"


def limit(what: int, size: int) -> Callable[[], None]:
    def prepare() -> None:
        resource.setrlimit(what, (size, size))

    return prepare


def close(*fds: int) -> Callable[[], None]:
    def prepare() -> None:
        for fd in fds:
            os.close(fd)

    return prepare


# Descriptors


@pytest.mark.parametrize("fds", [(0,), (1,), (2,), (1, 2), (0, 1, 2)], ids=str)
def test_closed_from_the_start(tmp_path: Path, fds: tuple[int, ...]) -> None:
    good(Run(tmp_path, scripted(*GOOD), *CLAUDE, prepare=close(*fds)))


def test_output_that_nobody_reads(tmp_path: Path) -> None:
    """A pipe whose reader is gone, a device that is full: no business of the agent."""
    ours, gone = os.pipe()
    os.close(ours)
    with open("/dev/full", "wb") as full:
        for out in (gone, full):
            steps = ("err=oops", *GOOD)
            good(Run(tmp_path, scripted(*steps), *CLAUDE, stdout=out, stderr=out))
    os.close(gone)


def test_output_that_stalls(tmp_path: Path) -> None:
    """A reader that takes nothing holds the agent up for a second at most."""
    ours, theirs = os.pipe()
    try:
        command = child("flood", 1, 3_000_000)
        with Run(tmp_path, command, stdout=theirs, stderr=theirs) as started:
            started.end()
        assert started.code == 0
        assert len(started.raw) > 3_000_000
        assert started.seconds < SOON
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("count", [20, 24, 32])
def test_few_descriptors(tmp_path: Path, count: int) -> None:
    """Enough for the work: nothing is lost. (Fewer: the next test.)"""
    prepare = limit(resource.RLIMIT_NOFILE, count)
    good(Run(tmp_path, scripted(*GOOD), *CLAUDE, prepare=prepare))


@pytest.mark.parametrize("count", range(4, 20) if LONG else [4, 8, 12, 14])
def test_too_few_descriptors(tmp_path: Path, count: int) -> None:
    """However few: no agent survives, and no dialog is left without an end."""
    prepare = limit(resource.RLIMIT_NOFILE, count)
    quick = ("--timeout", "0.4", "--kill-grace", "0.1")
    with Run(tmp_path, child("stubborn_tree"), *quick, prepare=prepare) as started:
        started.wait()
        assert started.alive() == {}
        if started.dialog:
            assert started.types[-1] == "complete", started.stderr


# Memory


@pytest.mark.parametrize("megabytes", [200, 400])
def test_a_small_address_space(tmp_path: Path, megabytes: int) -> None:
    prepare = limit(resource.RLIMIT_AS, megabytes << 20)
    good(Run(tmp_path, scripted(*GOOD), *CLAUDE, prepare=prepare))


@pytest.mark.parametrize("megabytes", [16, 24, 40, 60])
def test_an_address_space_that_is_too_small(tmp_path: Path, megabytes: int) -> None:
    """Whatever cannot be loaded: nothing survives, what was begun is ended."""
    prepare = limit(resource.RLIMIT_AS, megabytes << 20)
    with Run(tmp_path, ["sleep", "0.2"], prepare=prepare) as started:
        started.wait()
        assert started.alive() == {}
        if started.dialog:
            assert started.types[-1] == "complete", started.stderr


def test_a_line_that_does_not_fit_into_memory(tmp_path: Path) -> None:
    """One endless line, more than we may have: the run ends with a record."""
    prepare = limit(resource.RLIMIT_AS, 220 << 20)
    command = child("flood", 1, 60_000_000, "--endless")
    with Run(tmp_path, command, "--echo", "none", prepare=prepare) as started:
        started.wait()
        assert started.alive() == {}
        assert started.types[-1] == "complete"


def test_no_more_processes_than_ours(tmp_path: Path) -> None:
    """The agent cannot be started: no hang, and it is told."""
    if os.geteuid() == 0:
        pytest.skip("root has no limit of processes")
    prepare = limit(resource.RLIMIT_NPROC, 1)
    with Run(tmp_path, ["true"], prepare=prepare) as started:
        assert started.wait() in (125, 126)


# The environment


SURROUNDINGS: list[dict[str, str]] = [
    {"HOME": ""},
    {"HOME": "/nonexistent/home"},
    {"LANG": "C", "LC_ALL": "C"},
    {"LANG": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "nonsense"},
    {"TZ": "America/New_York"},
    {"TMPDIR": "/nonexistent"},
    {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
    {"PYTHONOPTIMIZE": "2"},
    {"PATH": "/nonexistent"},
    {"TERM": "", "COLUMNS": "0"},
]


def test_surroundings(tmp_path: Path) -> None:
    text = "text=Hi \u00fc \U0001f511"
    command = scripted("init", text, "result")
    runs = [Run(tmp_path, command, *CLAUDE, env=env) for env in SURROUNDINGS]
    for variables, started in zip(SURROUNDINGS, runs, strict=True):
        started.end()
        assert started.messages == [text[5:]], variables
        assert started.entries[-1]["ts"].endswith("+00:00"), variables


def test_an_empty_environment(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    done = subprocess.run(
        [WRAPPER, "--archive", str(archive), *CLAUDE, "--", *scripted(*GOOD)],
        env={},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (archive / "dialog.jsonl").read_bytes().endswith(b"}\n")


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = [WRAPPER, "--archive", str(tmp_path / "a"), "--", "echo", "Hi"]
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "-", *words],
        cwd=gone,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"Hi\n"), done.stderr
    assert b"Traceback" not in done.stderr
    assert b'"success"' in (tmp_path / "a" / "dialog.jsonl").read_bytes()


def test_a_folder_that_is_closed_to_us(tmp_path: Path) -> None:
    """A user without rights to where it stands: the agent stands there as well."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    def leave_rights() -> None:
        os.chdir(closed)
        # Only for files: the interpreter may itself lie where only root comes.
        prctl_drop_dac_override()

    archive = tmp_path / "a"
    archive.mkdir()
    os.chown(closed, NOBODY, NOBODY)
    words = [WRAPPER, "--archive", str(archive), "--", "echo", "Hi"]
    done = subprocess.run(
        words,
        preexec_fn=leave_rights,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"Hi\n"), done.stderr


def prctl_drop_dac_override() -> None:
    """Take root's right to pass every mode away for what is executed next."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


# No /proc

UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child")


def without_proc() -> list[str]:
    """Give words that run a command where /proc is an empty folder."""
    hide = 'mount -t tmpfs none /proc && exec "$@"'
    return [*UNSHARE, "sh", "-c", hide, "-"]


def works(words: list[str]) -> bool:
    if os.geteuid() != 0 or shutil.which(words[0]) is None:
        return False
    done = subprocess.run([*words, "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not works(without_proc()), reason="no right to hide /proc")
def test_without_proc(tmp_path: Path) -> None:
    good(Run(tmp_path, scripted(*GOOD), *CLAUDE, under=without_proc()))
    command = child("stubborn_tree")
    options = ("--timeout", "0.7", "--kill-grace", "0.1")
    with Run(tmp_path, command, *options, under=without_proc()) as started:
        assert started.wait() == 124
        assert started.alive() == {}
        assert started.types[-1] == "complete"


# A crowd


def test_many_runs_at_once(tmp_path: Path) -> None:
    count = int(os.environ.get("AGENT_WRAP_CROWD", "10"))
    started = [Run(tmp_path, scripted(*GOOD), *CLAUDE) for _ in range(count)]
    for each in started:
        good(each)


def test_many_runs_on_one_archive(tmp_path: Path) -> None:
    """One has it, the others are refused before they start an agent."""
    archive = tmp_path / "archive"
    steps = ("init", "text=Hi", "until=go", "result")
    with Run(tmp_path, scripted(*steps), *CLAUDE, archive=archive) as first:
        first.until_message("Hi")
        others = [Run(tmp_path, ["true"], archive=archive) for _ in range(4)]
        assert [other.wait() for other in others] == [125] * 4
        (first.folder / "go").touch()
        first.end()
    assert first.types.count("complete") == 1


def test_an_interpreter_that_shows_everything(tmp_path: Path) -> None:
    """Warnings as errors, development mode: nothing of ours is sloppy."""
    under = (sys.executable, "-X", "dev", "-W", "error")
    good(started := Run(tmp_path, scripted(*GOOD), *CLAUDE, under=under))
    assert started.stderr == ""
