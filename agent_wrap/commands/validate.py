"""`agent-wrap validate FILE...`: every breach of the protocol, all at once."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Sequence

from agent_wrap.validate import Problem, check
from agent_wrap.writer import DIALOG


def main(argv: Sequence[str]) -> int:
    """Check files; give 1 when any breaks a rule, 2 when one cannot be read."""
    parser = argparse.ArgumentParser(
        prog="agent-wrap validate",
        description="Check dialogs against the dialog protocol. Prints every breach as "
        "FILE:LINE: rule: what; a missing prompt is only a warning.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a dialog.jsonl, or an archive"
    )
    worst = 0
    for path in parser.parse_args(list(argv)).files:
        inside = os.path.join(path, DIALOG)
        worst = max(worst, _check_file(inside if os.path.lexists(inside) else path))
    return worst


def _check_file(path: str) -> int:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        reason = error.strerror or error
        print(f"agent-wrap: {path}: {reason}", file=sys.stderr)
        return 2
    problems = [*_check_place(path), *check(data)]
    for problem in problems:
        word = "warning: " if problem.warning else ""
        print(f"{path}:{problem.line}: {problem.rule}: {word}{problem.what}")
    if any(not problem.warning for problem in problems):
        return 1
    print(f"{path}: conforms, {data.count(10)} entries")
    return 0


def _check_place(path: str) -> list[Problem]:
    """The server that shows finished dialogs opens no link and nothing but a file."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return [Problem(0, "regular-file", "is a symbolic link; readers refuse it")]
    if not stat.S_ISREG(found.st_mode):
        return [Problem(0, "regular-file", "is no regular file", warning=True)]
    return []
