"""ATIF -> dialog: what we exported comes back, what others wrote conforms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import cli, entries, validate
from agent_wrap.encode import encode
from agent_wrap.export import atif
from agent_wrap.export.atif_reading import Trajectory
from agent_wrap.export.run import Run
from agent_wrap.view.reading import Reader

from ..dialogs import ts
from .samples import dialog

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
counts = st.integers(0, 10**9)
values: Any = st.recursive(
    st.none() | st.booleans() | counts | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def dialogs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Any order of entries, tools that overlap, with or without an end."""
    found: list[dict[str, Any]] = []
    names = {key: draw(texts) for key in ("task", "cwd", "model", "agent")}
    found.append(entries.init(0, ts(0), **names))
    if draw(st.booleans()):
        found.append(entries.prompt(1, ts(0), draw(texts)))
    opened: list[tuple[str, str]] = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from("mtsr"), max_size=12))):
        at = len(found), ts(len(found) + number)
        if kind == "m":
            tokens = draw(st.none() | st.tuples(counts, counts))
            found.append(entries.message(*at, draw(texts), tokens))
        elif kind == "t":
            found.append(entries.thinking(*at, draw(texts)))
        elif kind == "s":
            opened.append((f"t{number}", draw(texts) or "bash"))
            args = draw(st.dictionaries(texts, values, max_size=3))
            found.append(entries.tool_start(*at, *opened[-1], args))
        elif opened:
            call = opened.pop(draw(st.integers(0, len(opened) - 1)))
            output, ok = draw(texts), draw(st.booleans())
            found.append(entries.tool_result(*at, *call, output, ok=ok))
    if draw(st.booleans()):
        found.append(
            entries.complete(
                *(len(found), ts(1000)),
                status=draw(st.sampled_from(["success", "error", "timeout"])),
                turns=draw(counts),
                duration_ms=draw(counts),
                tokens=draw(st.tuples(counts, counts)),
                message=draw(texts),
            )
        )
    return found


@given(dialogs())
def test_a_dialog_comes_back(found: list[dict[str, Any]]) -> None:
    read = list(Reader().feed(b"".join(map(encode, found))))
    text = "".join(atif.export(Run(lambda: iter(read))))
    assert Trajectory(json.loads(text)).entries() == read


def test_what_became_known_later_does_not_change_the_dialog() -> None:
    start = entries.init(0, ts(0), task="", cwd="/src", model="", agent="a")
    run = Run(lambda: iter([start]), {"model": "m-1", "task": "t-1"})
    found = json.loads("".join(atif.export(run)))
    assert found["agent"]["model_name"] == "m-1"
    assert Trajectory(found).entries() == [start]


FOREIGN: dict[str, Any] = {
    "schema_version": "ATIF-v1.5",
    "session_id": "s",
    "agent": {"name": "other", "version": "1", "model_name": "m-1"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You are good."},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Fix"}]},
        {
            "step_id": 3,
            "timestamp": "2026-01-15T10:30:00Z",
            "source": "agent",
            "message": "I look.",
            "reasoning_content": "Hm.",
            "metrics": {"prompt_tokens": 10, "completion_tokens": 2},
            "tool_calls": [
                {"tool_call_id": "c", "function_name": "bash", "arguments": {"x": 1}}
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c", "content": "out"},
                    {"content": [{"type": "image", "source": {}}]},
                ]
            },
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": "c", "function_name": "bash", "arguments": {}}
            ],
            "observation": {"results": [{"source_call_id": "c", "content": "again"}]},
        },
        {"step_id": 5, "source": "user", "message": "And now?"},
    ],
}


def test_a_trajectory_of_others_conforms_as_far_as_it_goes() -> None:
    trajectory = Trajectory(FOREIGN)
    found = trajectory.entries()
    told = [
        (entry["type"], entry.get("content", entry.get("tool_id"))) for entry in found
    ]
    assert told == [
        *(
            ("init", None),
            ("prompt", "Fix"),
            ("thinking", "Hm."),
            ("message", "I look."),
        ),
        *(("tool", "c"), ("tool", "c"), ("tool", "tool"), ("tool", "tool")),
        *(("tool", "c#2"), ("tool", "c#2")),
    ]
    assert found[0]["data"]["model"] == "m-1"
    assert found[3]["tokens"] == {"in": 10, "out": 2}
    assert found[7]["result"] == "[image]"
    assert found[1]["ts"] <= found[2]["ts"] == found[9]["ts"]
    problems = validate.check(b"".join(map(encode, found)))
    assert {problem.rule for problem in problems} == {"complete-missing"}
    assert trajectory.notes == [
        "system messages have no place in a dialog: 1 left out",
        "later user messages have no place in a dialog: 1 left out",
        "a trajectory does not say how its run ended",
    ]


@given(values)
def test_no_value_breaks_it(value: Any) -> None:
    names = ("agent", "steps", "final_metrics", "extra")
    for name in names:
        Trajectory({**FOREIGN, name: value}).entries()
        Trajectory({**FOREIGN, "extra": {"task": "", "cwd": ""}, name: value}).entries()
    for name in ("message", "tool_calls", "observation", "metrics", "extra", "source"):
        for step in FOREIGN["steps"]:
            Trajectory({**FOREIGN, "steps": [{**step, name: value}]}).entries()


def test_from_the_command_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(
        json.dumps(entry, separators=(",", ":")) + "\n" for entry in dialog()
    )
    (tmp_path / "dialog.jsonl").write_text(lines)
    there, back = str(tmp_path / "there.json"), str(tmp_path / "back.jsonl")
    assert cli.main(["convert", "--to", "atif", str(tmp_path), "-o", there]) == 0
    assert cli.main(["convert", "--to", "dialog", there, "-o", back]) == 0
    assert Path(back).read_text() == lines
    (tmp_path / "foreign.json").write_text(json.dumps(FOREIGN))
    assert capfd.readouterr().err == ""
    foreign = str(tmp_path / "foreign.json")
    assert cli.main(["convert", "--to", "dialog", foreign]) == 0
    assert capfd.readouterr().err.count("have no place") == 2


@pytest.mark.parametrize("text", ["", "[]", "{}", "garbage", '{"schema_version":5}'])
def test_what_is_no_trajectory(
    tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text(text)
    for name in ("file", "missing", "."):
        assert cli.main(["convert", "--to", "dialog", str(tmp_path / name)]) == 2
        seen = capfd.readouterr()
        assert seen.out == ""
        assert seen.err.count("\n") == 1


def test_formats_without_a_way_back_are_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(json.dumps(entry) + "\n" for entry in dialog())
    (tmp_path / "dialog.jsonl").write_text(lines)
    there = str(tmp_path / "there")
    for name, said in (("otel", "OpenTelemetry"), ("ag-ui", "AG-UI")):
        assert cli.main(["convert", "--to", name, str(tmp_path), "-o", there]) == 0
        assert cli.main(["convert", "--to", "dialog", there]) == 2
        error = capfd.readouterr().err
        assert said in error
        assert "only from ATIF" in error
        assert error.count("\n") == 1
    assert cli.main(["convert", "--to", "dialog", str(tmp_path)]) == 2
    assert "expected a file" in capfd.readouterr().err
    assert cli.main(["convert", "--to", "dialog", str(tmp_path / "dialog.jsonl")]) == 2
    assert "is a dialog already" in capfd.readouterr().err
