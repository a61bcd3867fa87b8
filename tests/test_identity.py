"""Another user for the agent: who it is then, and what it cannot do."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
from pathlib import Path

import pytest

from agent_wrap.errors import UsageError
from agent_wrap.identity import find_identity

from .harness import Run, wait_for, wrapper

NOBODY = pwd.getpwnam("nobody")
NOGROUP = grp.getgrgid(NOBODY.pw_gid).gr_name
NO_NUMBER = "54321"

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change users")

# Reading the option


@only_root
def test_names_and_numbers() -> None:
    for text in ("nobody", str(NOBODY.pw_uid), f"nobody:{NOGROUP}"):
        found = find_identity(text)
        assert (found.uid, found.gid) == (NOBODY.pw_uid, NOBODY.pw_gid)
        assert found.environment["USER"] == found.environment["LOGNAME"] == "nobody"
        assert found.environment["HOME"] == NOBODY.pw_dir
        assert NOBODY.pw_gid in found.groups


@only_root
def test_a_number_without_a_name() -> None:
    """Containers have such users."""
    found = find_identity(NO_NUMBER)
    assert (found.uid, found.gid) == (int(NO_NUMBER), int(NO_NUMBER))
    assert found.environment == {"HOME": "/", "USER": NO_NUMBER, "LOGNAME": NO_NUMBER}
    assert find_identity(f"{NO_NUMBER}:0").gid == 0


@only_root
@pytest.mark.parametrize("text", ["no-such-user", "nobody:no-such-group", ":", "-1"])
def test_nobody_of_that_name(text: str) -> None:
    with pytest.raises(UsageError, match="no such"):
        find_identity(text)


def test_only_root_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="root"):
        find_identity("nobody")


# Through the program


def as_nobody(folder: Path, script: str, *options: str, **how: object) -> Run:
    words = ("--user", "nobody", *options)
    with Run(folder, ["sh", "-c", script], *words, **how) as started:  # type: ignore[arg-type]
        return started.end()


@only_root
def test_who_the_agent_is(open_folder: Path) -> None:
    script = "id -u; id -g; id -G; echo $HOME $USER $LOGNAME; : > /dev/stdout"
    done = as_nobody(open_folder, script)
    uid, gid = str(NOBODY.pw_uid), str(NOBODY.pw_gid)
    groups = " ".join(map(str, os.getgrouplist("nobody", NOBODY.pw_gid)))
    login = f"{NOBODY.pw_dir} nobody nobody"
    assert done.stdout.decode().splitlines() == [uid, gid, groups, login]
    assert done.code == 0


@only_root
def test_it_cannot_become_root_again(open_folder: Path) -> None:
    script = "grep -E '^(Uid|Gid|CapEff|CapPrm):' /proc/self/status"
    done = as_nobody(open_folder, script)
    values = dict(line.split(":\t") for line in done.stdout.decode().splitlines())
    assert set(values["Uid"].split()) == {str(NOBODY.pw_uid)}
    assert set(values["Gid"].split()) == {str(NOBODY.pw_gid)}
    assert int(values["CapEff"], 16) == int(values["CapPrm"], 16) == 0


@only_root
def test_it_cannot_touch_its_record(open_folder: Path) -> None:
    """Also in a folder that was everybody's before."""
    archive = open_folder / "archive"
    archive.mkdir()
    archive.chmod(0o777)
    os.chown(archive, NOBODY.pw_uid, NOBODY.pw_gid)
    tries = (
        "echo x >> dialog.jsonl",
        "rm dialog.jsonl",
        "mv dialog.jsonl other",
        "truncate -s 0 dialog.jsonl",
        "ln -s /dev/null summary.json",
        "echo x > stdout.log",
        "echo x > new",
        "chmod 777 .",
        "chmod 777 dialog.jsonl",
        f"mv {archive} {archive}.moved",
    )
    script = "; ".join([f"cd {archive}", *(f"({t}) && echo DONE" for t in tries)])
    done = as_nobody(open_folder, f"{script}; echo over", archive=archive)
    assert done.messages == ["over"]
    assert done.summary["notes"] == []
    status = archive.stat()
    assert (status.st_uid, oct(status.st_mode & 0o7777)) == (0, "0o755")
    assert {path.stat().st_uid for path in archive.iterdir()} == {0}


@only_root
def test_it_can_read_its_record_and_its_prompt(open_folder: Path) -> None:
    script = "cat {prompt_file}; cat dialog.jsonl > /dev/null && echo; echo can read"
    done = as_nobody(
        open_folder,
        f"cd {open_folder / 'archive'}; {script}",
        *("--prompt", "Do it"),
        archive=open_folder / "archive",
    )
    assert b"Do it" in done.stdout
    assert b"can read" in done.stdout


@only_root
def test_it_ends_with_us(open_folder: Path) -> None:
    """The parent-death signal is set after the change of user, which clears it."""
    command = ["sh", "-c", "echo there; exec sleep 60"]
    with Run(open_folder, command, "--user", "nobody") as started:
        started.until(lambda: b"there" in started.raw, "the agent")
        started.process.send_signal(19)  # it must not act on what follows
        for pid in list(started.alive()):
            if pid != started.process.pid and "agent-wrap" in started.alive().get(
                pid, ""
            ):
                os.kill(pid, 9)
        started.process.kill()
        wait_for(lambda: not started.alive(), "the end of the agent")


@only_root
def test_a_place_that_it_cannot_enter(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    with Run(open_folder, ["pwd"], "--user", "nobody", "--cwd", str(closed)) as started:
        assert started.wait() == 126
        assert started.problems() == []
    assert started.summary["reason"] == "spawn_failed"


@only_root
def test_a_command_that_it_may_not_execute(open_folder: Path) -> None:
    program = open_folder / "program"
    shutil.copy("/bin/true", program)
    program.chmod(0o700)
    with Run(open_folder, [str(program)], "--user", "nobody") as started:
        assert started.wait() == 126
        assert started.problems() == []
    with Run(open_folder, [str(program)]) as started:
        assert started.wait() == 0


@only_root
def test_an_archive_that_cannot_be_made_ours(open_folder: Path) -> None:
    """A open_folder where modes mean nothing: the agent is not started."""
    done = wrapper("--user", "nobody", "--archive", "/proc/self", "--", "true")
    assert done.returncode == 125
    assert b"Traceback" not in done.stderr


def test_a_wrong_user_is_wrong_usage(tmp_path: Path) -> None:
    words = ("--user", "no-such-user", "--archive", str(tmp_path / "a"), "--")
    done = wrapper(*words, "touch", str(tmp_path / "started"))
    assert done.returncode == 2
    assert not (tmp_path / "started").exists()
