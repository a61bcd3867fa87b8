"""The timeline as plain text: one line of life for each entry, nothing that bites."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap import entries
from agent_wrap.view.plain import RESULT_LINES, WIDTH, lines_of

TS = "2025-01-15T10:30:00+00:00"


def shown(entry: dict[str, Any]) -> list[str]:
    return list(lines_of(entry))


def test_each_entry() -> None:
    assert shown(entries.init(0, TS, task="t", cwd="/src", model="m", agent="a")) == [
        "● a · m · task t",
        "  in /src",
    ]
    assert shown(entries.prompt(1, TS, "do\nit")) == ["> do", "  it"]
    assert shown(entries.message(2, TS, "Hi\n\nthere")) == ["Hi", "", "there"]
    assert shown(entries.thinking(3, TS, "hm")) == ["~ hm"]
    start = entries.tool_start(4, TS, "t1", "bash", {"command": "ls é"})
    assert shown(start) == ['▸ bash {"command": "ls é"}']
    assert shown(entries.tool_start(4, TS, "t1", "bash", None)) == ["▸ bash "]
    good = entries.tool_result(5, TS, "t1", "bash", "a\nb", ok=True)
    assert shown(good) == ["  ✓ a", "    b"]
    bad = entries.tool_result(5, TS, "t1", "bash", "no", ok=False)
    assert shown(bad) == ["  ✗ no"]
    assert shown(entries.tool_result(5, TS, "t1", "bash", "", ok=True)) == ["  ✓ bash"]


def test_the_end() -> None:
    end = entries.complete(
        6,
        TS,
        status="timeout",
        turns=3,
        duration_ms=1250,
        tokens=(12_345, 5),
        message="timed out",
    )
    assert shown(end) == [
        "■ timeout · 3 turns · 12,345 tokens in, 5 out · 1.2 s",
        "  timed out",
    ]
    end.pop("message")
    assert len(shown(end)) == 1


def test_an_unknown_entry_shows_nothing() -> None:
    assert shown({"type": "new"}) == []


def test_long_results_are_cut() -> None:
    text = "\n".join(f"line {n}" for n in range(50))
    lines = shown(entries.tool_result(5, TS, "t1", "bash", text, ok=True))
    assert len(lines) == RESULT_LINES + 1
    assert lines[-1].strip() == f"… {50 - RESULT_LINES} more lines"
    wide = shown(entries.tool_result(5, TS, "t1", "bash", "x" * 500, ok=True))
    assert len(wide) == 1
    assert len(wide[0]) <= WIDTH + 4
    assert wide[0].endswith("…")


def test_one_more_line_is_no_more_lines() -> None:
    text = "\n".join("x" * (RESULT_LINES + 1))
    lines = shown(entries.tool_result(5, TS, "t1", "bash", text, ok=True))
    assert lines[-1].strip() == "… 1 more line"


def test_a_message_is_never_cut() -> None:
    text = "\n".join("y" * 500 for _ in range(50))
    assert shown(entries.message(2, TS, text)) == text.split("\n")


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07red",
        "\x9b31mred",
        "\x00\x07\x08red\x7f",
        "over\rred",
        "\u202ered",
        "\u2028red",
    ],
)
def test_nothing_controls_the_terminal(text: str) -> None:
    for entry in (
        entries.message(2, TS, text),
        entries.prompt(1, TS, text),
        entries.tool_start(4, TS, "t1", text, {text: text}),
        entries.tool_result(5, TS, "t1", "bash", text, ok=False),
        entries.init(0, TS, task=text, cwd=text, model=text, agent=text),
        entries.complete(
            6, TS, status="error", turns=0, duration_ms=0, tokens=(0, 0), message=text
        ),
    ):
        lines = shown(entry)
        assert "red" in "".join(lines)
        assert all(line.isprintable() for line in lines)
