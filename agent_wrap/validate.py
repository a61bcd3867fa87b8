"""Every rule of the dialog protocol as a checker: a file's bytes in, its breaches out.

Pure, and complete: nothing stops at the first breach, and a line that cannot be read
does not hide what is wrong with the others. `RULES` names each rule with the clause
it comes from; the protocol's own clauses are quoted, those that its readers add are
marked (readers).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from agent_wrap.entries import TYPES

MAX_BYTES = 32 * 1024 * 1024
MAX_ENTRIES = 200_000
MAX_NESTING = 126
MOST = 10_000
"""Problems that are listed of one rule; more are counted (a file of garbage)."""

RULES: dict[str, str] = {
    "size-bytes": "(readers) at most 32 MiB, else the file is treated as absent",
    "size-entries": "(readers) at most 200,000 entries, the rest is not read",
    "final-newline": "one JSON object per line: the last line is torn",
    "utf-8": "Encoding: UTF-8",
    "byte-order-mark": "one JSON object per line: no byte-order mark before it",
    "blank-line": "one JSON object per line: no blank lines",
    "json": "Format: JSON Lines, one JSON object per line",
    "object": "Each object represents a discrete event",
    "finite": "(readers) no NaN, no Infinity, numbers within a double",
    "surrogate": "(readers) no lone surrogates",
    "nesting": "(readers) nested less than 127 deep",
    "seq": "seq: int, monotonically increasing sequence number",
    "seq-contiguous": "seq: starting at 0, one more with each entry",
    "ts": "ts: string, ISO 8601 timestamp in UTC",
    "type": "type: init, prompt, message, thinking, tool, or complete",
    "init-data": "data: object with task, cwd, model and agent",
    "init-data-task": "data.task: string",
    "init-data-cwd": "data.cwd: string",
    "init-data-model": "data.model: string",
    "init-data-agent": "data.agent: string",
    "prompt-content": "content: string, the full prompt text",
    "message-role": 'role: always "assistant"',
    "message-content": "content: string, the message text",
    "message-tokens": 'tokens: optional object {"in": <int>, "out": <int>}',
    "message-tokens-in": "tokens.in: int, not negative",
    "message-tokens-out": "tokens.out: int, not negative",
    "thinking-content": "content: string, the reasoning text",
    "tool-tool-id": "tool_id: string, unique identifier of the invocation",
    "tool-name": "name: string, the tool's name",
    "tool-status": 'status: "running", then "success" or "error"',
    "tool-args": "args: optional object",
    "tool-result": "result: optional string",
    "tool-error": "error: optional string",
    "tool-result-misplaced": "result: tool output on success",
    "tool-error-misplaced": "error: error message on failure",
    "complete-status": 'status: "success", "error" or "timeout"',
    "complete-turns": "turns: int, number of assistant turns",
    "complete-duration-ms": "duration_ms: int, milliseconds",
    "complete-total-tokens": 'total_tokens: object {"in": <int>, "out": <int>}',
    "complete-total-tokens-in": "total_tokens.in: int, not negative",
    "complete-total-tokens-out": "total_tokens.out: int, not negative",
    "complete-message": "message: optional string",
    "init-first": "init must be the first entry (seq: 0)",
    "init-once": "init: the first entry in every dialog file",
    "prompt-missing": "prompt should follow immediately after init",
    "prompt-second": "prompt should follow immediately after init",
    "prompt-once": "prompt: typically appears once, immediately after init",
    "complete-missing": "complete: signals that the agent session has ended",
    "complete-once": "complete: the final entry",
    "complete-last": "complete must be the last entry",
    "tool-id-unique": "tool_id: unique identifier for this tool invocation",
    "tool-start-missing": "tool entries come in pairs: a start, then its result",
    "tool-result-missing": "every tool start should have a matching tool result",
    "tool-result-once": "tool entries come in pairs: one result for a start",
    "tool-name-carried": "name: carried over from start",
}
"""Rule -> the clause of the protocol (or the limit of its readers) that it checks."""

_WARNINGS = frozenset({"prompt-missing", "tool-result-misplaced"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One breach: `line` counts from 1, 0 is the file; `rule` is a key of `RULES`."""

    line: int
    rule: str
    what: str
    warning: bool = False


