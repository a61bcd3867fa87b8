"""Nothing survives: ways out by kinds of stray processes, whoever the wrapper is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import agent_wrap
from agent_wrap import process

from .harness import SOON, WRAPPER, Run, child, in_one_of_few, run, wait_for
from .killing import end_all, having, new_mark
from .ways_out import (
    KINDS,
    LASTING,
    MOST,
    QUICK,
    TERM,
    WAYS,
    Way,
    at_once,
    leave,
)

NOBODY = 65534
WHOLE = bool(os.environ.get("AGENT_WRAP_KILLS"))
"""The whole matrix, kind by kind, rather than all kinds at once."""


@pytest.fixture
def mark() -> Iterator[str]:
    """A word for the run's processes; none of them outlives the test."""
    mark = new_mark()
    yield mark
    end_all(mark)


def test_all_kinds_at_once(tmp_path: Path) -> None:
    kinds = ",".join(KINDS) if WHOLE else MOST
    at_once(WAYS, lambda name: leave(tmp_path, new_mark(), kinds, WAYS[name]))


def test_each_kind_alone(tmp_path: Path) -> None:
    at_once(
        (*KINDS, ""), lambda kind: leave(tmp_path, new_mark(), kind, WAYS["exit 0"])
    )


@pytest.mark.skipif(not WHOLE, reason="AGENT_WRAP_KILLS=200 runs it")
@pytest.mark.parametrize("kind", [*KINDS, ""])
def test_the_whole_matrix(tmp_path: Path, kind: str) -> None:
    at_once(WAYS, lambda name: leave(tmp_path, new_mark(), kind, WAYS[name]))


def test_what_had_to_be_killed_is_named(tmp_path: Path, mark: str) -> None:
    done = leave(tmp_path, mark, LASTING, WAYS["exit 0"])
    killed = done.summary["killed"]
    assert [kill["name"] for kill in killed] == ["sleep"] * 5
    assert {kill["signal"] for kill in killed} == {"SIGKILL"}
    assert len({kill["pid"] for kill in killed}) == 5
    for name in ("supervisor killed", "guardian killed"):
        done = leave(tmp_path, mark, LASTING, WAYS[name])
        names = sorted(kill["name"] for kill in done.summary["killed"])
        assert names[-5:] == ["sleep"] * 5, name
        # And the agent, which ignores SIGTERM, unless its parent's death came first.
        ours = Path(sys.executable)
        assert set(names[:-5]) <= {ours.name, ours.resolve().name, "python"}, name


def test_who_obeys_is_not_killed(tmp_path: Path, mark: str) -> None:
    """A daemon gets its SIGTERM and the time to act on it."""
    daemon = f"setsid sh -c 'trap \"exit 0\" TERM; touch there; sleep {mark} & wait'"
    ready = "until [ -e there ]; do sleep 0.01; done"
    command = ["sh", "-c", f"({daemon} &); {ready}; echo over"]

    def one_run() -> Run:
        with tempfile.TemporaryDirectory(dir=tmp_path) as place:
            done = run(tmp_path, command, "--drain-grace", "0", cwd=Path(place))
        assert having(mark) == {}
        return done

    # It has 50 ms.
    done = in_one_of_few(one_run, lambda done: not done.summary["killed"])
    assert done.summary["killed"] == []


def test_nothing_that_was_started(tmp_path: Path, mark: str) -> None:
    with Run(tmp_path, [f"/nonexistent/{mark}", mark]) as started:
        started.end()
    assert (started.code, having(mark)) == (127, {})


def test_chains_of_forkers(tmp_path: Path, mark: str) -> None:
    """Each lives only for a moment: what is found is gone before it is signalled."""
    done = leave(tmp_path, mark, "chain,chain,chain,chain", WAYS["exit 0"])
    assert done.seconds < SOON


def test_bystanders_are_left_alone(tmp_path: Path, mark: str) -> None:
    """Processes of the same user, session and program, that do not descend from us."""
    bystander = new_mark()
    others = [
        subprocess.Popen(["sleep", bystander]),
        subprocess.Popen(["sleep", bystander], start_new_session=True),
    ]
    # An orphan, so that its parent is whoever takes in orphans here.
    subprocess.run(["sh", "-c", f"sleep {bystander} & exec 0>&- 1>&- 2>&-"], check=True)
    try:
        wait_for(lambda: len(having(bystander)) == 3, "three bystanders")
        before = having(bystander)
        for name in ("stopped, ignored", "supervisor killed"):
            leave(tmp_path, mark, LASTING, WAYS[name])
            assert having(bystander) == before, name
    finally:
        end_all(bystander)
        for other in others:
            other.wait()


def test_a_child_that_we_were_started_with(tmp_path: Path) -> None:
    """A shell's job that becomes ours by `exec` descends from us: it ends with us."""
    mark = new_mark()
    shell = f"sleep {mark} & exec {WRAPPER} -- true"
    with Run(
        tmp_path, ["true"], "--drain-grace", "0.1", under=("sh", "-c", shell)
    ) as started:
        assert started.wait() == 0
    assert having(mark) == {}


# As PID 1

