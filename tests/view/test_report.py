"""`view FOLDER --junit --summary`: what others read, and sums that are right."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from agent_wrap import cli

from .test_view_folder import run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "night"
    run(folder / "a", "t-1", "success", 100, cost_usd=0.30000000000000004, exit_code=0)
    run(folder / "b", "t-1", "error", 20, cost_usd=0.25, exit_code=3)
    run(folder / "c", "t-2 <&\"'\x1b[31m\x00\ufffe>", "timeout", 3)
    run(folder / "d", "t-2", "", 0)
    return folder


def test_junit_xml(runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    assert cli.main(["view", str(runs), "--junit", str(path)]) == 0
    root = ET.parse(path).getroot()
    (suite,) = root
    counts = {key: suite.get(key) for key in ("name", "tests", "failures", "errors")}
    assert counts == {"name": "night", "tests": "4", "failures": "2", "errors": "1"}
    assert suite.get("time") == "195.000"
    cases = [case.get("name") for case in suite]
    assert cases[0] == "t-1 (a)"
    assert cases[2] == "t-2 <&\"'\ufffd\ufffd> (c)"
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "error"
    properties = {p.get("name"): p.get("value") for p in suite[0].iter("property")}
    assert properties["cost_usd"] == "0.3"
    assert properties["exit_code"] == "0"


def test_a_foreign_reader_of_junit_agrees(runs: Path, tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    path = tmp_path / "out.xml"
    assert cli.main(["view", str(runs), "--junit", str(path)]) == 0
    xml = junitparser.JUnitXml.fromfile(str(path))
    (suite,) = xml
    results = [[type(found).__name__ for found in case.result] for case in suite]
    assert results == [[], ["Failure"], ["Failure"], ["Error"]]
    told = (suite.tests, suite.failures, suite.errors, suite.time)
    suite.update_statistics()
    assert (suite.tests, suite.failures, suite.errors, suite.time) == told


def test_totals(runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    assert cli.main(["view", str(runs), "--summary", str(path)]) == 0
    found = json.loads(path.read_text())
    total = found["total"]
    assert (total["runs"], total["success"], total["success_rate"]) == (4, 1, 0.25)
    assert (total["tokens_in"], total["cost_usd"]) == (123, 0.55)
    assert found["task"]["t-1"]["success_rate"] == 0.5
    assert found["task"]["t-2"]["cost_usd"] is None
    assert found["status"]["unfinished"]["runs"] == 1
    assert [row["run"] for row in found["runs"]] == ["a", "b", "c", "d"]


def test_only_the_chosen_runs_are_reported(runs: Path, tmp_path: Path) -> None:
    xml, summary = tmp_path / "out.xml", tmp_path / "out.json"
    words = ["--filter", "task=t-9", "--junit", str(xml), "--summary", str(summary)]
    assert cli.main(["view", str(runs), *words]) == 0
    assert ET.parse(xml).getroot().get("tests") == "0"
    assert json.loads(summary.read_text())["total"]["success_rate"] is None


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_file_that_cannot_be_written(
    runs: Path, option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["view", str(runs), option, str(runs)]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_what_is_unknown_is_no_part_of_a_name(tmp_path: Path) -> None:
    run(tmp_path / "runs" / "err401", "", "error", 0)
    path = tmp_path / "out.xml"
    assert cli.main(["view", str(tmp_path / "runs"), "--junit", str(path)]) == 0
    (case,) = ET.parse(path).getroot().iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("a.m", "err401")
    names = {p.get("name") for p in case.iter("property")}
    assert "model" in names
    assert "task" not in names
