"""docs/python.md names what the Python API has: no less, no more."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

import agent_wrap
from agent_wrap import errors
from agent_wrap.events import Event, Send

REFERENCE = (Path(__file__).parent.parent / "docs" / "python.md").read_text()


def rows(title: str) -> list[list[str]]:
    """Give the cells of the table below a heading."""
    part = REFERENCE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert part, f"no section {title!r}"
    lines = [line for line in part.splitlines() if line.startswith("| `")]
    return [line.strip("| ").split(" | ") for line in lines]


def words(cell: str) -> list[str]:
    """Give the names in a cell, without what stands in brackets behind them."""
    return re.findall(r"`(\w+)[^`]*`", cell)


def public(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_")}


def test_a_results_fields() -> None:
    told = [name for row in rows("RunResult") for name in words(row[0])]
    fields = [field.name for field in dataclasses.fields(agent_wrap.RunResult)]
    assert sorted(told) == sorted([*fields, "ok"])


def test_what_a_run_under_way_can_do() -> None:
    told = {name for row in rows("Run, while it runs") for name in words(row[0])}
    assert told == public(agent_wrap.Run)


def test_what_a_dialog_writer_can_do() -> None:
    told = {name for row in rows("DialogWriter") for name in words(row[0])}
    of_instances = {"log_path", "start_time", "error"}
    assert told == public(agent_wrap.DialogWriter) | of_instances
    for row in rows("DialogWriter"):
        for name, given in re.findall(r"`(\w+)\(([^)]*)\)`", row[0]):
            has = inspect.signature(getattr(agent_wrap.DialogWriter, name)).parameters
            assert re.findall(r"(\w+)(?:=\S+)?(?:, |$)", given) == list(has)[1:]


def test_the_errors_with_what_they_carry() -> None:
    told = {words(row[0])[0]: set(words(row[2])) for row in rows("Errors")}
    raised = {
        "UsageError": errors.UsageError("w"),
        "ArchiveError": errors.ArchiveError("p", "r"),
        "SpawnError": errors.SpawnError("c", 2, "r", 127),
        "AdapterError": errors.AdapterError("n", "r"),
        "DialogError": errors.DialogError("s", "r"),
        "AgentWrapError": errors.AgentWrapError(),
    }
    public_errors = {name for name in agent_wrap.__all__ if name.endswith("Error")}
    assert set(told) == set(raised) == public_errors
    for name, error in raised.items():
        assert told[name] == {"exit_code"} | vars(error).keys()


def test_the_events_with_their_fields() -> None:
    told = {words(row[0])[0]: words(row[1]) for row in rows("Events")}
    assert told == {
        kind.__name__: [field.name for field in dataclasses.fields(kind)]
        for kind in get_args(Event)
        if kind is not Send  # it never leaves the wrapper
    }


def test_every_public_name_is_told() -> None:
    text = re.sub("```.*?```", "", REFERENCE, flags=re.S)
    told = set(re.findall(r"\w+", " ".join(re.findall("`([^`]+)`", text))))
    assert set(agent_wrap.__all__) - told == set()


def test_dir_lists_the_public_names() -> None:
    listed = dir(agent_wrap)
    assert set(agent_wrap.__all__) <= set(listed)
    assert [name for name in listed if name.startswith("_") and name[1] != "_"] == []


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", REFERENCE, re.S))
def test_the_examples_compile(code: str) -> None:
    compile(code, "docs/python.md", "exec")
