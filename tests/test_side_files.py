"""Figures that stdout lacks are read from what the agent left beside it."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from agent_wrap import side_files
from agent_wrap.adapter import Adapter, SideFile, Surroundings
from agent_wrap.events import Event, Message, SessionStarted, Usage
from agent_wrap.identity import find_identity

from .harness import Run
from .side_contents import COPILOT_CALLS, COPILOT_END, VIBE_EXPORT, as_lines

RECORDINGS = Path(__file__).parent / "recordings"
PATIENCE = 20.0

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change users")


# How they are read


class Teller(Adapter):
    """Says how long its side files are."""

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        return [SideFile(f"{ran.cwd}/{ran.command[0]}", *ran.command[1:])]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterable[Event]:
        if contents == [b"raise"]:
            raise ValueError("no luck")
        while contents == [b"hang"]:
            time.sleep(1)
        if contents != [b"not ours"]:
            yield Message("is left out")
            yield SessionStarted(model="m")
            yield Usage(input=sum(map(len, contents)), scope="total")


def read(
    folder: Path,
    *command: str,
    adapter: type[Adapter] = Teller,
    since: float = 0.0,
    patience: float = PATIENCE,
    user: str = "",
) -> side_files.Told:
    ran = Surroundings(command, str(folder))
    identity = find_identity(user) if user else None
    return side_files.read(
        adapter, ran, since=since, patience=patience, identity=identity
    )


def put(path: Path, text: str, at: float) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))


def test_only_facts_are_taken(tmp_path: Path) -> None:
    put(tmp_path / "a", "123", 1000)
    told = read(tmp_path, "a")
    assert told.facts == [SessionStarted(model="m"), Usage(input=3, scope="total")]
    assert told.notes == []


def test_the_newest_that_is_ours_is_taken_and_said(tmp_path: Path) -> None:
    for number, text in enumerate(("1", "22", "not ours"), 1):
        put(tmp_path / f"a{number}", text, 1000 * number)
    told = read(tmp_path, "a*")
    assert told.facts[-1] == Usage(input=2, scope="total")
    assert told.notes == ["side files: several fit this run; the newest was taken"]


def test_what_is_older_than_the_run_is_not_its_own(tmp_path: Path) -> None:
    put(tmp_path / "a", "123", 1000)
    assert read(tmp_path, "a", since=1000.5).facts
    assert read(tmp_path, "a", since=2000).facts == []
    assert read(tmp_path, "a", since=2000).notes == []


def test_all_files_of_the_newest_folder_are_taken(tmp_path: Path) -> None:
    put(tmp_path / "s1" / "x", "1", 1000)
    put(tmp_path / "s2" / "x", "22", 2000)
    put(tmp_path / "s2" / "y", "333", 1500)
    assert read(tmp_path, "s*", "*").facts[-1] == Usage(input=5, scope="total")


def test_links_pipes_and_folders_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path / "real", "1", 1000)
    (tmp_path / "a1").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "a2")
    (tmp_path / "a3").mkdir()
    told = read(tmp_path, "a*")
    assert (told.facts, told.notes) == ([], [])


def test_a_folder_with_signs_of_a_pattern(tmp_path: Path) -> None:
    put(tmp_path / "[x]*" / "a", "1", 1000)
    assert read(tmp_path / "[x]*", "a").facts


def test_an_adapter_that_raises_is_a_note(tmp_path: Path) -> None:
    put(tmp_path / "a", "raise", 1000)
    assert read(tmp_path, "a").notes == ["side files: ValueError: no luck"]
    assert read(tmp_path).notes == ["side files: IndexError: list index out of range"]


def test_a_file_that_is_too_large_is_a_note(tmp_path: Path) -> None:
    put(tmp_path / "a", "", 1000)
    os.truncate(tmp_path / "a", side_files.MAX_FILE + 1)
    assert "more than we read" in read(tmp_path, "a").notes[0]


def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    put(tmp_path / "a", "hang", 1000)
    began = time.monotonic()
    assert read(tmp_path, "a", patience=0.1).notes == [
        "side files: not read within 0.1 s"
    ]
    assert time.monotonic() - began < PATIENCE
    with pytest.raises(ChildProcessError):  # nobody is left
        os.waitpid(-1, os.WNOHANG)


# In a run

PROGRAM = """\
#!/bin/sh
mkdir -p "$HOME/{folder}" && cp "{side}" "$HOME/{folder}/{name}"
cat "{stream}"
{then}
"""


def agent(tmp: Path, program: str, recording: str, side: bytes, path: str) -> list[str]:
    """Make a program that prints a recording and leaves a side file."""
    (tmp / "side").write_bytes(side)
    folder, _, name = path.rpartition("/")
    script = PROGRAM.format(
        folder=folder,
        name=name,
        side=tmp / "side",
        stream=RECORDINGS / recording / "stdout.jsonl",
        then="",
    )
    (tmp / program).write_text(script)
    (tmp / program).chmod(0o755)
    return [str(tmp / program)]


def test_in_a_run(tmp_path: Path) -> None:
    session = json.loads(
        (RECORDINGS / "copilot-cli-1.0/tool_ok/stdout.jsonl")
        .read_text()
        .splitlines()[-1]
    )["sessionId"]
    side = as_lines(*COPILOT_CALLS, COPILOT_END)
    path = f".copilot/session-state/{session}/events.jsonl"
    command = agent(tmp_path, "copilot", "copilot-cli-1.0/tool_ok", side, path)
    home = {"HOME": str(tmp_path / "home")}
    with Run(tmp_path, [*command, "-p", "Hi"], "--echo", "none", env=home) as run:
        assert run.wait() == 0
        assert run.summary["tokens"]["in"] == 2100
        assert run.summary["tokens"]["cached"] == 601
        assert run.complete["total_tokens"] == {"in": 2100, "out": 41}
        assert run.problems() == []


def test_a_folder_of_the_run_is_read_and_removed(tmp_path: Path) -> None:
    """Vibe writes its export to a folder that we name, and that is gone afterwards."""
    (tmp_path / "export").write_text(json.dumps(VIBE_EXPORT))
    script = f"""#!/bin/sh
