"""Each rule has a file that breaks it; all breaches of a file are named at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import validate
from agent_wrap.validate import MAX_BYTES, RULES, Problem, check

Entry = dict[str, Any]


def entry(kind: str, **fields: Any) -> Entry:
    return {"seq": 0, "ts": "2025-01-15T10:30:00+00:00", "type": kind, **fields}


def tool(tool_id: str, status: str = "running", **fields: Any) -> Entry:
    return entry("tool", tool_id=tool_id, name="bash", status=status, **fields)


def whole() -> list[Entry]:
    """Give a dialog that breaks no rule: one entry of each kind."""
    return [
        entry("init", data={"task": "T", "cwd": "/", "model": "M", "agent": "A"}),
        entry("prompt", content="P"),
        entry("message", role="assistant", content="é", tokens={"in": 1, "out": 2}),
        entry("thinking", content="hm"),
        tool("a", args={"x": [1, {"y": None}]}),
        tool("b"),
        tool("b", "error", error="bad"),
        tool("a", "success", result="done"),
        entry(
            "complete",
            status="success",
            turns=1,
            duration_ms=5,
            total_tokens={"in": 1, "out": 2},
            message="m",
        ),
    ]


def dump(entries: list[Entry], *, number: bool = True) -> bytes:
    if number:
        entries = [{**entry, "seq": seq} for seq, entry in enumerate(entries)]
    return b"".join(
        json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in entries
    )


def found(data: bytes) -> list[tuple[int, str]]:
    return [(problem.line, problem.rule) for problem in check(data)]


def test_a_dialog_that_breaks_no_rule() -> None:
    assert check(dump(whole())) == []


@pytest.mark.parametrize(
    ("at", "fields"),
    [
        (0, {"extra": {"unknown": 1}}),
        (0, {"ts": "2025-01-15T10:30:00.123456Z"}),
        (0, {"ts": "2024-02-29T23:59:60+00:00"}),
        (3, {"content": "", "ts": "2025-01-15T10:30:00,5+0000"}),
        (7, {"args": {}, "result": ""}),
        (8, {"turns": 0, "duration_ms": 2**63}),
    ],
)
def test_what_is_allowed(at: int, fields: Entry) -> None:
    entries = whole()
    entries[at] |= fields
    assert check(dump(entries)) == []


def test_carriage_returns_are_whitespace() -> None:
    assert check(dump(whole()).replace(b"\n", b"\r\n")) == []


# ---- one field --------------------------------------------------------------

GONE = object()
FIELDS: list[tuple[str, int, str, Any]] = [
    ("seq", 2, "seq", GONE),
    ("seq", 2, "seq", 2.0),
    ("seq", 2, "seq", "2"),
    ("seq", 2, "seq", True),
    ("seq", 2, "seq", -1),
    ("seq", 2, "seq", 2**64),
    ("ts", 2, "ts", GONE),
    ("ts", 2, "ts", 1736937000),
    ("ts", 2, "ts", "2025-01-15 10:30:00"),
    ("ts", 2, "ts", "2025-01-15T10:30:00"),
    ("ts", 2, "ts", "2025-01-15T10:30:00+02:00"),
    ("ts", 2, "ts", "2025-02-29T10:30:00Z"),
    ("ts", 2, "ts", "2025-01-15T25:30:00Z"),
    ("ts", 2, "ts", "2025-01-15T10:30:00Z\n"),
    ("type", 2, "type", GONE),
    ("type", 2, "type", "note"),
    ("type", 2, "type", ["message"]),
    ("init-data", 0, "data", GONE),
    ("init-data", 0, "data", "x"),
    *((f"init-data-{name}", 0, f"data.{name}", GONE) for name in ("task", "cwd")),
    *((f"init-data-{name}", 0, f"data.{name}", None) for name in ("model", "agent")),
    ("prompt-content", 1, "content", GONE),
    ("prompt-content", 1, "content", None),
    ("message-role", 2, "role", "user"),
    ("message-role", 2, "role", GONE),
    ("message-content", 2, "content", ["parts"]),
    ("message-tokens", 2, "tokens", 5),
    ("message-tokens", 2, "tokens", None),
    ("message-tokens-in", 2, "tokens.in", GONE),
    ("message-tokens-in", 2, "tokens.in", -1),
    ("message-tokens-out", 2, "tokens.out", 1.5),
    ("thinking-content", 3, "content", 7),
    ("tool-tool-id", 4, "tool_id", 7),
    ("tool-tool-id", 4, "tool_id", GONE),
    ("tool-name", 4, "name", GONE),
    ("tool-status", 4, "status", "started"),
    ("tool-status", 4, "status", GONE),
    ("tool-args", 4, "args", "ls"),
    ("tool-result", 7, "result", {"out": 1}),
    ("tool-error", 6, "error", ["bad"]),
    ("tool-result-misplaced", 4, "result", "early"),
    ("tool-result-misplaced", 6, "result", "and yet"),
    ("tool-error-misplaced", 7, "error", "and yet"),
    ("tool-error-misplaced", 5, "error", "early"),
    ("complete-status", 8, "status", "failed"),
    ("complete-status", 8, "status", GONE),
    ("complete-turns", 8, "turns", "1"),
    ("complete-duration-ms", 8, "duration_ms", 1.0),
    ("complete-duration-ms", 8, "duration_ms", -1),
    ("complete-total-tokens", 8, "total_tokens", GONE),
    ("complete-total-tokens-in", 8, "total_tokens.in", None),
    ("complete-total-tokens-out", 8, "total_tokens.out", GONE),
    ("complete-message", 8, "message", {"text": "m"}),
]


@pytest.mark.parametrize(
    ("rule", "at", "path", "value"),
    FIELDS,
    ids=[f"{row[0]}={'gone' if row[3] is GONE else row[3]}" for row in FIELDS],
)
def test_a_field_that_breaks_its_rule(
    rule: str, at: int, path: str, value: Any
) -> None:
    entries = [{**entry, "seq": seq} for seq, entry in enumerate(whole())]
    holder = entries[at]
    *outer, name = path.split(".")
    for key in outer:
        holder = holder[key]
    if value is GONE:
        del holder[name]
    else:
        holder[name] = value
    problems = check(dump(entries, number=False))
    assert (at + 1, rule) in [(problem.line, problem.rule) for problem in problems]
    # A field that is wrong may unsettle the pairs and the order, nothing else.
    others = {p.rule for p in problems} - {rule}
    assert others <= {
        *("tool-start-missing", "tool-result-missing", "tool-name-carried"),
        *("complete-last", "complete-missing"),
    }


# ---- the file, its lines, the order -----------------------------------------


def raw(text: bytes, at: int = 2) -> Callable[[], bytes]:
    """Put a line of bytes in the place of an entry."""

    def made() -> bytes:
        lines = dump(whole()).splitlines(keepends=True)
        return b"".join([*lines[:at], text + b"\n", *lines[at + 1 :]])

    return made


def order(change: Callable[[list[Entry]], Any]) -> Callable[[], bytes]:
    def made() -> bytes:
        entries = whole()
        change(entries)
        return dump(entries)

    return made


def numbered(*seqs: int) -> bytes:
    entries = [{**entry, "seq": seq} for seq, entry in zip(seqs, whole(), strict=True)]
    return dump(entries, number=False)


def message(text: bytes) -> bytes:
    head = b'{"seq":2,"ts":"2025-01-15T10:30:00Z","type":"message",'
    return head + b'"role":"assistant","content":"",' + text + b"}"


FILES: list[tuple[str, Callable[[], bytes], list[tuple[int, str]]]] = [
    (
        "empty",
        lambda: b"",
        [(0, "init-first"), (0, "prompt-missing"), (0, "complete-missing")],
    ),
    ("torn", lambda: dump(whole())[:-1], [(9, "final-newline")]),
    (
        "torn in a line",
        lambda: dump(whole())[:-9],
        [(0, "complete-missing"), (9, "final-newline"), (9, "json")],
    ),
    ("bytes", raw(message(b'"x":"\xff"')), [(3, "utf-8")]),
    ("half a character", raw(message(b'"x":"\xc3"')), [(3, "utf-8")]),
    ("mark", lambda: b"\xef\xbb\xbf" + dump(whole()), [(1, "byte-order-mark")]),
    (
        "blank",
        lambda: dump(whole()).replace(b"\n", b"\n\n", 1) + b" \n",
        [(2, "blank-line"), (11, "blank-line")],
    ),
    ("not JSON", raw(b"hello"), [(3, "json")]),
    ("single quotes", raw(b"{'seq': 2}"), [(3, "json")]),
    ("two on a line", raw(message(b'"x":1') * 2), [(3, "json")]),
    ("a raw tab", raw(message(b'"x":"\t"')), [(3, "json")]),
    ("an array", raw(b"[1]"), [(3, "object")]),
    ("a string", raw(b'"x"'), [(3, "object")]),
    ("null", raw(b"null"), [(3, "object")]),
    ("NaN", raw(message(b'"x":NaN')), [(3, "finite")]),
    ("infinity", raw(message(b'"x":[-Infinity]')), [(3, "finite")]),
    ("no double", raw(message(b'"x":1e999')), [(3, "finite")]),
    ("digits", raw(message(b'"x":' + b"9" * 5000)), [(3, "finite")]),
    ("surrogate", raw(message(b'"x":"\\ud800"')), [(3, "surrogate")]),
    ("surrogate key", raw(message(b'"\\udfff":1')), [(3, "surrogate")]),
    ("deep", raw(message(b'"x":' + b"[" * 126 + b"]" * 126)), [(3, "nesting")]),
    ("very deep", raw(message(b'"x":' + b"[" * 9999 + b"]" * 9999)), [(3, "nesting")]),
    ("gap", lambda: numbered(0, 1, 2, 4, 5, 6, 7, 8, 9), [(4, "seq-contiguous")]),
    ("twice", lambda: numbered(0, 1, 2, 2, 3, 4, 5, 6, 7), [(4, "seq-contiguous")]),
    ("from 1", lambda: numbered(*range(1, 10)), [(1, "seq-contiguous")]),
    ("no init", order(lambda e: e.pop(0)), [(1, "init-first"), (1, "prompt-second")]),
    (
        "late init",
        order(lambda e: e.insert(1, e.pop(0))),
        [(1, "init-first"), (1, "prompt-second")],
    ),
    ("two inits", order(lambda e: e.insert(3, e[0])), [(4, "init-once")]),
    ("no prompt", order(lambda e: e.pop(1)), [(0, "prompt-missing")]),
    ("late prompt", order(lambda e: e.insert(2, e.pop(1))), [(3, "prompt-second")]),
    ("two prompts", order(lambda e: e.insert(2, e[1])), [(3, "prompt-once")]),
    ("no complete", order(lambda e: e.pop()), [(0, "complete-missing")]),
    ("two completes", order(lambda e: e.append(e[-1])), [(10, "complete-once")]),
    (
        "late entries",
        order(lambda e: e.extend([e[2], e[3]])),
        [(10, "complete-last"), (11, "complete-last")],
    ),
    ("started again", order(lambda e: e.insert(5, e[4])), [(6, "tool-id-unique")]),
    (
        "started after its result",
        order(lambda e: e.insert(8, e[4])),
        [(9, "tool-id-unique"), (9, "tool-result-missing")],
    ),
    ("no start", order(lambda e: e.pop(5)), [(6, "tool-start-missing")]),
    ("no result", order(lambda e: e.pop(7)), [(5, "tool-result-missing")]),
    ("two results", order(lambda e: e.insert(8, e[7])), [(9, "tool-result-once")]),
    (
        "another name",
        order(lambda e: e[7].update(name="unknown")),
        [(8, "tool-name-carried")],
    ),
]


@pytest.mark.parametrize(
    ("made", "expected"), [row[1:] for row in FILES], ids=[row[0] for row in FILES]
)
def test_a_file_that_breaks_a_rule(
    made: Callable[[], bytes], expected: list[tuple[int, str]]
) -> None:
    # An entry that could not be read is missed by others: the last may be complete.
    assert found(made()) == expected


def test_the_deepest_that_is_allowed() -> None:
    assert check(raw(message(b'"x":' + b"[" * 125 + b"]" * 125))()) == []
    assert check(raw(message(b'"x":' + b"[" + b"[]," * 500 + b"1]"))()) == []


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({**whole()[3], "content": "x" * MAX_BYTES}).encode() + b"\n"
    assert (0, "size-bytes") in found(dump(whole()[:1]) + line)
    assert validate.MAX_ENTRIES == 200_000  # as much of garbage takes seconds
    monkeypatch.setattr(validate, "MAX_ENTRIES", 2000)
    many = b"x\n" * 2000 + b"\n"
    assert (0, "size-entries") not in found(many)
    assert (0, "size-entries") in found(many + b"x\n")


def test_every_rule_has_a_file_that_breaks_it() -> None:
    broken = {row[0] for row in FIELDS}
    broken |= {rule for _, _, expected in FILES for _, rule in expected}
    assert broken | {"size-bytes", "size-entries"} == set(RULES)


def test_everything_is_named_at_once_in_the_order_of_lines() -> None:
    data = (
        b'{"seq":1,"ts":"now","type":"message","content":7}\n'
        b"\n"
        b"\xff{\n"
        b'{"seq":1,"type":"tool","tool_id":"t","status":"success","args":[]}\n'
        b'{"seq":5,"ts":"2025-01-15T10:30:00Z","type":"complete","status":"ok"}\n'
        b"tail"
    )
    assert found(data) == [
        (0, "prompt-missing"),
        (1, "ts"),
        (1, "seq-contiguous"),
        (1, "message-role"),
        (1, "message-content"),
        (1, "init-first"),
        (2, "blank-line"),
        (3, "utf-8"),
        (3, "json"),
        (4, "ts"),
        (4, "seq-contiguous"),
        (4, "tool-name"),
        (4, "tool-args"),
        (4, "tool-start-missing"),
        (5, "seq-contiguous"),
        (5, "complete-status"),
        (5, "complete-turns"),
        (5, "complete-duration-ms"),
        (5, "complete-total-tokens"),
        (6, "final-newline"),
        (6, "json"),
    ]


def test_a_missing_prompt_is_a_warning() -> None:
    (problem,) = check(order(lambda e: e.pop(1))())
    assert problem == Problem(0, "prompt-missing", "there is no prompt", warning=True)


def test_a_garbage_line_may_have_been_an_entry_or_not() -> None:
    lines = dump(whole()).splitlines(keepends=True)
    noise = b"".join([*lines[:2], b"a banner\n", *lines[2:]])
    assert found(noise) == [(3, "json")]


def test_a_file_of_garbage_is_told_in_bounded_words() -> None:
    problems = check(b"x\n" * (validate.MOST + 7))
    assert len(problems) == validate.MOST + 4
    assert problems[-1] == Problem(0, "json", "and 7 more like these")


@given(st.lists(st.binary(max_size=30) | st.sampled_from(dump(whole()).splitlines())))
def test_checking_never_raises(lines: list[bytes]) -> None:
    for problem in check(b"\n".join(lines)):
        assert problem.rule in RULES
        assert (
            0 <= problem.line <= len(lines) + sum(b"\n" in line for line in lines) * 30
        )
