"""How the agent is started, what it finds, and how its descendants are found."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_wrap import process

from .harness import (
    CHILDREN,
    PYTHON,
    WRAPPER,
    Run,
    child,
    run,
    run_all,
    scripted,
    wait_for,
)


def make(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


# Commands that cannot be started


def test_commands_that_cannot_be_started(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    here = str(tmp_path / "here")
    Path(here).mkdir()
    file = make(tmp_path / "file", "no program", 0o644)
    cases: dict[str, tuple[list[str], tuple[str, ...], int, str]] = {
        "name": (["no-such-agent"], (), 127, "not found on PATH=/"),
        "path": ([gone], (), 127, "not found"),
        "below a file": ([f"{file}/x"], (), 127, "not found"),
        "no x bit": ([file], (), 126, "cannot be executed"),
        "folder": ([here], (), 126, "cannot be executed"),
        "interpreter": (
            [make(tmp_path / "bad", "#!/no/such/interpreter\n")],
            (),
            126,
            "interpreter",
        ),
        "shebang": ([make(tmp_path / "bare", "echo hello\n")], (), 126, "ENOEXEC"),
        "empty file": ([make(tmp_path / "empty", "")], (), 126, "ENOEXEC"),
        "cwd gone": (["true"], ("--cwd", gone), 126, f"working directory: {gone}"),
        "cwd a file": (["true"], ("--cwd", file), 126, "working directory"),
        "empty word": ([""], (), 127, "not found"),
        "adapted": (["claude", "-p", "Hi"], (), 127, "claude: command not found"),
    }
    names = list(cases)
    for at in range(0, len(names), 6):
        some = names[at : at + 6]
        given = ("--prompt", "Hi", "--task", "t")
        done = run_all(
            tmp_path,
            {name: (cases[name][0], (*given, *cases[name][1])) for name in some},
        )
        for name in some:
            each, (_, _, code, said) = done[name], cases[name]
            assert (name, each.code) == (name, code)
            assert each.types == ["init", "prompt", "complete"]
            assert each.complete["status"] == "error"
            assert said in each.complete["message"]
            assert said in each.stderr
            assert each.summary["reason"] == "spawn_failed"
            assert each.summary["agent_exit"] == {"code": None, "signal": None}


def test_a_prompt_too_long_for_argv_says_what_to_do(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.write_text("please " * 30_000)
    done = run(tmp_path, ["true", "{prompt}"], "--prompt-file", str(prompt))
    assert done.code == 126
    assert "--prompt-via stdin" in done.complete["message"]
    assert len(done.entries[1]["content"]) == 210_000


def test_a_command_found_on_the_agents_own_path(tmp_path: Path) -> None:
    make(tmp_path / "my-agent", "#!/bin/sh\necho found\n")
    path = f"relative:{tmp_path}:{os.environ['PATH']}"
    done = run(tmp_path, ["my-agent"], env={"PATH": path})
    assert done.messages == ["found"]
    relative = run(tmp_path, ["./my-agent"], "--cwd", str(tmp_path))
    assert relative.messages == ["found"]


# What the agent finds


def test_what_the_agent_finds(tmp_path: Path) -> None:
    env = {"AGENT_WRAP_TASK": "t", "MINE": "caf\N{LATIN SMALL LETTER E WITH ACUTE}"}
    with Run(tmp_path, child("inside"), "--timeout", "100", env=env) as started:
        before = time.time()
        started.end()
    told = started.told
    assert told["fds"] == [0, 1, 2]
    assert told["links"]["0"] == "/dev/null"
    assert told["blocked"] == 0
    pythons_own = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    # What `posix_spawn` starts, and all below it, ignores the C library's own two.
    librarys_own = 1 << 32 - 1 | 1 << 33 - 1
    assert told["ignored"] & ~(pythons_own | librarys_own) == 0
    assert told["sigterm_default"]
    assert told["own_session"]
    assert told["oom_score_adj"] > 0
    assert told["pipe_size"] == process.PIPE_SIZE
    found = told["environment"]
    assert found["MINE"] == env["MINE"]
    assert "AGENT_WRAP_TASK" not in found
    assert len(found["AGENT_WRAP_RUN"]) >= 16
    assert abs(float(found["AGENT_WRAP_DEADLINE"]) - before - 100) < 5
    assert found["SSE_ARCHIVE"] == str(started.archive)


def test_sigpipe_ends_what_the_agent_pipes(tmp_path: Path) -> None:
    """`yes | head` hangs in a child that inherits Python's ignored SIGPIPE."""
    script = "{ yes; kill -l $? >&2; } | head -n 1"
    done = run(tmp_path, ["sh", "-c", script], "--timeout", "5")
    assert (done.code, done.stderr) == (0, "PIPE\n")


