"""Two runs side by side: their figures, their steps aligned, what cannot break it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import cli, entries
from agent_wrap.view import compare, words
from agent_wrap.view.align import Moment, aligned

from ..dialogs import ts

HOSTILE = "\x1b[2J\x1b]8;;http://evil\x1b\\x\u202e[bold]"


def write(folder: Path, commands: list[str], status: str, **summary: Any) -> str:
    """A run that thinks and calls bash with each command; the last call fails."""
    found = [
        entries.init(0, ts(0), task="t-1", cwd="/src", model="m", agent=folder.name),
        entries.prompt(1, ts(0), "Fix it."),
        entries.thinking(2, ts(1), f"{folder.name} thinks"),
    ]
    for number, command in enumerate(commands):
        seq, ok = len(found), number < len(commands) - 1
        args, call = {"command": command}, f"t{number}"
        found.append(entries.tool_start(seq, ts(seq), call, "bash", args))
        found.append(
            entries.tool_result(seq + 1, ts(seq + 1), call, "bash", "out", ok=ok)
        )
    found.append(
        entries.complete(
            *(len(found), ts(20)),
            status=status,
            turns=len(commands),
            duration_ms=9000,
            tokens=(100, 5),
        )
    )
    folder.mkdir()
    lines = "".join(json.dumps(entry) + "\n" for entry in found)
    (folder / "dialog.jsonl").write_text(lines)
    (folder / "summary.json").write_text(json.dumps(summary))
    return str(folder)


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    left = write(tmp_path / "left", ["ls", "make", "make test"], "error", exit_code=1)
    right = write(tmp_path / "right", ["ls", "cat x", "make test", "ls"], "success")
    return [left, right]


@pytest.mark.parametrize("option", [[], ["--plain"]])
def test_what_differs_is_seen(
    two: list[str], option: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["view", *two, *option]) == 0
    seen = capfd.readouterr().out
    lines = [" ".join(line.split()) for line in seen.split("\n")]
    assert "status error success ≠" in lines
    assert "turns 3 4 +33 %" in lines
    assert "bash 3 4 +33 %" in lines
    assert "0:03 ▸ bash ls = 0:03 ▸ bash ls" in lines
    assert "0:01 ✻ left thinks ~ 0:01 ✻ right thinks" in lines
    assert "0:20 ■ error ~ 0:20 ■ success" in lines
    assert "> 0:09 ✗ bash ls" in lines


def test_json(two: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", *two, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["tools"] == {"bash": [3, 4]}
    assert {"status", "turns", "tools", "exit_code"} <= set(found["different"])
    assert "tokens_in" not in found["different"]
    marks = [row["mark"] for row in found["timeline"]]
    assert marks == ["=", "~", "=", "~", "~", ">", "~"]  # same: the prompt, `ls`
    calls = [(row["left"], row["right"]) for row in found["timeline"][3:5]]
    texts = [[side["text"] for side in pair] for pair in calls]
    assert texts == [["bash make", "bash cat x"], ["bash make test", "bash make test"]]
    assert [side["failed"] for side in calls[1]] == [True, False]
    assert found["timeline"][0]["left"]["text"] == words.PROMPT + "Fix it."
    end = found["timeline"][-1]
    assert (end["left"]["failed"], end["right"]["failed"]) == (True, False)


def test_wrong_use(two: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    for given_words in (
        [*two, two[0]],
        ["--follow", *two],
        ["--sort", "turns", *two],
        ["--junit", "x.xml", *two],
        [two[0], "missing"],
        [two[0], str(Path(two[0]).parent)],
    ):
        assert cli.main(["view", *given_words]) == 2
        seen = capfd.readouterr()
        assert seen.out == ""
        assert seen.err.count("\n") == 1


def test_hostile_texts_control_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    one = write(tmp_path / "a", [HOSTILE], "error")
    for option in ("--plain", "--full"):
        assert cli.main(["view", one, one, option]) == 0
        seen = capfd.readouterr().out
        assert all(c.isprintable() or c == "\n" for c in seen)
        assert "[bold]" in seen


steps = st.lists(
    st.builds(Moment, st.just(0), st.sampled_from("ab"), st.sampled_from("xyz"))
)


@given(steps, steps)
def test_each_step_comes_once_and_in_order(
    left: list[Moment], right: list[Moment]
) -> None:
    found = list(aligned(left, right))
    assert [one for _, one, _ in found if one] == left
    assert [other for _, _, other in found if other] == right
    for mark, one, other in found:
        same_kind = one is not None and other is not None and one.kind == other.kind
        same = same_kind and one is not None and other is not None
        same = same and one.text == other.text  # type: ignore[union-attr]  # both are
        assert same_kind == (mark in "=~")
        assert (mark == "=") <= same
        assert (mark == "<") == (other is None)
        assert (mark == ">") == (one is None)


def test_a_long_run_is_compared_soon_and_says_what_is_left_out(tmp_path: Path) -> None:
    def read(word: str) -> Any:
        for number in range(4 * compare.MOST):
            yield entries.message(number, ts(number), f"{word} {number % 7}")

    began = time.process_time()
    told = [compare.tell(read(word), lambda facts: {}) for word in ("a", "b")]
    assert [side.left_out for side in told] == [3 * compare.MOST] * 2
    pairs = list(aligned(told[0].moments, told[1].moments))
    assert [mark for mark, _, _ in pairs] == ["~"] * compare.MOST
    assert time.process_time() - began < 15


def test_what_is_unknown_is_not_compared(
    two: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    for place in two:
        path = Path(place) / "dialog.jsonl"
        told = path.read_text().replace('"t-1"', '"unknown"')
        path.write_text(told.replace('"in": 100, "out": 5', '"in": 0, "out": 0'))
    assert cli.main(["view", *two, "--plain"]) == 0
    figures = capfd.readouterr().out.partition("\n\n")[0]
    assert "tokens" not in figures
    assert "\ntask" not in figures
