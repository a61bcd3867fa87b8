"""The single file: its zip under any Python, and the built program without a Python.

Building takes minutes, so the program is tested when AGENT_WRAP_SINGLE_FILE names it
(docs/harnesses.md); how it is put together is tested always.
"""

from __future__ import annotations

import http.client
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_wrap.validate import check
from single_file.bundle import bundle

from . import harness
from .harness import Run, child
from .killing import CLAUDE, Killed, kill_both, kill_guardian, kill_supervisor

ROOT = Path(__file__).parent.parent
PROGRAM = os.environ.get("AGENT_WRAP_SINGLE_FILE", "")
built = pytest.mark.skipif(not PROGRAM, reason="AGENT_WRAP_SINGLE_FILE=FILE tests it")

START = """\
import sys
sys.path[:0] = [sys.argv.pop(1)]
import memory_extensions
from agent_wrap.cli import main
sys.exit(main())
"""

# The zip


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a zip of agent-wrap and what it needs, as `build.py` makes it."""
    folder = tmp_path_factory.mktemp("bundle")
    site, own = folder / "site", importlib.metadata.distribution("agent-wrap")
    shutil.copytree(ROOT / "agent_wrap", site / "agent_wrap")
    shutil.copytree(
        ROOT / "adapters" / "agent_wrap_adapters", site / "agent_wrap_adapters"
    )
    shutil.copy(ROOT / "single_file" / "memory_extensions.py", site)
    for name in ("anyio", "orjson", "psutil", "idna", "typing_extensions"):
        for file in importlib.metadata.files(name) or ():
            source = Path(str(file.locate()))
            if ".." not in file.parts and source.is_file():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, site / file)
    information = site / f"agent_wrap-{own.version}.dist-info"
    information.mkdir()
    (information / "entry_points.txt").write_text(
        own.read_text("entry_points.txt") or ""
    )
    bundle([site], folder / "zip")
    return folder / "zip"


def from_zip(zipped: Path, *words: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command line out of the zip, beside it only the standard library."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", START, str(zipped), *map(str, words)],
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_run_out_of_a_zip(zipped: Path, tmp_path: Path) -> None:
    """Adapters are found, shared objects come from memory, the price table is read."""
    archive = tmp_path / "archive"
    options = ("--archive", archive, "--max-cost", "1", "--adapter", "claude-code")
    agent = child("scripted", "init", "text=Hi", "result")
    done = from_zip(zipped, *options, "--", *agent)
    assert done.returncode == 0, done.stderr
    assert not check((archive / "dialog.jsonl").read_bytes())
    summary = json.loads((archive / "summary.json").read_bytes())
    assert (summary["status"], summary["agent"]) == ("success", "claude-code")


def test_all_adapters_are_in_the_zip(zipped: Path) -> None:
    done = from_zip(zipped, "adapters")
    names = re.findall(rb"^(\S+)", done.stdout, re.M)
    own = importlib.metadata.entry_points(group="agent_wrap.adapters")
    assert {name.decode() for name in names} >= {each.name for each in own}
    assert b"cannot be loaded" not in done.stdout


def test_the_same_input_gives_the_same_zip(tmp_path: Path) -> None:
    for name in ("one", "two"):
        bundle([ROOT / "single_file"], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


# The program


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> str:
    """Have every run of a test start the built program."""
    monkeypatch.setattr(harness, "WRAPPER", PROGRAM)
    return PROGRAM


@built
def test_the_program_shows_its_demo(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [program, "demo"], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"conforms, 11 entries" in done.stdout


@built
def test_the_program_passes_on_what_the_agent_gives(
    program: str, tmp_path: Path
) -> None:
    with Run(tmp_path, child("inside")) as started:
        assert started.end().code == 0
        assert started.told["fds"] == [0, 1, 2]
        assert not {k for k in started.told.get("env", {}) if k.startswith("PYTHON")}


@built
@pytest.mark.parametrize("moment", [0.0, 0.05, 0.3, 0.6])
def test_the_program_survives_the_death_of_its_processes(
    program: str, tmp_path: Path, moment: float
) -> None:
    for kill in (kill_supervisor, kill_guardian):
        (tmp_path / kill.__name__).mkdir()
        killed = Killed(tmp_path / kill.__name__, kill, moment, 0.6)
        if killed.run.dialog:
            assert killed.problems() == []
            assert killed.left == {}


@built
def test_the_program_repairs(program: str, tmp_path: Path) -> None:
    killed = Killed(tmp_path, kill_both, 0.5, 0.6)
    done = harness.wrapper("repair", str(killed.run.archive))
    assert done.returncode == 0, done.stderr
    assert killed.problems() == []


@built
def test_the_program_ends_at_a_signal(program: str, tmp_path: Path) -> None:
    agent = child("scripted", "init", "text=Hi", "sleep=60")
    with Run(tmp_path, agent, *CLAUDE) as started:
        started.until_message("Hi")
        assert started.stop(signal.SIGTERM) == 128 + signal.SIGTERM
        assert started.problems() == []


@built
def test_the_program_serves_its_session(program: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    options = ("--serve", "127.0.0.1:0", "--serve-announce", str(told))
    agent = child("scripted", "init", "text=Hi", "sleep=60")
    with Run(tmp_path, agent, *CLAUDE, *options) as started:
        started.until(lambda: told.exists() and told.stat().st_size, "an address")
        port = json.loads(told.read_bytes())["port"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/api/health")
        assert connection.getresponse().status == 200
        connection.close()


@built
def test_the_program_uses_an_adapter_of_ones_own(program: str, tmp_path: Path) -> None:
    example = ROOT / "examples" / "third_party_adapter"
    with Run(
        tmp_path,
        ["echo", '{"event":"hello","parrot":"1.4","model":"m"}'],
        *("--adapter", "parrot:Parrot"),
        env={"PYTHONPATH": str(example)},
    ) as started:
        assert started.end().summary["model"] == "m"


# An image without Python


def image(folder: Path) -> Path:
    """Make a root with a shell, what it and the program link to, and nothing else."""
    root = folder / "root"
    for name in ("proc", "dev", "tmp", "bin"):
        (root / name).mkdir(parents=True)
    shell = shutil.which("dash") or "/bin/sh"
    shutil.copy(shell, root / "bin" / "sh")
    shutil.copy(PROGRAM, root / "bin" / "agent-wrap")
    for binary in (shell, PROGRAM):
        linked = subprocess.run(["ldd", binary], capture_output=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(", linked.decode()):
            target = root / library[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)
    (root / "dev" / "null").touch()
    return root


ENTER = """\
mount --make-rprivate / && mount --bind "$0" "$0" && cd "$0" &&
mount --bind /dev/null dev/null && mount -t tmpfs tmpfs tmp &&
if [ "$1" = with-proc ]; then
  mount -t proc proc proc && mount -o remount,noexec tmp