for last; do :; done
cp {tmp_path}/export "$last/export.json"
cat {RECORDINGS}/mistral-vibe-3.0/text/stdout.jsonl
"""
    (tmp_path / "vibe").write_text(script)
    (tmp_path / "vibe").chmod(0o755)
    command = [str(tmp_path / "vibe"), "-p", "Hi", "--time-limit", "60"]
    with Run(tmp_path, command, "--echo", "none") as run:
        assert run.wait() == 0
        assert run.summary["tokens"]["in"] == 2100
        assert run.summary["cost_usd"] == 0.5
        assert not (run.archive / ".agent-wrap-side").exists()
        assert f"--output-dir {run.archive}/.agent-wrap-side" in run.stderr
        assert run.problems() == []


def test_a_broken_side_file_never_fails_a_run(tmp_path: Path) -> None:
    path = ".copilot/session-state/x/events.jsonl"
    command = agent(tmp_path, "copilot", "copilot-cli-1.0/text", b"\xff{", path)
    home = {"HOME": str(tmp_path / "home")}
    with Run(tmp_path, [*command, "-p", "Hi"], "--echo", "none", env=home) as run:
        assert run.wait() == 0
        assert run.summary["tokens"]["in"] == 0
        assert run.problems() == []


def test_the_folder_goes_with_a_killed_supervisor_too(tmp_path: Path) -> None:
    (tmp_path / "vibe").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'echo secret > "$last/export.json"\nkill -KILL $PPID\nsleep 30\n'
    )
    (tmp_path / "vibe").chmod(0o755)
    command = [str(tmp_path / "vibe"), "-p", "Hi", "--time-limit", "60"]
    with Run(tmp_path, command, "--echo", "none") as run:
        assert run.wait() == 137
        assert not (run.archive / ".agent-wrap-side").exists()
        assert run.complete["status"] == "error"


@only_root
def test_the_folder_is_the_agents_own(open_folder: Path) -> None:
    (open_folder / "vibe").write_text(
        "#!/bin/sh\nfor last; do :; done\nid -u\n"
        f"echo '{json.dumps(VIBE_EXPORT)}' > \"$last/export.json\"\n"
    )
    (open_folder / "vibe").chmod(0o755)
    command = [str(open_folder / "vibe"), "-p", "Hi", "--time-limit", "60"]
    with Run(open_folder, command, "--echo", "none", "--user", "65534") as run:
        run.wait()
        assert run.raw == b"65534\n"
        assert run.summary["tokens"]["in"] == 2100
        assert not (run.archive / ".agent-wrap-side").exists()


@only_root
def test_it_is_read_as_the_runs_user(tmp_path: Path) -> None:
    put(tmp_path / "a", "123", 1000)
    (tmp_path / "a").chmod(0o600)
    told = read(tmp_path, "a", user="65534")
    assert told.facts == []


class LateImporter(Adapter):
    """Needs a module to read that only its own user can import."""

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        return [SideFile(f"{ran.cwd}/a")]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        name = "only_for_root"  # a literal would be looked for by mypy
        module = importlib.import_module(name)
        for data in contents:
            yield Usage(input=module.count(data), scope="total")


@only_root
def test_code_that_the_runs_user_cannot_read(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that reading needs is imported while the process is still ours."""
    put(open_folder / "a", "123", 1000)
    (tmp_path / "only_for_root.py").write_text("count = len\n")
    tmp_path.chmod(0o700)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "only_for_root", raising=False)
    told = read(open_folder, "a", adapter=LateImporter, user="65534")
    assert (told.facts, told.notes) == ([Usage(input=3, scope="total")], [])
