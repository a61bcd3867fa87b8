"""A tool's arguments for people: in one line, and as the change that they ask for.

The keys are those that tools of any agent use; whatever is not known is shown as it
is, nothing is hidden but the texts that the change shows already.
"""

from __future__ import annotations

import difflib
import json
import shlex
from typing import Any

SUBJECTS = (
    *("command", "cmd", "script", "code", "file_path", "filePath", "path"),
    *("filename", "pattern", "query", "url", "prompt"),
)
PLACES = ("file_path", "filePath", "path", "filename", "file")
CHANGES = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldString", "newString"),
    ("oldText", "newText"),
)
CONTENTS = ("content", "contents", "file_text")
PATCHES = ("patch", "diff", "patch_text", "patchText", "input")
LONGEST_CHANGE = 100_000
_CHANGE_KEYS = {key for pair in CHANGES for key in pair} | {
    *CONTENTS,
    *PATCHES,
    "edits",
}


def one_line(args: dict[str, Any]) -> str:
    """Give arguments in one line: what the call is about first, then the others."""
    shown_below = {key for key in args if is_shown(key)} if change(args) else set()
    subject = next((key for key in SUBJECTS if args.get(key)), "")
    words = [_word(args[subject])] if subject else []
    for key, value in args.items():
        if key != subject and key not in shown_below:
            words.append(f"{key}={_word(value)}")
    return "  ".join(words)


def is_shown(key: str) -> bool:
    """Does a call's change show the argument with this key?"""
    return key in _CHANGE_KEYS


def _word(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        value = shlex.join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    lines = text.strip().split("\n")
    return lines[0] if len(lines) == 1 else " ⏎ ".join(line.strip() for line in lines)


def change(args: dict[str, Any]) -> list[str]:
    """Give the lines of the diff that a call asks for; none: it asks for none."""
    for old, new in CHANGES:
        before, after = args.get(old), args.get(new)
        if isinstance(before, str) and isinstance(after, str):
            return _diff(before, after)
    edits = args.get("edits")
    if isinstance(edits, list):
        parts = [change(edit) for edit in edits if isinstance(edit, dict)]
        return [line for part in parts for line in part]
    for key in PATCHES:
        text = args.get(key)
        if isinstance(text, str) and is_diff(text):
            return text.rstrip("\n").split("\n")
    if any(isinstance(args.get(key), str) for key in PLACES):
        for key in CONTENTS:
            if isinstance(args.get(key), str) and args[key]:
                return ["+" + line for line in args[key].rstrip("\n").split("\n")]
    return []


def _diff(before: str, after: str) -> list[str]:
    old, new = before.split("\n"), after.split("\n")
    if len(before) + len(after) > LONGEST_CHANGE:  # comparing is quadratic
        return [*("-" + line for line in old), *("+" + line for line in new)]
    return [
        line
        for line in difflib.unified_diff(old, new, n=2, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]


def is_diff(text: str) -> bool:
    """Does a text begin like a unified diff or a patch?"""
    head = text[:2000]
    if head.lstrip().startswith(("diff --git ", "*** Begin Patch", "Index: ")):
        return True
    return "\n+++ " in head and "\n@@ " in head and head.lstrip().startswith("--- ")


def kind_of_line(line: str) -> str:
    """Say what a line of a diff is: added, removed, place, or same."""
    if line.startswith(("@@", "diff ", "index ", "+++ ", "--- ", "*** ")):
        return "place"
    if line.startswith("+"):
        return "added"
    return "removed" if line.startswith("-") else "same"