Line: TypeAlias = tuple[int, dict[str, Any]]
"""An entry and the number of its line."""

Breach: TypeAlias = tuple[int, str, str]
"""A breach while it is on its way: line, rule, what."""


def check(data: bytes) -> list[Problem]:
    """Give every breach of the protocol in a dialog file, in the order of its lines."""
    entries: list[Line] = []
    breaches = list(_lines(data, entries))
    for rule in _ORDER_RULES:
        breaches.extend(rule(entries))
    breaches.sort(key=lambda breach: breach[0])
    return list(_problems(breaches))


def _problems(breaches: Iterable[Breach]) -> Iterator[Problem]:
    seen: Counter[str] = Counter()
    for line, rule, what in breaches:
        seen[rule] += 1
        if seen[rule] <= MOST:
            yield Problem(line, rule, what, rule in _WARNINGS)
    for rule, count in seen.items():
        if count > MOST:
            more = f"and {count - MOST} more like these"
            yield Problem(0, rule, more, rule in _WARNINGS)


# ---- the file and its lines -------------------------------------------------


def _lines(data: bytes, entries: list[Line]) -> Iterator[Breach]:
    """Check each line by itself; what could be read goes into `entries`."""
    if len(data) > MAX_BYTES:
        yield 0, "size-bytes", f"{len(data)} bytes, more than {MAX_BYTES}"
    lines = data.split(b"\n")
    if lines[-1]:
        yield len(lines), "final-newline", "the last line has no line feed: it is torn"
    else:
        lines.pop()
    count = len(lines) - sum(map(_is_blank, lines))
    if count > MAX_ENTRIES:
        yield 0, "size-entries", f"{count} entries, more than {MAX_ENTRIES}"
    due, unread = 0, 0  # the next seq, and lines that may or may not have had one
    for number, line in enumerate(lines, 1):
        if _is_blank(line):
            yield number, "blank-line", "a blank line"
            continue
        entry, breaches = _read(line)
        for rule, what in breaches:
            yield number, rule, what
        if entry is None:
            unread += 1
            continue
        entries.append((number, entry))
        for rule, what in _entry(entry, range(due, due + unread + 1)):
            yield number, rule, what
        seq = entry.get("seq")
        if isinstance(seq, int) and _is_count(seq):
            due, unread = seq + 1, 0
        else:
            unread += 1


def _is_blank(line: bytes) -> bool:
    return not line or line.isspace()


def _read(line: bytes) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """Read a line strictly; where that fails, read it as well as can be, and say why.

    What is no object comes back as None.
    """
    breaches: list[tuple[str, str]] = []
    try:
        value = orjson.loads(line)
    except ValueError as error:
        value, breaches = _read_tolerantly(line)
        if not breaches:  # the two strict readers disagree
            breaches.append(("json", f"not JSON: {error}"))
    if value is None and breaches:
        return None, breaches
    if not isinstance(value, dict):
        kind = _kind(value)
        return None, [*breaches, ("object", f"{kind}, expected an object")]
    # Counting brackets is quick and never too low: most lines need no closer look.
    if line.count(b"{") + line.count(b"[") > MAX_NESTING and _deeper(value):
        breaches.append(("nesting", f"nested more than {MAX_NESTING} deep"))
    return value, breaches


