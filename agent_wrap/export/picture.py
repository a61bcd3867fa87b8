"""What a picture of a run shows: who worked when, on what, and what it took.

Moments are seconds since the run's start. However long a run is, there are about as
many bars and points as a screen has columns: what is narrower is joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agent_wrap.entries import Entry
from agent_wrap.export.run import Pair, Run, is_start
from agent_wrap.export.steps import Step, steps
from agent_wrap.shapes import get_dict
from agent_wrap.view.arguments import one_line
from agent_wrap.view.reading import seconds

COLUMNS = 800
MOST_LANES = 5
LABEL = 120
SAMPLE = 4
"""Numbers in a sample of the summary: milliseconds, CPU seconds, bytes, processes."""

Point = tuple[float, float]


@dataclass
class Bar:
    """Something that lasted; it stands for `count`, the first of which has `seq`."""

    start: float
    end: float
    kind: str
    label: str
    seq: int
    count: int = 1
    failed: int = 0


@dataclass
class Picture:
    """One run: `answers` and `tools` are bars, everything else is a curve by time."""

    duration: float = 0.0
    answers: list[Bar] = field(default_factory=list)
    tools: list[list[Bar]] = field(default_factory=list)
    tokens_in: list[Point] = field(default_factory=list)
    tokens_out: list[Point] = field(default_factory=list)
    memory: list[Point] = field(default_factory=list)
    cpu: list[Point] = field(default_factory=list)

    @property
    def grain(self) -> float:
        """Seconds that are one column wide."""
        return self.duration / COLUMNS


def picture_of(run: Run) -> Picture:
    """Read a run; memory and CPU are known where a summary has samples."""
    began = seconds(run.row["started_at"])
    samples = list(_samples(run.summary))
    ends = [0.001, run.elapsed, *(at for at, *_ in samples[-1:])]
    picture = Picture(duration=max(ends))
    for step in steps(run.paired()):
        if isinstance(step, Step):
            _answer(picture, step, began)
            for call in step.calls:
                _tool(picture, call, began)
        elif step.entry["type"] == "tool":
            _tool(picture, step, began)
    _resources(picture, samples)
    return picture


def _answer(picture: Picture, step: Step, began: float) -> None:
    start, end = seconds(step.given) - began, seconds(step.last["ts"]) - began
    tokens = step.message.get("tokens") if step.message else None
    said: Entry = step.message or step.thinking or step.first
    text = said.get("content") or ", ".join(c.entry["name"] for c in step.calls[:9])
    if tokens:
        at = seconds(said["ts"]) - began
        _point(picture, picture.tokens_in, (at, tokens["in"]))
        _point(picture, picture.tokens_out, (at, tokens["out"]))
        text = f"{tokens['in']:,} → {tokens['out']:,} tokens: {text[:LABEL]}"
    bar = Bar(start, max(start, end), "answer", text[:LABEL], step.first["seq"])
    _add(picture.answers, bar, picture.grain)


def _tool(picture: Picture, pair: Pair, began: float) -> None:
    entry, result = pair
    if not is_start(entry):
        result = entry
    kind = {"success": "good", "error": "bad"}[result["status"]] if result else "open"
    start = seconds(entry["ts"]) - began
    end = seconds(result["ts"]) - began if result else picture.duration
    label = f"{entry['name']} {one_line(entry.get('args', {}))[:LABEL]}"
    bar = Bar(start, max(start, end), kind, label[:LABEL], entry["seq"])
    bar.failed = int(kind == "bad")
    for lane in picture.tools:
        if lane[-1].end <= start or _joins(lane[-1], bar, picture.grain):
            _add(lane, bar, picture.grain)
            return
    if len(picture.tools) < MOST_LANES:
        picture.tools.append([bar])
    else:
        _join(picture.tools[-1][-1], bar)


def _add(bars: list[Bar], bar: Bar, grain: float) -> None:
    if bars and _joins(bars[-1], bar, grain):
        _join(bars[-1], bar)
    else:
        bars.append(bar)


def _joins(last: Bar, bar: Bar, grain: float) -> bool:
    """Are two bars too narrow and too close to be told apart?"""
    narrow = last.end - last.start < grain and bar.end - bar.start < grain
    return narrow and bar.start - last.end < grain


def _join(last: Bar, bar: Bar) -> None:
    last.end = max(last.end, bar.end)
    last.count += bar.count
    last.failed += bar.failed
    last.kind = "good" if "good" in (last.kind, bar.kind) else bar.kind


def _point(picture: Picture, points: list[Point], point: Point) -> None:
    """Add a point; of those in one column the highest stays."""
    if points and point[0] - points[-1][0] < picture.grain:
        points[-1] = (points[-1][0], max(points[-1][1], point[1]))
    else:
        points.append(point)


def _samples(summary: dict[str, Any]) -> Iterator[tuple[float, float, float]]:
    """Give (seconds, CPU seconds so far, bytes), as far as they are what we write."""
    listed = get_dict(summary, "resources").get("samples")
    latest, memory = 0.0, 0.0
    for found in listed if isinstance(listed, list) else []:
        if not isinstance(found, list) or len(found) != SAMPLE:
            continue
        if not all(type(n) in (int, float) and 0 <= n < 1 << 60 for n in found):
            continue
        if found[0] / 1000 >= latest:
            latest = found[0] / 1000
            memory = found[2] if found[3] else memory  # at the end nothing runs
            yield latest, found[1], memory


def _resources(picture: Picture, samples: Iterable[tuple[float, float, float]]) -> None:
    """A sample's memory and CPU are drawn over the time since the one before it."""
    before, used = 0.0, 0.0
    for at, cpu, rss in samples:
        if at > before:
            picture.memory.append((before, rss))
            picture.cpu.append((before, max(0.0, cpu - used) / (at - before)))
            before, used = at, max(used, cpu)
    if picture.memory:
        picture.memory.append((before, 0.0))
        picture.cpu.append((before, 0.0))
