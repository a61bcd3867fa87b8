"""`agent-wrap view FOLDER`: the runs as a table, sorted, filtered, as JSON."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import cli, entries
from agent_wrap.view import show

TS = "2026-01-15T10:30:00+00:00"


def run(
    folder: Path, task: str, status: str, tokens: int, out: int = 5, **summary: Any
) -> None:
    folder.mkdir(parents=True)
    found = [entries.init(0, TS, task=task, cwd="/src", model="m", agent="a")]
    if status:
        found.append(
            entries.complete(
                1,
                TS,
                status=status,
                turns=2,
                duration_ms=65_000,
                tokens=(tokens, out),
            )
        )
    lines = "".join(json.dumps(entry) + "\n" for entry in found)
    (folder / "dialog.jsonl").write_text(lines)
    if summary:
        (folder / "summary.json").write_text(json.dumps(summary))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    run(tmp_path / "b", "t-2", "success", 50_000, cost_usd=1.5, exit_code=0)
    run(tmp_path / "deep" / "c", "t-1", "error", 700, cost_usd=0.5, exit_code=3)
    run(tmp_path / "a", "\x1b[31mt-3", "", 0)
    return tmp_path


def rows(path: Path, *options: str, capfd: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.main(["view", str(path), "--json", *options]) == 0
    return [row["run"] for row in json.loads(capfd.readouterr().out)]


def test_the_table(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--plain"]):
        assert cli.main(["view", str(runs), *options]) == 0
        seen = capfd.readouterr().out
        lines = [line.split() for line in seen.split("\n") if line.strip()]
        assert lines[0] == [
            *("run", "task", "model", "agent", "status", "turns"),
            *("tokens", "cost", "time", "exit"),
        ]
        assert [
            *("b", "t-2", "m", "a", "success", "2", "50.0k", "→", "5"),
            *("$1.50", "1", "min", "5", "s", "0"),
        ] in lines
        assert "3 runs, 1 success · 50.7k tokens in · 10 out · $2.00" in seen
        assert "\x1b" not in seen


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_a_narrow_terminal_has_fewer_columns_and_each_is_whole(
    runs: Path,
    width: int,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(show, "WIDTH_OF_A_PIPE", width)
    assert cli.main(["view", str(runs)]) == 0
    lines = capfd.readouterr().out.split("\n")
    assert max(map(len, lines)) <= width
    words = [line.split() for line in lines]
    (row,) = [line for line in words if line[:1] == ["b"]]
    assert ("success" in row, row[-1] == "s") == (True, width < 80)
    assert ("agent" in lines[1]) == (width == 200)


def test_what_is_unknown_is_blank(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "one", "", "success", 0, out=0)
    assert cli.main(["view", str(tmp_path), "--plain"]) == 0
    _, row, total = capfd.readouterr().out.rstrip("\n").split("\n")
    assert row.split() == ["one", "m", "a", "success", "2", "1", "min", "5", "s"]
    assert total == "1 run, 1 success · 1 min 5 s"
    assert rows(tmp_path, "--filter", "task=", capfd=capfd) == ["one"]
    assert rows(tmp_path, "--filter", "task=unknown", capfd=capfd) == ["one"]


@pytest.mark.parametrize("option", [[], ["--plain"]])
@pytest.mark.parametrize("width", [50, 80, 120])
def test_long_names_are_cut_in_the_middle_and_can_be_told_apart(
    tmp_path: Path,
    width: int,
    option: list[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(show, "WIDTH_OF_A_PIPE", width)
    for end in ("one", "two"):
        run(tmp_path / ("night-" + "long" * 20) / f"run-{end}", "t", "success", 9)
    assert cli.main(["view", str(tmp_path), *option]) == 0
    lines = capfd.readouterr().out.strip().split("\n")
    names = [line.split()[0] for line in lines if "success" in line][:2]
    assert [(name[:5], name[-8:]) for name in names] == [
        *(("night", "/run-one"), ("night", "/run-two"))
    ]
    assert all("…" in name for name in names)
    assert option or max(map(len, lines)) <= width


def test_sorting(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert rows(runs, capfd=capfd) == ["a", "b", "deep/c"]
    assert rows(runs, "--sort", "cost", capfd=capfd) == ["deep/c", "b", "a"]
    assert rows(runs, "--sort=-tokens", capfd=capfd) == ["b", "deep/c", "a"]
    assert rows(runs, "--sort", "status", capfd=capfd)[0] == "deep/c"


def test_filtering(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert rows(runs, "--filter", "status=error", capfd=capfd) == ["deep/c"]
    assert rows(runs, "--filter", "exit=0", capfd=capfd) == ["b"]
    assert rows(runs, "--filter", "exit=", capfd=capfd) == ["a"]
    assert rows(runs, "--filter", "task~t-", capfd=capfd) == ["a", "b", "deep/c"]
    both = ("--filter", "task~t-", "--filter", "status=success")
    assert rows(runs, *both, capfd=capfd) == ["b"]
    assert rows(runs, "--filter", "model=none", capfd=capfd) == []
    for option in ([], ["--plain"]):
        assert cli.main(["view", str(runs), "--filter", "model=none", *option]) == 0
        said = "none of the 3 runs passes the filter\n"
        assert capfd.readouterr().out == said


@pytest.mark.parametrize(
    "options", [["--sort", "size"], ["--filter", "status"], ["--filter", "size=5"]]
)
def test_wrong_keys(
    runs: Path, options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["view", str(runs), *options]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_a_broken_run_hides_no_other(
    runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (runs / "d").mkdir()
    (runs / "d" / "dialog.jsonl").write_text("garbage\n")
    assert cli.main(["view", str(runs)]) == 2
    seen = capfd.readouterr()
    assert "3 runs" in seen.out
    assert "not a dialog" in seen.err
    assert seen.err.count("\n") == 1


def test_a_run_that_is_held_is_running(
    runs: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "has_rich", lambda: False)
    assert cli.main(["view", str(runs)]) == 0
    assert "unfinished" in capfd.readouterr().out
    held = os.open(runs / "a", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert cli.main(["view", str(runs)]) == 0
    finally:
        os.close(held)
    assert "running" in capfd.readouterr().out
