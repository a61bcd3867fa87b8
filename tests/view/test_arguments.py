"""Arguments in one line, and the change that a call asks for."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.view.arguments import LONGEST_CHANGE, change, is_diff, one_line

PATCH = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"command": "ls -la"}, "ls -la"),
        (
            {"description": "list", "command": "ls\n  -la\n"},
            "ls ⏎ -la  description=list",
        ),
        ({"cmd": ["bash", "-c", "ls"]}, "bash -c ls"),
        ({"cmd": ["bash", "-lc", "ls | wc -l"]}, "bash -lc 'ls | wc -l'"),
        ({"n": 5, "deep": {"a": [1]}}, 'n=5  deep={"a": [1]}'),
        ({"path": "x.py", "old_string": "a", "new_string": "b"}, "x.py"),
        ({"path": "x.py", "content": "a\nb"}, "x.py"),
        ({"patch": PATCH}, ""),
        ({"input": "no patch"}, "input=no patch"),
        ({"query": "é"}, "é"),
        ({}, ""),
    ],
)
def test_one_line(args: dict[str, Any], expected: str) -> None:
    assert one_line(args) == expected


def test_changes() -> None:
    assert change({"old_str": "a\nb", "new_str": "a\nc"}) == [" a", "-b", "+c"]
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}, 5]
    assert change({"edits": edits}) == ["-a", "+b", "-c", "+d"]
    assert change({"patch": PATCH}) == PATCH.rstrip().split("\n")
    assert change({"file_path": "x", "content": "a\nb\n"}) == ["+a", "+b"]
    assert change({"content": "a message"}) == []
    assert change({"old_string": 5, "new_string": None}) == []
    assert change({}) == []


def test_a_huge_change_is_not_compared() -> None:
    text = "x\n" * LONGEST_CHANGE
    lines = change({"old_string": text, "new_string": text})
    assert len(lines) == 2 * (LONGEST_CHANGE + 1)


def test_what_is_a_diff() -> None:
    assert is_diff(PATCH)
    assert is_diff("diff --git a/x b/x\n")
    assert is_diff("*** Begin Patch\n*** Update File: x\n")
    assert not is_diff("--- a heading\ntext")
    assert not is_diff("1 + 1\n- a list\n+ another")
