"""Whoever of us is killed at whatever moment: a finished dialog, nothing lost.

The moments are random each time; AGENT_WRAP_KILLS=200 is the long version.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import rescue
from agent_wrap.validate import check
from agent_wrap.writer import Archive

from .harness import Run, run, scripted, wrapper
from .killing import (
    Killed,
    first_child,
    kill_both,
    kill_guardian,
    kill_often,
    kill_supervisor,
)

CLAUDE = ("--adapter", "claude-code")
GOOD = ("init", "text=Hi", "tool=t1", "done=t1", "result")


def agreement(killed: Killed) -> list[str]:
    """Say where summary, dialog and exit code tell different stories."""
    end, summary = killed.run.complete, killed.run.summary
    stories = {
        "status": (summary["status"], end["status"]),
        "message": (summary["message"], end.get("message", "")),
        "turns": (summary["turns"], end["turns"]),
        "in": (summary["tokens"]["in"], end["total_tokens"]["in"]),
        "out": (summary["tokens"]["out"], end["total_tokens"]["out"]),
        "entries": (summary["entries"], len(killed.run.entries)),
    }
    if killed.code >= 0:
        stories["exit code"] = (summary["exit_code"], killed.code)
    return [
        f"killed after {killed.moment:.4f} s: {name}: summary {said!r}, else {true!r}"
        for name, (said, true) in stories.items()
        if said != true
    ]


def test_the_supervisor_is_killed(tmp_path: Path) -> None:
    def look(killed: Killed) -> list[str]:
        found = killed.problems() or agreement(killed)
        if killed.at_once:
            found.append(f"{killed.moment}: alive: {killed.at_once}")
        if killed.code not in (0, 137):
            found.append(f"{killed.moment}: exit {killed.code}")
        return found

    kill_often(tmp_path, kill_supervisor, look)


def test_the_guardian_is_killed(tmp_path: Path) -> None:
    def look(killed: Killed) -> list[str]:
        found = killed.problems() or agreement(killed)
        if killed.left:
            found.append(f"{killed.moment}: alive: {killed.left}")
        return found

    kill_often(tmp_path, kill_guardian, look)


def test_both_are_killed(tmp_path: Path) -> None:
    """The agent goes with them (its own children cannot be helped); repair ends it."""

    def look(killed: Killed) -> list[str]:
        found: list[str] = []
        if not (killed.run.archive / "dialog.jsonl").exists():
            return found  # killed before there was an agent
        done = wrapper("repair", str(killed.run.archive))
        if done.returncode != 0:
            found.append(f"{killed.moment}: repair: {done!r}")
        return found + killed.problems()

    kill_often(tmp_path, kill_both, look)


def test_a_chain_of_kills(tmp_path: Path) -> None:
    """Killed, run again in the same archive, killed again: never a mixture."""
    archive = tmp_path / "archive"
    for said in ("one", "two"):
        steps = ("init", f"text={said}", "sleep=60")
        with Run(tmp_path, scripted(*steps), *CLAUDE, archive=archive) as started:
            started.until_message(said)
            kill_supervisor(started)
            assert started.wait() == 137
            assert started.problems() == []
            assert started.types.count("complete") == 1
    done = run(tmp_path, scripted(*GOOD), *CLAUDE, archive=archive)
    assert done.complete["status"] == "success"


def test_a_stop_signal_and_then_a_kill(tmp_path: Path) -> None:
    steps = ("ignore=SIGTERM", "init", "text=Hi", "tool=t1", "sleep=60")
    with Run(tmp_path, scripted(*steps), *CLAUDE) as started:
        started.until(lambda: "tool" in started.types, "a tool")
        started.process.send_signal(signal.SIGTERM)
        kill_supervisor(started)
        assert started.wait() == 137
        assert started.problems() == []
        assert started.complete["status"] == "error"


def test_a_crash_of_the_supervisor_is_told(tmp_path: Path) -> None:
    """Any other signal than SIGKILL is named as well."""
    steps = ("init", "text=Hi", "sleep=60")
    with Run(tmp_path, scripted(*steps), *CLAUDE) as started:
        started.until_message("Hi")
        os.kill(first_child(started.process.pid), signal.SIGSEGV)
        assert started.wait() == 128 + signal.SIGSEGV
        assert started.problems() == []
        assert "SIGSEGV" in started.complete["message"]


def test_what_the_agent_wrote_into_its_dialog_breaks_no_rescue(tmp_path: Path) -> None:
    """Lines that look like entries and are none, then the kill."""
    archive = tmp_path / "archive"
    lines = ['{"type":"tool"}', '{"type":"message","tokens":[1]}', "{}", "[]", "\\0"]
    script = "; ".join(
        [
            "echo said; echo",
            f"cd {archive}",
            "until grep -q said dialog.jsonl; do sleep 0.05; done",
            *(f"printf '{line}\\n' >> dialog.jsonl" for line in lines),
            "kill -9 $PPID; sleep 60",
        ]
    )
    command = ["sh", "-c", script]
    with Run(tmp_path, command, "--adapter", "plain", archive=archive) as started:
        assert started.wait() == 137
        assert "Traceback" not in started.stderr
        assert started.problems() == []
        assert started.types == ["init", "prompt", "message", "complete"]


# agent-wrap repair


def repair(archive: Path) -> tuple[int, str]:
    done = wrapper("repair", str(archive))
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a good run."""
    return run(tmp_path_factory.mktemp("whole"), scripted(*GOOD), *CLAUDE).archive