def _read_tolerantly(line: bytes) -> tuple[Any, list[tuple[str, str]]]:
    """Read what strict JSON refuses; name each reason that is not plain syntax."""
    breaches: list[tuple[str, str]] = []
    if line.startswith(b"\xef\xbb\xbf"):
        breaches.append(("byte-order-mark", "a byte-order mark before the object"))
        line = line[3:]
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        breaches.append(("utf-8", f"byte {error.start} is not UTF-8"))
        text = line.decode("utf-8", "replace")
    if "{" not in text:
        return None, [*breaches, ("json", "not JSON, and no object in it")]
    infinite: list[str] = []
    try:
        value = _decoder(infinite).decode(text)
    except RecursionError:
        return None, [*breaches, ("nesting", f"nested more than {MAX_NESTING} deep")]
    except ValueError as error:
        breaches.append(("json", f"not JSON: {error}"))
        infinite.clear()
        try:  # raw control characters in strings alone do not hide the entry
            value = _decoder(infinite, strict=False).decode(text)
        except ValueError:
            return None, breaches
    if infinite:
        found = ", ".join(word[:20] for word in infinite[:3])
        breaches.append(("finite", f"{found}: no finite double"))
    if "\\u" in text and not _encodable(value):
        breaches.append(("surrogate", "a lone surrogate in a string"))
    return value, breaches


def _decoder(infinite: list[str], *, strict: bool = True) -> json.JSONDecoder:
    """Give a decoder that notes the numbers which are no finite double."""
    return json.JSONDecoder(
        strict=strict,
        parse_constant=infinite.append,
        parse_float=lambda digits: _finite(digits, infinite),
        parse_int=lambda digits: _finite(digits, infinite),
    )


def _finite(digits: str, infinite: list[str]) -> int | float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        infinite.append(digits)
    whole = digits.lstrip("-").isdigit() and len(digits) <= 20
    return int(digits) if whole else number


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:  # reported as nesting
        return True
    return True


def _deeper(value: Any) -> bool:
    """Is a value nested too deep? Level by level: there is no recursion to run out."""
    level = [value]
    for _ in range(MAX_NESTING):
        inner: list[Any] = []
        for outer in level:
            inner.extend(outer.values() if isinstance(outer, dict) else outer)
        level = [v for v in inner if isinstance(v, dict | list)]
        if not level:
            return False
    return True


# ---- one entry --------------------------------------------------------------

_TS = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:"
    r"([0-5]\d|60)([.,]\d+)?(Z|\+00(:?00)?)"
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_moment(value: Any) -> bool:
    """Is this an ISO 8601 timestamp in UTC?"""
    found = _TS.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return False
    year, month, day = (int(found[group]) for group in (1, 2, 3))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _DAYS[month - 1] and (leap or (month, day) != (2, 29))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**64


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an entry type; `inside` is the object that holds it."""

    name: str
    fits: Callable[[Any], bool]
    expected: str
    required: bool = True
    inside: str = ""


def _text(name: str, *, required: bool = True, inside: str = "") -> _Field:
    return _Field(name, _is_text, "a string", required, inside)


def _tokens(name: str, *, required: bool) -> tuple[_Field, ...]:
    count = "an int, not negative"
    return (
        _Field(name, _is_object, "an object", required),
        _Field("in", _is_count, count, inside=name),
        _Field("out", _is_count, count, inside=name),
    )


_COMMON = (
    _Field("seq", _is_count, "an int from 0, within 64 bits"),
    _Field("ts", _is_moment, "an ISO 8601 timestamp in UTC"),
    _Field("type", _one_of(*TYPES), "one of " + ", ".join(sorted(TYPES))),
)
_FIELDS: dict[str, tuple[_Field, ...]] = {
    "init": (
        _Field("data", _is_object, "an object"),
        *(_text(name, inside="data") for name in ("task", "cwd", "model", "agent")),
    ),
    "prompt": (_text("content"),),
    "message": (
        _Field("role", _one_of("assistant"), '"assistant"'),
        _text("content"),
        *_tokens("tokens", required=False),
    ),
    "thinking": (_text("content"),),
    "tool": (
        _text("tool_id"),
        _text("name"),
        _Field("status", _one_of("running", "success", "error"), "a tool's status"),
        _Field("args", _is_object, "an object", required=False),
        _text("result", required=False),
        _text("error", required=False),
    ),
    "complete": (
        _Field("status", _one_of("success", "error", "timeout"), "a run's status"),
        _Field("turns", _is_count, "an int, not negative"),
        _Field("duration_ms", _is_count, "an int, not negative"),
        *_tokens("total_tokens", required=True),
        _text("message", required=False),
    ),
}
"""The tables of the protocol's section "Entry Types", row by row."""


