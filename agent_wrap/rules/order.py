"""The entries among each other: which comes first, last, once, and in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from agent_wrap.rules.words import shown

Line: TypeAlias = tuple[int, dict[str, Any]]
"""An entry and the number of its line."""

Breach: TypeAlias = tuple[int, str, str]
"""A breach while it is on its way: line, rule, what."""


def _init(entries: list[Line]) -> Iterator[Breach]:
    """`init` must be the first entry, and there is one."""
    if not entries:
        yield 0, "init-first", "there is no init"
    elif entries[0][1].get("type") != "init":
        what = f"the first entry is {shown(entries[0][1].get('type'))}"
        yield entries[0][0], "init-first", f"{what}, expected init"
    for line, _ in _of_type(entries, "init")[1:]:
        yield line, "init-once", "a second init"


def _prompt(entries: list[Line]) -> Iterator[Breach]:
    """`prompt` should follow immediately after `init`, once."""
    prompts = _of_type(entries, "prompt")
    if not prompts:
        yield 0, "prompt-missing", "there is no prompt"
        return
    kinds = [entry.get("type") for _, entry in entries[:2]]
    if kinds != ["init", "prompt"]:
        yield prompts[0][0], "prompt-second", "the prompt does not follow init"
    for line, _ in prompts[1:]:
        yield line, "prompt-once", "a second prompt"


def _complete(entries: list[Line]) -> Iterator[Breach]:
    """`complete` must be the last entry, and there is one."""
    ends = _of_type(entries, "complete")
    if not ends:
        yield 0, "complete-missing", "there is no complete: the dialog is not finished"
        return
    for line, _ in ends[1:]:
        yield line, "complete-once", "a second complete"
    for line, entry in entries:
        if line > ends[0][0] and entry.get("type") != "complete":
            yield line, "complete-last", "an entry after complete"


def _pairs(entries: list[Line]) -> Iterator[Breach]:
    """Tool entries come in pairs, a start and a result with its `tool_id`."""
    started: dict[str, Line] = {}
    waiting: dict[str, Line] = {}
    for line, entry in _of_type(entries, "tool"):
        tool_id = entry.get("tool_id")
        if not isinstance(tool_id, str):
            continue
        id = shown(tool_id)
        if entry.get("status") == "running":
            if tool_id in started:
                first = started[tool_id][0]
                yield line, "tool-id-unique", f"{id} was started in line {first}"
            started[tool_id] = waiting[tool_id] = (line, entry)
        elif tool_id not in started:
            yield line, "tool-start-missing", f"a result for {id}, never started"
        else:
            if waiting.pop(tool_id, None) is None:
                yield line, "tool-result-once", f"a second result for {id}"
            name = started[tool_id][1].get("name")
            if entry.get("name") != name:
                found = f"name is {shown(entry.get('name'))}"
                yield line, "tool-name-carried", f"{found}, started as {shown(name)}"
    for line, entry in waiting.values():
        id = shown(entry.get("tool_id"))
        yield line, "tool-result-missing", f"no result for {id}"


def _of_type(entries: list[Line], kind: str) -> list[Line]:
    return [line for line in entries if line[1].get("type") == kind]


ORDER_RULES = (_init, _prompt, _complete, _pairs)
"""Each takes the entries that could be read and gives the breaches."""
