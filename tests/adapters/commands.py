"""Tables of commands: what an adapter is to make of each before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from agent_wrap.adapter import Adapter


class Ready(NamedTuple):
    """A command as it is started, what goes in by stdin, what the dialog says."""

    command: list[str]
    stdin: bytes | None
    asked: str | None


@dataclass(frozen=True)
class Case:
    """A command and a prompt of the caller's, and what becomes of them."""

    command: list[str]
    prompt: str | None
    expected: Ready

    def __str__(self) -> str:
        told = [] if self.prompt is None else ["<", self.prompt]
        return " ".join([*self.command, *told])

    def prepared(self, adapter: type[Adapter]) -> Ready:
        """What the adapter makes of the two."""
        found = adapter.prepare(self.command, self.prompt)
        return Ready(list(found.command), found.stdin, found.prompt)


def commands(
    columns: str, rows: Sequence[tuple[Any, ...]], *, program: str = ""
) -> pytest.MarkDecorator:
    """Parametrise a test's `case` by rows, whose columns are named like arguments.

    Columns: `command` (words, or one text of them), `expected` (likewise; None: the
    same command), and, None where they are not named, `prompt`, `stdin` and `asked`.
    """

    def words(said: str | list[str]) -> list[str]:
        told = said.split() if isinstance(said, str) else said
        return [program, *told] if program else told

    def case(row: tuple[Any, ...]) -> Case:
        told = dict(zip(columns.split(), row, strict=True))
        command, expected = words(told.pop("command")), told.pop("expected")
        prompt = told.pop("prompt", None)
        ready = words(expected) if expected is not None else command
        return Case(command, prompt, Ready(ready, told.get("stdin"), told["asked"]))

    cases = [case(row) for row in rows]
    names = [
        " ".join([*c.command, *([f"< {c.prompt}"] * bool(c.prompt))]) for c in cases
    ]
    return pytest.mark.parametrize("case", cases, ids=names)