PID_1 = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def works(words: Sequence[str]) -> bool:
    if shutil.which(words[0]) is None:
        return False
    done = subprocess.run([*words, "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not works(PID_1), reason="no right to make a pid namespace")
@pytest.mark.parametrize("name", ["exit 3", "timeout", "supervisor killed"])
def test_as_pid_1(tmp_path: Path, mark: str, name: str) -> None:
    """The namespace ends with its first process; the record tells of the strays."""
    way = WAYS[name]
    if way.act is not None:
        # `unshare` stands above the guardian.
        way = Way(way.how, way.code, *way.options, act=kill_below_the_first)
    done = leave(tmp_path, mark, MOST, way, under=PID_1)
    names = {kill["name"] for kill in done.summary["killed"]}
    assert "sleep" in names


def kill_below_the_first(started: Run) -> None:
    os.kill(process.descendants(started.process.pid)[1], signal.SIGKILL)


@pytest.mark.skipif(not works(PID_1), reason="no right to make a pid namespace")
def test_stopped_as_pid_1(tmp_path: Path, mark: str) -> None:
    """What `docker stop` does: SIGTERM to PID 1 of the container alone."""

    def stop(started: Run) -> None:
        os.kill(process.descendants(started.process.pid)[0], signal.SIGTERM)

    way = Way("hang", 143, act=stop)
    done = leave(tmp_path, mark, MOST, way, under=PID_1)
    assert done.summary["reason"] == "stopped"


# As an ordinary user


def become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def paths() -> str:
    """Give where our packages are, for an interpreter that is not the venv's."""
    packages = Path(sys.prefix, "lib")
    root = Path(agent_wrap.__file__).parent.parent
    return ":".join(
        [
            *(str(root), str(root / "adapters")),
            *map(str, packages.glob("python*/site-packages")),
        ]
    )


def python_of_nobody() -> str:
    """Give an interpreter that any user can run with our packages, or nothing."""
    if os.geteuid() != 0:
        return ""
    minor = f"python3.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{minor}", f"/usr/local/bin/{minor}"):
        try:
            done = subprocess.run(
                [program, "-c", "import anyio, orjson, agent_wrap.supervisor"],
                env={"PYTHONPATH": paths()},
                preexec_fn=become_nobody,
                capture_output=True,
                cwd="/",
                check=False,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return program
    return ""


@pytest.mark.parametrize("name", ["exit 0", "stopped, ignored", "supervisor killed"])
def test_as_an_ordinary_user(open_folder: Path, mark: str, name: str) -> None:
    python = python_of_nobody()
    if not python:
        pytest.skip("needs root, and an interpreter that every user can run")
    archive = open_folder / "archive"
    archive.mkdir()
    os.chown(archive, NOBODY, NOBODY)
    script = open_folder / "strays.py"
    shutil.copy(child("strays")[-1], script)
    way = WAYS[name]
    command = ["python3", "-S", str(script), mark, ",".join(KINDS), way.how]
    with Run(
        open_folder,
        [python, *command[1:]],
        *QUICK,
        *way.options,
        archive=archive,
        env={"PYTHONPATH": paths()},
        prepare=become_nobody,
        under=(python,),
    ) as started:
        if way.act is not None:
            started.until(lambda: b"all are there" in started.raw, "strays")
            way.act(started)
        assert started.wait() == way.code, (
            str(started.complete)
            + str(started.summary["notes"])
            + str(started.summary["adapter"])
        )
        assert having(mark) == {}
        assert started.problems() == []


# As a library


def test_as_a_library(tmp_path: Path, mark: str) -> None:
    """The host's own children are not waited for, its handlers are not touched."""
    bystander = new_mark()
    ours = subprocess.Popen(["sleep", bystander])
    handlers = {n: signal.getsignal(n) for n in (TERM, signal.SIGINT, signal.SIGCHLD)}
    try:
        for how, code in (("exit=0", 0), ("hang", 124)):
            result = agent_wrap.run(
                child("strays", mark, MOST, how),
                archive=str(tmp_path / how),
                drain_grace=0.1,
                kill_grace=0.1,
                timeout=0.7 if how == "hang" else None,
            )
            assert having(mark) == {}
            assert result.exit_code == code
            assert {"pid", "name", "signal"} == set(result.killed[0])
        assert ours.poll() is None
        assert list(having(bystander)) == [ours.pid]
        assert handlers == {n: signal.getsignal(n) for n in handlers}
    finally:
        ours.kill()
        ours.wait()


async def test_a_host_that_gives_up(tmp_path: Path, mark: str) -> None:
    """Leaving the block, for whatever reason, ends all of the run."""

    async def give_up() -> None:
        async with agent_wrap.open_run(
            child("strays", mark, MOST, "hang"),
            archive=str(tmp_path / "a"),
            drain_grace=0.1,
            kill_grace=0.1,
        ) as started:
            async for _ in started:
                break
            raise LookupError

    with pytest.raises(LookupError):
        await give_up()
    assert having(mark) == {}
    assert b'"complete"' in (tmp_path / "a" / "dialog.jsonl").read_bytes()


def test_a_host_that_is_killed(tmp_path: Path, mark: str) -> None:
    """Its runs are processes of their own: they end by themselves, with a record."""
    host = (
        "import agent_wrap, sys\n"
        "agent_wrap.run(sys.argv[2:], archive=sys.argv[1], kill_grace=0.1, timeout=1.2)"
    )
    command = [sys.executable, "-c", host, str(tmp_path / "a")]
    started = subprocess.Popen([*command, *child("strays", mark, LASTING, "hang")])
    raw = tmp_path / "a" / "stdout.log"
    wait_for(lambda: raw.exists() and raw.read_bytes(), "output")
    started.kill()
    started.wait()
    wait_for(lambda: not having(mark), "the end of the run")
    assert (tmp_path / "a" / "dialog.jsonl").read_bytes().endswith(b"}\n")


# Kernels and sandboxes without pidfds


def test_without_pidfds(tmp_path: Path, mark: str) -> None:
    """What a `sitecustomize` takes away in all interpreters of the run."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "def refuse(*_): raise OSError(38, 'Function not implemented')\n"
        "os.pidfd_open = refuse\n"
    )
    env = {"PYTHONPATH": str(tmp_path)}
    done = leave(tmp_path, mark, LASTING, WAYS["stopped, ignored"], env=env)
    assert len(done.summary["killed"]) == 6
