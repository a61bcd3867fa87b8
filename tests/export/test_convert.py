"""`agent-wrap convert`: every format from the command line, and every wrong use."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from agent_wrap import cli, entries
from agent_wrap.commands.convert import FORMATS

from ..dialogs import RECORDINGS
from .samples import SUMMARY, dialog

formats = pytest.mark.parametrize("name", sorted(FORMATS))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    lines = "".join(json.dumps(entry) + "\n" for entry in dialog())
    (tmp_path / "dialog.jsonl").write_text(lines)
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    return tmp_path


@formats
def test_to_a_file_and_to_standard_output(
    archive: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    output = archive / "output"
    assert cli.main(["convert", "--to", name, str(archive), "-o", str(output)]) == 0
    assert capfd.readouterr() == ("", "")
    assert output.stat().st_size > 1000
    assert cli.main(["convert", "--to", name, str(archive / "dialog.jsonl")]) == 0
    assert capfd.readouterr().out == output.read_text()


@formats
def test_a_format_has_its_module(name: str) -> None:
    module = import_module(f"agent_wrap.export.{name.replace('-', '_')}")
    assert callable(module.export)


@formats
def test_a_torn_dialog_is_converted_and_said(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "torn"
    torn.write_bytes(RECORDINGS[0].read_bytes()[:-9])
    assert cli.main(["convert", "--to", name, str(torn)]) == 2
    seen = capfd.readouterr()
    assert len(seen.out) > 100
    assert "is torn" in seen.err
    assert seen.err.count("\n") == 1


@formats
def test_bad_input_writes_nothing(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing").touch()
    (tmp_path / "garbage").write_bytes(b"\xff\x00 no json\n" * 2000)
    (tmp_path / "list").write_text("[]")
    output = tmp_path / "output"
    for place in ("missing", "empty", "nothing", "garbage", "list"):
        words = ["convert", "--to", name, str(tmp_path / place), "-o", str(output)]
        assert cli.main(words) == 2, place
        seen = capfd.readouterr()
        assert seen.out == ""
        assert seen.err.startswith("agent-wrap: ")
        assert seen.err.count("\n") == 1
        assert not output.exists()


def test_output_that_cannot_be(
    archive: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = (archive / "dialog.jsonl").read_bytes()
    link = archive / "link"
    link.symlink_to(archive / "dialog.jsonl")
    for output in (archive, archive / "no" / "such", archive / "dialog.jsonl", link):
        words = ["convert", "--to", "html", str(archive), "-o", str(output)]
        assert cli.main(words) == 2
        assert capfd.readouterr().err.count("\n") == 1
    assert (archive / "dialog.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["html", "svg", "markdown"])
def test_what_is_unknown_is_left_out_and_the_run_has_a_name(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "err401"
    folder.mkdir()
    ts = "2026-01-15T10:30:00+00:00"
    found = [
        entries.init(0, ts, task="", cwd="", model="", agent="one"),
        entries.prompt(1, ts, ""),
        entries.complete(
            *(2, ts), status="success", turns=1, duration_ms=900, tokens=(0, 0)
        ),
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in found)
    (folder / "dialog.jsonl").write_text(lines)
    for path in (folder, folder / "dialog.jsonl"):
        assert cli.main(["convert", "--to", name, str(path)]) == 0
        seen = re.sub("<(style|script)>.*?</", "", capfd.readouterr().out, flags=re.S)
        assert "err401" in seen
        for word in ("unknown", "tokens", "Prompt"):
            assert word not in seen
