"""Every JSON example of the dialog protocol is accepted, and is what we write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import entries
from agent_wrap.encode import encode
from agent_wrap.validate import check

DATA = Path(__file__).parent / "data" / "protocol"
NAMES = sorted(path.stem for path in DATA.glob("*.json"))


def example(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    return loaded


def ours(entry: dict[str, Any]) -> dict[str, Any]:
    """Build the entry anew from what the example says."""
    head = (entry["seq"], entry["ts"])
    kind = entry["type"]
    if kind == "init":
        return entries.init(*head, **entry["data"])
    if kind == "prompt":
        return entries.prompt(*head, entry["content"])
    if kind == "message":
        tokens = (entry["tokens"]["in"], entry["tokens"]["out"])
        return entries.message(*head, entry["content"], tokens)
    if kind == "thinking":
        return entries.thinking(*head, entry["content"])
    if kind == "complete":
        total = entry["total_tokens"]
        return entries.complete(
            *head,
            status=entry["status"],
            turns=entry["turns"],
            duration_ms=entry["duration_ms"],
            tokens=(total["in"], total["out"]),
            message=entry.get("message", ""),
        )
    tool = (*head, entry["tool_id"], entry["name"])
    if entry["status"] == "running":
        return entries.tool_start(*tool, entry["args"])
    ok = entry["status"] == "success"
    return entries.tool_result(*tool, entry["result" if ok else "error"], ok=ok)


def test_all_examples_are_here() -> None:
    assert NAMES == [
        "complete",
        "init",
        "message",
        "prompt",
        "thinking",
        "tool_error",
        "tool_result",
        "tool_start",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_our_entries_have_the_shape_of_the_example(name: str) -> None:
    entry = example(name)
    assert ours(entry) == entry
    assert list(ours(entry)) == list(entry)


@pytest.mark.parametrize("name", NAMES)
def test_the_line_that_we_write_says_the_same(name: str) -> None:
    assert json.loads(encode(example(name))) == example(name)


@pytest.mark.parametrize("result", ["tool_result", "tool_error"])
def test_the_examples_make_a_dialog_without_a_breach(result: str) -> None:
    order = ["init", "prompt", "message", "thinking", "tool_start", result, "complete"]
    lines = []
    for seq, name in enumerate(order):
        entry = example(name)
        assert entry["seq"] in (seq, 20)  # the protocol's complete stands at 20
        lines.append(encode({**entry, "seq": seq}))
    assert check(b"".join(lines)) == []


@pytest.mark.parametrize("name", NAMES)
def test_an_example_alone_breaks_rules_of_order_only(name: str) -> None:
    order = {
        *("init-first", "prompt-missing", "prompt-second", "complete-missing"),
        *("seq-contiguous", "tool-start-missing", "tool-result-missing"),
    }
    problems = check((json.dumps(example(name)) + "\n").encode())
    assert {problem.rule for problem in problems} <= order