def _entry(entry: dict[str, Any], due: range) -> Iterator[tuple[str, str]]:
    """Check one entry by itself; `due` are the numbers that may be its `seq`."""
    yield from _fields(entry, _COMMON, "")
    seq = entry.get("seq")
    if _is_count(seq) and seq not in due:
        yield "seq-contiguous", f"seq is {seq}, expected {due[0]}"
    kind = entry.get("type")
    if isinstance(kind, str) and kind in _FIELDS:
        yield from _fields(entry, _FIELDS[kind], f"{kind}-")
        if kind == "tool":
            yield from _tool_outputs(entry)


def _fields(
    entry: dict[str, Any], fields: Iterable[_Field], prefix: str
) -> Iterator[tuple[str, str]]:
    for field in fields:
        path = f"{field.inside}.{field.name}" if field.inside else field.name
        holder = entry.get(field.inside) if field.inside else entry
        if not isinstance(holder, dict):  # absent, or reported by its own row
            continue
        value = holder.get(field.name, _ABSENT)
        if value is _ABSENT:
            if field.required:
                yield _rule(prefix, path), f"{path} is missing"
        elif not field.fits(value):
            what = f"{path} is {_shown(value)}, expected {field.expected}"
            yield _rule(prefix, path), what


_ABSENT = object()


def _rule(prefix: str, path: str) -> str:
    return prefix + path.replace(".", "-").replace("_", "-")


def _tool_outputs(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """`result` is the "tool output on success", `error` the "message on failure"."""
    status = entry.get("status")
    if "result" in entry and status in ("running", "error"):
        yield "tool-result-misplaced", f"result in an entry whose status is {status}"
    if "error" in entry and status in ("running", "success"):
        yield "tool-error-misplaced", f"error in an entry whose status is {status}"


def _kind(value: Any) -> str:
    names = {str: "a string", list: "an array", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list) or value is None:
        return _kind(value)
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."


# ---- the order of entries ---------------------------------------------------


def _init(entries: list[Line]) -> Iterator[Breach]:
    """`init` must be the first entry, and there is one."""
    if not entries:
        yield 0, "init-first", "there is no init"
    elif entries[0][1].get("type") != "init":
        what = f"the first entry is {_shown(entries[0][1].get('type'))}"
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
        shown = _shown(tool_id)
        if entry.get("status") == "running":
            if tool_id in started:
                first = started[tool_id][0]
                yield line, "tool-id-unique", f"{shown} was started in line {first}"
            started[tool_id] = waiting[tool_id] = (line, entry)
        elif tool_id not in started:
            yield line, "tool-start-missing", f"a result for {shown}, never started"
        else:
            if waiting.pop(tool_id, None) is None:
                yield line, "tool-result-once", f"a second result for {shown}"
            name = started[tool_id][1].get("name")
            if entry.get("name") != name:
                found = f"name is {_shown(entry.get('name'))}"
                yield line, "tool-name-carried", f"{found}, started as {_shown(name)}"
    for line, entry in waiting.values():
        shown = _shown(entry.get("tool_id"))
        yield line, "tool-result-missing", f"no result for {shown}"


def _of_type(entries: list[Line], kind: str) -> list[Line]:
    return [line for line in entries if line[1].get("type") == kind]


_ORDER_RULES = (_init, _prompt, _complete, _pairs)