@pytest.fixture
def archive(tmp_path: Path, whole: Path) -> Path:
    """A copy of it, without a summary, to be torn."""
    place = tmp_path / "archive"
    shutil.copytree(whole, place)
    (place / "summary.json").unlink()
    return place


def repair_here(archive: Path) -> str:
    """Do the same without a process of its own."""
    opened = Archive.reopen(str(archive))
    try:
        return rescue.repair(opened)
    finally:
        opened.close()


def lines_of(archive: Path) -> list[dict[str, Any]]:
    lines = (archive / "dialog.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def test_a_whole_dialog_stays_as_it_is(whole: Path) -> None:
    before = {path: path.read_bytes() for path in whole.iterdir()}
    code, said = repair(whole)
    assert (code, "is complete" in said) == (0, True)
    assert {path: path.read_bytes() for path in whole.iterdir()} == before


def test_a_dialog_that_is_being_written_is_refused(tmp_path: Path) -> None:
    steps = ("init", "text=Hi", "until=go", "result")
    with Run(tmp_path, scripted(*steps), *CLAUDE) as started:
        started.until_message("Hi")
        before = started.dialog
        code, said = repair(started.archive)
        assert (code, "in use" in said) == (125, True)
        assert started.dialog == before
        (started.folder / "go").touch()
        started.end()
    assert started.complete["status"] == "success"


def test_what_is_there_is_kept_and_counted(archive: Path) -> None:
    """Turns and tokens come from the raw stream, the open tool is closed."""
    dialog = archive / "dialog.jsonl"
    lines = dialog.read_bytes().splitlines(keepends=True)
    kept = b"".join(lines[:4])  # init, prompt, message, the tool's start
    dialog.write_bytes(kept + lines[4][:20])
    code, said = repair(archive)
    assert (code, "2 entries added" in said) == (0, True)
    data = dialog.read_bytes()
    assert data.startswith(kept)
    assert [p for p in check(data) if not p.warning] == []
    tool, end = lines_of(archive)[-2:]
    assert (tool["status"], end["status"]) == ("error", "error")
    assert (end["turns"], end["total_tokens"]) == (2, {"in": 20, "out": 10})
    assert "stdout.log" in end["message"]
    summary = json.loads((archive / "summary.json").read_bytes())
    assert summary["reason"] == "wrapper_killed"
    assert summary["entries"] == 6
    before = data
    assert repair(archive)[0] == 0  # a second time changes nothing
    assert dialog.read_bytes() == before


def test_without_the_raw_stream_the_entries_count(archive: Path) -> None:
    (archive / "stdout.log").unlink()
    dialog = archive / "dialog.jsonl"
    lines = dialog.read_bytes().splitlines(keepends=True)
    dialog.write_bytes(b"".join(lines[:-1]))
    assert "finished" in repair_here(archive)
    end = lines_of(archive)[-1]
    assert "its entries" in end["message"]
    assert end["turns"] == 1


@pytest.mark.parametrize(
    "torn",
    [b"", b"\n", b"{", b"garbage\n", b"\0" * 4096, b'{"type":"complete"', b"\xff\n"],
    ids=repr,
)
def test_nothing_that_can_be_read(archive: Path, torn: bytes) -> None:
    (archive / "dialog.jsonl").write_bytes(torn)
    assert "finished" in repair_here(archive)
    assert [entry["type"] for entry in lines_of(archive)] == [
        "init",
        "prompt",
        "complete",
    ]
    data = (archive / "dialog.jsonl").read_bytes()
    assert [p for p in check(data) if not p.warning] == []


def test_what_lies_behind_the_end_is_cut(archive: Path) -> None:
    dialog = archive / "dialog.jsonl"
    before = dialog.read_bytes()
    dialog.write_bytes(before + b'{"torn')
    assert "6 bytes" in repair_here(archive)
    assert dialog.read_bytes() == before


@pytest.mark.parametrize("what", ["missing", "a file", "empty", "a link", "a folder"])
def test_what_is_no_archive(tmp_path: Path, what: str) -> None:
    place = tmp_path / "place"
    if what == "a file":
        place.write_text("")
    elif what != "missing":
        place.mkdir()
    if what == "a link":
        (tmp_path / "victim").write_text("precious")
        (place / "dialog.jsonl").symlink_to(tmp_path / "victim")
    if what == "a folder":
        (place / "dialog.jsonl").mkdir()
    code, said = repair(place)
    assert code == 125
    assert said.startswith("agent-wrap: archive: ")
    assert "Traceback" not in said
    if what == "a link":
        assert (tmp_path / "victim").read_text() == "precious"


def test_a_place_that_is_full(tmp_path: Path, archive: Path) -> None:
    dialog = archive / "dialog.jsonl"
    lines = dialog.read_bytes().splitlines(keepends=True)
    dialog.write_bytes(b"".join(lines[:-1]))
    size = dialog.stat().st_size

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, size + 50))

    done = wrapper("repair", str(archive), preexec_fn=prepare)
    assert done.returncode == 125
    assert b"Traceback" not in done.stderr
    assert b"too large" in done.stderr.lower()
    assert repair(archive)[0] == 0