def block() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM})


def ignore_children() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def test_signals_that_the_caller_blocks(tmp_path: Path) -> None:
    done = run(tmp_path, child("inside"), prepare=block)
    assert done.told["blocked"] == 1 << signal.SIGUSR1 - 1 | 1 << signal.SIGALRM - 1
    with Run(tmp_path, scripted("init", "sleep=30"), prepare=block) as started:
        started.until(lambda: started.raw, "output")
        assert started.stop() == 143


def test_a_caller_that_ignores_its_children(tmp_path: Path) -> None:
    """SIGCHLD ignored is inherited: the kernel then keeps no exit code for us."""
    with Run(tmp_path, scripted("exit=7"), prepare=ignore_children) as started:
        deadline = time.monotonic() + 4
        while started.process.poll() is None:
            assert time.monotonic() < deadline, "it hangs"
            time.sleep(0.01)
        started.end()
    assert started.code == 7


def test_arguments_that_are_not_utf8(tmp_path: Path) -> None:
    odd = b"caf\xe9\xff"
    place = os.fsencode(tmp_path) + b"/" + odd
    os.mkdir(place)
    command: list[str | bytes] = [*child("inside"), odd, "{prompt}"]
    options: tuple[str | bytes, ...] = (b"--prompt", odd, b"--model", odd)
    with Run(tmp_path, command, *options, b"--cwd", place) as started:
        started.end()
    assert started.told["argv"] == [odd.hex(), odd.hex()]
    assert started.entries[1]["content"].startswith("caf\N{REPLACEMENT CHARACTER}")
    assert started.dialog.isascii()
    with Run(tmp_path, [odd], b"--archive", place + b"/a") as started:
        assert started.wait() == 127
        assert "Traceback" not in started.stderr
        assert os.path.getsize(place + b"/a/dialog.jsonl")


def test_a_caller_whose_folder_is_gone(tmp_path: Path) -> None:
    """Said in one line, never a traceback."""
    place = tmp_path / "gone"
    place.mkdir()
    with Run(tmp_path, ["true"], cwd=place, prepare=place.rmdir) as started:
        assert started.wait() in (0, 2, 125, 126)
        assert "Traceback" not in started.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Run(
        tmp_path,
        ["true"],
        *("--cwd", str(tmp_path)),
        cwd=elsewhere,
        prepare=elsewhere.rmdir,
    ) as started:
        assert started.end().code == 0


# Odd places to run in


def test_a_run_inside_a_run(tmp_path: Path) -> None:
    """The inner one has an archive of its own, and its exit code comes through."""
    inner = tmp_path / "inner"
    command = [WRAPPER, "--archive", str(inner), "--", *child("daemon", "--stubborn")]
    done = run(tmp_path, command, "--adapter", "plain")
    assert done.code == 0
    assert (inner / "summary.json").exists()
    with Run(tmp_path, [*command[:4], *scripted("init", "sleep=60")]) as started:
        started.until(lambda: started.raw, "output")
        assert started.stop() == 143
        assert started.problems() == []
    assert (inner / "dialog.jsonl").read_bytes().count(b'"complete"') == 1
    same = run(tmp_path, [WRAPPER, "--", "true"])  # finds the same SSE_ARCHIVE
    assert same.code == 125


def test_few_files_and_a_tight_umask(tmp_path: Path) -> None:
    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
        os.umask(0o777)

    with Run(
        tmp_path, scripted("init", "text=Hi", "result"), prepare=prepare
    ) as started:
        assert started.wait() in (0, 125)
        assert "Traceback" not in started.stderr
        for path in started.archive.iterdir() if started.code == 0 else ():
            path.chmod(0o600)


