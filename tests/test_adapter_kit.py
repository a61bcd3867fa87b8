"""A new adapter needs a recorded stream and no file of ours: check, begin, install."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import Adapter, scaffold
from agent_wrap.cli import main
from agent_wrap.events import Event, Message, RunFinished, TextDelta, Unknown
from agent_wrap.testing import FIGURES, check_recording, load

from .harness import WRAPPER, Run

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "third_party_adapter"
RECORDINGS = ROOT / "tests" / "recordings"
FEW_LINES = 60


class Good(Adapter):
    """Reads `{"say": TEXT}` and `{"end": OK}`."""

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        if "say" in event:
            yield Message(event["say"])
        elif "end" in event:
            yield RunFinished(event["end"])
        else:
            yield Unknown("?")


class Forgetful(Good):
    """Tells another story each time it is made."""

    made = 0

    def __init__(self) -> None:
        Forgetful.made += 1
        self.number = Forgetful.made

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        yield Message(f"{self.number}")
        yield TextDelta("")
        yield RunFinished(True)


def record(folder: Path, stream: str, **meta: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "stdout.jsonl").write_text(stream)
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


# Checking


def problems(
    folder: Path, adapter: type[Adapter] = Good, *, update: bool = False
) -> list[str]:
    return check_recording(load(folder), adapter, agent="good", update=update)


def test_a_good_one_has_no_problems(tmp_path: Path) -> None:
    folder = record(tmp_path / "r", '{"say": "Hi"}\n{"end": true}\n')
    assert "no dialog.jsonl yet" in problems(folder)[0]
    assert problems(folder, update=True) == []
    assert problems(folder) == []


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ('{"new": 1}\n{"end": true}\n', r"unknown type '\?', 1 times"),
        ('{"say": 1}\n{"end": true}\n', "a fact that no dialog can take"),
        ('no JSON\n{"end": true}\n', "1 lines could not be read"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, stream: str, said: str) -> None:
    folder = record(tmp_path / "r", stream)
    assert any(re.search(said, line) for line in problems(folder))


def test_another_dialog_in_chunks(tmp_path: Path) -> None:
    folder = record(tmp_path / "r", '{"say": "Hi"}\n')
    assert any("in chunks of 1 bytes" in line for line in problems(folder, Forgetful))


def test_what_a_recording_expects(tmp_path: Path) -> None:
    expect = {"status": "success", "turns": 3, "tools": 0}
    folder = record(tmp_path / "r", '{"say": "Hi"}\n{"end": true}\n', expect=expect)
    assert problems(folder, update=True) == ["turns is 0, meta.json expects 3"]


def test_a_misspelt_expectation_is_said(tmp_path: Path) -> None:
    expect = {"tool": 1, "turns": 0}
    folder = record(tmp_path / "r", '{"say": "Hi"}\n{"end": true}\n', expect=expect)
    assert problems(folder, update=True) == [
        "meta.json expects 'tool', which is no figure. "
        "Known: status, exit, turns, tools, in, out"
    ]


def test_an_expectation_that_is_no_object_is_said(tmp_path: Path) -> None:
    folder = record(tmp_path / "r", '{"end": true}\n', expect=["turns"])
    assert problems(folder, update=True) == [
        "meta.json: expect is no object. Known: status, exit, turns, tools, in, out"
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = tmp_path / "aider-0.86"
    shutil.copytree(RECORDINGS / "aider-0.86", copied)
    assert main(["adapters", "check", "aider", str(tmp_path)]) == 0
    assert "3 of 3 recordings" in capsys.readouterr().out
    (copied / "text" / "dialog.jsonl").write_text("")
    assert main(["adapters", "check", "aider", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "FAILED aider-0.86/text" in told
    assert "2 of 3 recordings" in told
    assert main(["adapters", "check", "aider", "--update-golden", str(tmp_path)]) == 0
    assert main(["adapters", "check", "aider", str(tmp_path)]) == 0


def test_a_folder_without_recordings(tmp_path: Path) -> None:
    assert main(["adapters", "check", "aider", str(tmp_path)]) == 2


# Beginning


@pytest.mark.parametrize(
    "name", ["my-agent", "a", "agent-2-x"], ids=["two words", "one", "digits"]
)
def test_names(name: str) -> None:
    assert scaffold.adapter_name(scaffold.class_name(name)) in (
        name,
        name.replace("-2", "2"),
    )


STREAMS = sorted(
    path / "tool_ok" / "stdout.jsonl"
    for path in RECORDINGS.iterdir()
    if (path / "tool_ok" / "stdout.jsonl").exists()
)


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.parent.parent.name)
def test_what_is_begun_passes(
    stream: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["adapters", "new", "new-one", str(stream), "--into", str(tmp_path)]
    assert main([*words, "--version", "1.0", "--", "new-one", "Hi"]) == 0
    assert '"new_one:NewOne [new-one]"' in capsys.readouterr().out
    scope: dict[str, Any] = {"__name__": "new_one"}
    exec((tmp_path / "new_one.py").read_text(), scope)
    folder = tmp_path / "recordings" / "new-one-1.0" / "first"
    assert problems_of(folder, scope["NewOne"]) == []
    for line in (tmp_path / "new_one.py").read_text().splitlines():
        assert len(line) <= 110


def problems_of(folder: Path, adapter: type[Adapter]) -> list[str]:
    """Give what is wrong, but for lines that are no JSON, which need a person."""
    found = check_recording(load(folder), adapter, agent="new-one")
    return [p for p in found if "could not be read" not in p and "(no " not in p]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ([{"ev": "a", "run": "r"}, {"ev": "b", "run": "r"}, {"ev": "a"}], "ev"),
        (
            [{"at": "1", "of": "x"}, {"at": "2", "of": "y"}, {"at": "3", "of": "x"}],
            "of",
        ),
        ([{"x": "a", "type": "t"}, {"x": "a", "type": "u"}, {"x": "b"}], "type"),
        ([{"n": 1}], "type"),
    ],
    ids=["its-own-name", "no-times", "usual-first", "none"],
)
def test_the_field_that_tells_lines_apart(
    lines: list[dict[str, object]], key: str
) -> None:
    stream = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert f'kind = get_text(event, "{key}")' in scaffold.write_adapter(
        "a", "1", stream
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [("My", ()), ("../x", ()), ("a", ("--version", "../x")), ("a", ("--case", '"'))],
)
def test_names_that_are_none(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    stream = str(STREAMS[0])
    words = ["adapters", "new", name, stream, "--into", str(tmp_path), *options]
    assert main(words) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_added_to_an_adapter_that_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("mine")
    words = ["adapters", "new", "a", str(STREAMS[0]), "--into", str(tmp_path)]
    assert main([*words, "--case", "killed", "--exit-code", "-15"]) == 0
    assert (tmp_path / "a.py").read_text() == "mine"
    folder = tmp_path / "recordings" / "a-0" / "killed"
    assert load(folder).signal == 15
    assert load(folder).golden is None
    told = capsys.readouterr().out
    assert f"kept {tmp_path}/a.py" in told
    assert f"wrote {folder}: stdout.jsonl, meta.json\n" in told
    assert "entry" not in told


def test_no_recording_is_overwritten(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["adapters", "new", "a", str(STREAMS[0]), "--into", str(tmp_path)]
    assert main(words) == 0
    (tmp_path / "a.py").unlink()
    assert main(words) == 2
    assert "first is there already. Give --case another NAME" in capfd.readouterr().err
    assert not (tmp_path / "a.py").exists()


def test_the_folder_to_write_into_is_made(tmp_path: Path) -> None:
    into = tmp_path / "x" / "y"
    assert main(["adapters", "new", "a", str(STREAMS[0]), "--into", str(into)]) == 0
    assert (into / "a.py").exists()


def test_a_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    words = ["adapters", "new", "a", str(STREAMS[0]), "--into", str(tmp_path / "x")]
    assert main(words) == 2


@pytest.mark.parametrize("stream", ["", "\n \n"], ids=["empty", "blank"])
def test_an_empty_stream_is_refused(
    stream: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stream").write_text(stream)
    into = tmp_path / "new"
    words = ["adapters", "new", "a", str(tmp_path / "stream"), "--into", str(into)]
    assert main(words) == 2
    assert "stream is empty. Record what the agent prints" in capfd.readouterr().err
    assert not into.exists()


def test_lines_that_nothing_at_the_top_tells_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"n": 1, "event": {"type": "hello"}}
    (tmp_path / "stream").write_text(json.dumps(line))
    words = ["adapters", "new", "a", str(tmp_path / "stream"), "--into", str(tmp_path)]
    assert main(words) == 0
    assert "no common top-level field tells the lines apart" in capsys.readouterr().out
    written = (tmp_path / "a.py").read_text()
    assert "# no common top-level field tells the lines apart, such as\n" in written
    assert f"# {json.dumps(line)}\n" in written


# A package of its own

PARROT = "#!/bin/sh\ncat {stream}\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example, which needs no network."""
    folder = tmp_path_factory.mktemp("site")
    source = folder / "source"
    shutil.copytree(EXAMPLE, source)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
    offline = ["--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, *offline, "--target", str(folder / "site"), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def wrapper(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WRAPPER, *words],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_adapter_is_known(site: Path) -> None:
    told = wrapper(site, "adapters").stdout
    assert "\nparrot\n  programs:    parrot\n  checked:     1.4 (recordings)" in told
    assert wrapper(site, "adapters", "check", "parrot", str(EXAMPLE)).returncode == 0


def test_an_installed_adapter_is_chosen_by_its_program(
    site: Path, tmp_path: Path
) -> None:
    stream = EXAMPLE / "recordings" / "parrot-1.4" / "tool_ok" / "stdout.jsonl"
    (tmp_path / "parrot").write_text(PARROT.format(stream=stream))
    (tmp_path / "parrot").chmod(0o755)
    command = [str(tmp_path / "parrot"), "Do they pass?"]
    env = {"PYTHONPATH": str(site)}
    with Run(tmp_path, command, "--echo", "none", env=env) as run:
        assert run.wait() == 0
        assert run.summary["adapter"]["name"] == "parrot"
        assert run.summary["command"][-1] == "--json"
        assert run.summary["tokens"]["in"] == 1900
        assert run.messages == ["I run the tests.", "All pass."]
        assert run.entries[1]["type"] == "prompt"
        assert run.entries[1]["content"] == "Do they pass?"
        assert run.problems() == []


def test_an_installed_adapter_is_chosen_by_its_stream(site: Path) -> None:
    stream = EXAMPLE / "recordings" / "parrot-1.4" / "killed" / "stdout.jsonl"
    done = wrapper(site, "replay", str(stream))
    assert '"model":"m-1"' in done.stdout
    assert done.returncode == 143


def test_the_examples_adapter_is_short() -> None:
    lines = (EXAMPLE / "parrot.py").read_text().splitlines()
    assert len(lines) < FEW_LINES


def test_the_guide_names_what_a_recording_may_expect() -> None:
    guide = (ROOT / "docs" / "adapters.md").read_text()
    told = guide.partition("`expect` may name ")[2].partition(".")[0]
    assert tuple(re.findall("`([a-z]+)`", told)) == FIGURES
