"""A run that is not what its adapter was checked with says so, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_wrap import drift, registry
from agent_wrap.adapter import Adapter

from .harness import run, scripted


class Checked(Adapter):
    """Was checked with two versions."""

    versions_checked = ("1.0", "2.0.1")


@pytest.mark.parametrize(
    ("version", "unknown", "expected"),
    [
        ("2.0.1", {}, ""),
        ("v2.0.1", {}, ""),
        ("2.0.1 (Agent)", {}, ""),
        ("", {}, ""),
        (" ", {}, ""),
        ("2.0.2", {}, "a: version 2.0.2 is not among those checked (1.0, 2.0.1)"),
        ("1.0", {"x": 2, "y": 1}, "a: 3 events of unknown type (x, y)"),
        ("", dict.fromkeys("abcd", 1), "a: 4 events of unknown type (a, b, c, ...)"),
        (
            "3",
            {"x": 1},
            "a: version 3 is not among those checked (1.0, 2.0.1); "
            "1 events of unknown type (x)",
        ),
    ],
)
def test_warning(version: str, unknown: dict[str, int], expected: str) -> None:
    assert drift.warning(Checked, "a", version, unknown) == expected


def test_an_adapter_of_several_agents() -> None:
    assert drift.is_checked("2.1.5", ("Other 1.0", "Agent 2.1"))
    assert not drift.is_checked("2.2", ("Other 1.0", "Agent 2.1"))
    assert drift.is_checked("2.2", ())


@pytest.mark.parametrize("name", sorted(registry.known()))
def test_every_adapter_says_how_it_was_checked(name: str) -> None:
    adapter = registry.find(name).load()
    told = drift.how_checked(adapter)
    if adapter.versions_checked:
        assert told.endswith("(recordings)")
    else:
        assert told in ("-", "against its documentation only")


def test_in_a_run(tmp_path: Path) -> None:
    lines = (
        'raw={"type": "system", "subtype": "init", "claude_code_version": "0.0.1"}\n',
        'raw={"type": "brand-new"}\n',
    )
    done = run(tmp_path, scripted(*lines, "text=Hi", "result"), "--adapter=claude-code")
    said = [line for line in done.stderr.splitlines() if "not among" in line]
    assert len(said) == 1
    assert "version 0.0.1" in said[0]
    assert "brand-new" in said[0]
    assert said[0].removeprefix("agent-wrap: ") in done.summary["notes"]
    assert done.complete["status"] == "success"


def test_nothing_is_said_of_what_is_known(tmp_path: Path) -> None:
    done = run(tmp_path, scripted("init", "text=Hi", "result"), "--adapter=claude-code")
    assert done.stderr == ""
    assert done.summary["notes"] == []