def test_many_runs_that_want_one_archive(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    steps = ("init", "text=Hi", "sleep=1", "result")
    runs = [Run(tmp_path, scripted(*steps), archive=archive) for _ in range(4)]
    assert sorted(each.wait() for each in runs) == [0, 125, 125, 125]
    (winner,) = (each for each in runs if each.code == 0)
    assert winner.problems() == []
    for each in runs:
        each.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_as_another_user(tmp_path: Path) -> None:
    """The agent cannot touch its own record."""
    user = pwd.getpwnam("nobody")
    place = Path(tempfile.mkdtemp())
    try:
        place.chmod(0o755)
        archive = place / "archive"
        script = (
            "id -u; id -g; id -G; echo $HOME $USER $LOGNAME;"
            f"echo '{{}}' >> {archive}/dialog.jsonl || rm -f {archive}/dialog.jsonl;"
            f"mv {archive} {place}/elsewhere; true"
        )
        command = ["sh", "-c", script]
        options = ("--user", "nobody", "--cwd", "/", "--adapter", "plain")
        done = run(tmp_path, command, *options, archive=archive)
        assert done.raw.decode().split() == [
            *(str(user.pw_uid), str(user.pw_gid), str(user.pw_gid)),
            *(user.pw_dir, "nobody", "nobody"),
        ]
        assert (archive.stat().st_uid, archive.stat().st_mode & 0o777) == (0, 0o755)
        assert done.summary["notes"] == []
        unknown = Run(tmp_path, ["true"], "--user", "no-such-user", archive=archive)
        assert unknown.wait() in (2, 125)
        assert "no-such-user" in unknown.stderr
        assert unknown.stderr.count("\n") == 1
    finally:
        shutil.rmtree(place)


# The tree


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    """A process with descendants in groups and sessions of their own."""
    command = [*PYTHON, str(CHILDREN / "stubborn_tree.py")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, start_new_session=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"all four are there\n"
        yield started
        for pid in process.descendants(started.pid):
            os.kill(pid, signal.SIGKILL)
        started.kill()


def test_descendants_wherever_they_went(tree: subprocess.Popen[bytes]) -> None:
    found = process.descendants(tree.pid)
    assert len(found) == 4
    assert {process.process_name(pid)[:6] for pid in found} == {"python"}
    parents = [process.parent_of(pid) for pid in found]
    assert set(parents) <= {tree.pid, *found}
    assert parents.count(tree.pid) == 3
    assert process.descendants(found[-1]) == [] or len(found) == 4


def test_signals_reach_descendants_and_nobody_else(
    tree: subprocess.Popen[bytes],
) -> None:
    found = set(process.descendants(tree.pid))
    reached = set(process.signal_descendants(tree.pid, signal.SIGKILL))
    assert reached == found
    wait_for(lambda: not any(process.parent_of(pid) for pid in found), "the end of all")
    assert tree.poll() is None
    assert process.signal_descendants(tree.pid, signal.SIGKILL) in ([], list(found))


def test_what_is_gone_has_no_name_and_no_parent() -> None:
    with subprocess.Popen(["true"]) as ended:
        wait_for(lambda: not process.parent_of(ended.pid), "its end")  # now a zombie
    assert process.process_name(ended.pid) == ""
    assert process.parent_of(ended.pid) == 0
    assert process.descendants(ended.pid) == []
    assert process.parent_of(os.getpid()) == os.getppid()


SWEEP = """
import os, signal, sys, time
from agent_wrap import process
assert process.become_subreaper()
pid = os.fork()
if not pid:
    os.execv(sys.executable, sys.argv[1:])
time.sleep(0.3)
killed = process.sweep()
print(len(killed), process.descendants(os.getpid()))
"""


def test_a_sweep_leaves_nothing() -> None:
    for words in (["--stubborn"], ["--stubborn", "--respawn"]):
        command = child("daemon", *words)
        done = subprocess.run(
            [sys.executable, "-c", SWEEP, *command],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        count, left = done.stdout.splitlines()[-1].split(" ", 1)
        assert int(count) >= 1, done.stderr
        assert left == "[]"


def test_reaping_gives_each_child_once() -> None:
    script = (
        "import os\nfrom agent_wrap import process\n"
        "pids = set()\n"
        "for code in range(3):\n"
        "    pid = os.fork()\n"
        "    if not pid: os._exit(code)\n"
        "    pids.add(pid)\n"
        "found = {}\n"
        "while len(found) < 3: found.update(process.reap())\n"
        "assert set(found) == pids\n"
        "assert sorted(map(os.waitstatus_to_exitcode, found.values())) == [0, 1, 2]\n"
        "assert list(process.reap()) == []\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=10)