fi &&
mkdir tmp/archive && mount --bind "$2" tmp/archive &&
mount -o remount,ro,bind . && shift 2 && exec chroot . "$@"
"""
NAMESPACES = ("unshare", "--mount", "--pid", "--fork")


def may_make_images() -> bool:
    return (
        subprocess.run(
            [*NAMESPACES, "mount", "--make-rprivate", "/"],
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )


@built
@pytest.mark.skipif(not may_make_images(), reason="no right to mount")
@pytest.mark.parametrize("proc", ["with-proc", "without-proc"])
def test_an_image_without_python(tmp_path: Path, proc: str) -> None:
    """As PID 1, root read-only, no Python; with /proc, nothing may be executed in /tmp.

    Without /proc shared objects go through /tmp, and nothing stays there.
    """
    archive = tmp_path / "archive"
    archive.mkdir()
    agent = "echo hi; until [ -s /tmp/archive/stdout.log ]; do :; done; echo /tmp/*"
    done = subprocess.run(
        [
            *(*NAMESPACES, "sh", "-c", ENTER, str(image(tmp_path)), proc, str(archive)),
            *("/bin/agent-wrap", "--archive", "/tmp/archive"),
            *("--", "/bin/sh", "-c", agent),
        ],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"hi\n/tmp/archive\n"), done.stderr
    dialog = (archive / "dialog.jsonl").read_bytes()
    assert not check(dialog)
    assert json.loads(dialog.splitlines()[-1])["status"] == "success"
