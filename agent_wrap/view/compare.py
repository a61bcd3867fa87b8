"""Two runs compared: their figures and how they differ, their steps aligned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.view import words
from agent_wrap.view.align import Moment, aligned
from agent_wrap.view.arguments import one_line
from agent_wrap.view.facts import Facts
from agent_wrap.view.plain import safe_line
from agent_wrap.view.reading import seconds

MOST = 2000
"""Steps of a run that are aligned; what takes longest grows with their square."""
TEXT = 300
SIGNS = {"prompt": words.PROMPT, "thinking": "✻ ", "message": "", "complete": "■ "}
"""As in a timeline with colours; `>` and `~` mark how two steps compare."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """A run as far as it is compared: its row, its tools by name, its steps."""

    row: Row
    tools: Counter[str]
    moments: list[Moment]
    left_out: int


def tell(entries: Iterable[Entry], make_row: Callable[[Facts], Row]) -> Told:
    """Read a run to its end."""
    facts, tools, moments = Facts(), Counter[str](), list[Moment]()
    calls: dict[str, Moment] = {}
    left_out = 0
    for entry in entries:
        facts.feed(entry)
        kind = entry["type"]
        if kind == "tool" and entry["status"] != "running":
            call = calls.pop(entry["tool_id"], None)
            if call is not None and entry["status"] == "error":
                call.failed = True
            continue
        if kind == "tool":
            tools[entry["name"]] += 1
        if kind == "init" or (kind == "prompt" and not entry["content"].strip()):
            continue
        if len(moments) >= MOST:
            left_out += 1
            continue
        elapsed = seconds(entry["ts"]) - seconds(facts.started_at)
        failed = kind == "complete" and entry["status"] != "success"
        moments.append(Moment(round(elapsed * 1000), *_said(entry), failed))
        if kind == "tool":
            calls[entry["tool_id"]] = moments[-1]
    return Told(make_row(facts), tools, moments, left_out)


def _said(entry: Entry) -> tuple[str, str]:
    kind = str(entry["type"])
    if kind == "tool":
        text = f"{entry['name']}  {one_line(entry.get('args', {}))}"
        return f"tool {entry['name']}", _cut(text)
    text = entry["status"] if kind == "complete" else entry["content"]
    return kind, _cut(SIGNS[kind] + text.strip())


def _cut(text: str) -> str:
    return safe_line(" ".join(text[:TEXT].split()))


def figures(left: Told, right: Told) -> Iterator[tuple[str, str, str, str]]:
    """Give (name, left, right, the difference) for each figure of the two runs."""
    a, b = left.row, right.row
    for name in ("run", "task", "model", "agent", "status"):
        names = [_cut(words.known(side[name])) for side in (a, b)]
        if any(names):
            yield name, names[0], names[1], "" if a[name] == b[name] else "≠"
    for name, key, say in (
        ("exit", "exit_code", str),
        ("turns", "turns", words.exact),
        ("tools", "tools", words.exact),
        ("failed tools", "tools_failed", words.exact),
        ("tokens in", "tokens_in", words.exact),
        ("tokens out", "tokens_out", words.exact),
        ("cost", "cost_usd", words.cost),
        ("time", "duration_ms", lambda ms: words.duration(ms / 1000)),
    ):
        one, other = _told(a, key), _told(b, key)
        said = "" if one is None else say(one)
        replied = "" if other is None else say(other)
        if said or replied:
            yield name, said, replied, _difference(key, one, other)
    for name in sorted(left.tools | right.tools):
        one, other = left.tools[name], right.tools[name]
        change = _difference("", one, other)
        yield f"  {_cut(name)}", words.exact(one), words.exact(other), change


def _told(row: Row, key: str) -> Any:
    """Give a figure; None: it is unknown, as tokens are of an agent that tells none."""
    if key.startswith("tokens") and not (row["tokens_in"] or row["tokens_out"]):
        return None
    return row[key]


def _difference(key: str, one: float | None, other: float | None) -> str:
    if one is None or other is None or one == other:
        return ""
    if key == "exit_code":
        return "≠"
    if one:
        return f"{100 * (other - one) / one:+,.0f} %"
    return f"{other - one:+,}"


def as_json(left: Told, right: Told) -> dict[str, Any]:
    """Give the comparison for programs."""
    names = sorted(left.tools | right.tools)
    different = [key for key in left.row if left.row[key] != right.row[key]]
    return {
        "left": left.row,
        "right": right.row,
        "different": different,
        "tools": {name: [left.tools[name], right.tools[name]] for name in names},
        "timeline": [
            {
                "mark": mark,
                "left": asdict(one) if one else None,
                "right": asdict(other) if other else None,
            }
            for mark, one, other in aligned(left.moments, right.moments)
        ],
        "left_out": [left.left_out, right.left_out],
    }
