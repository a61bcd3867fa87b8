"""The picture of a run: what it shows, how large it may grow, that it is only text."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_wrap import entries
from agent_wrap.export import svg
from agent_wrap.export.picture import COLUMNS, MOST_LANES, picture_of
from agent_wrap.export.run import Run

from ..dialogs import ts
from .samples import HOSTILE, SAMPLES, dialog, runs

RESOURCES = {
    "resources": {
        "samples": [[1000, 0.5, 10, 1], [3000, 4.5, 30, 2], [4000, 4.5, 0, 0]]
    }
}


def tool(seq: int, at: float, until: float, *, ok: bool = True) -> Iterator[Any]:
    yield entries.tool_start(seq, ts(at), f"t{seq}", "bash", {"command": "x"})
    yield entries.tool_result(seq + 1, ts(until), f"t{seq}", "bash", "", ok=ok)


def in_order(*parts: Iterator[Any]) -> Run:
    found = sorted((e for part in parts for e in part), key=lambda e: str(e["ts"]))
    return Run(lambda: iter([entries.prompt(0, ts(0), "go"), *found]))


def test_who_worked_when() -> None:
    picture = picture_of(SAMPLES["plain"])
    assert picture.duration == 65
    spans = [(bar.start, bar.end, bar.seq) for bar in picture.answers]
    assert spans[0] == (0, 4, 2)  # from the prompt to the last of its calls
    assert picture.tokens_in == [(2, 1500)]
    assert picture.tokens_out == [(2, 42)]
    first, second = picture.tools[:2]
    assert [(bar.start, bar.end, bar.kind) for bar in first][:1] == [(3, 7.5, "good")]
    assert [(bar.start, bar.end, bar.kind) for bar in second][:1] == [(4, 5, "bad")]
    assert [bar.kind for lane in picture.tools for bar in lane].count("open") == 1


def test_memory_and_cpu_hold_since_the_sample_before() -> None:
    picture = picture_of(Run(lambda: iter(dialog()), RESOURCES))
    assert picture.memory == [(0, 10), (1, 30), (3, 30), (4, 0)]
    assert picture.cpu == [(0, 0.5), (1, 2.0), (3, 0.0), (4, 0)]


@pytest.mark.parametrize(
    "samples",
    [None, 5, [5], [[1]], [["a"] * 4], [[1, -1, 0, 0]], [[0, 0, 0, 0]], [[9e99] * 4]],
)
def test_a_summary_of_others_is_no_danger(samples: Any) -> None:
    run = Run(lambda: iter(dialog()), {"resources": {"samples": samples}})
    assert picture_of(run).memory == []


def test_more_tools_at_once_than_lanes() -> None:
    many = (tool(10 * n, n, 100 - n, ok=n != 7) for n in range(1, 10))
    picture = picture_of(in_order(*many))
    assert len(picture.tools) == MOST_LANES
    assert [len(lane) for lane in picture.tools] == [1] * MOST_LANES
    last = picture.tools[-1][0]
    assert (last.count, last.failed, last.kind) == (5, 1, "good")


@pytest.mark.parametrize("took", [lambda n: 0.01, lambda n: 0.01 if n % 2 else 0.9])
def test_a_long_run_has_a_small_picture_soon(took: Callable[[int], float]) -> None:
    def read() -> Iterator[Any]:
        for n in range(1, 20_000):
            yield from tool(2 * n, n, n + took(n), ok=n % 3 > 0)

    began = time.process_time()
    picture = picture_of(Run(read))
    assert sum(bar.count for bar in picture.tools[0]) == 19_999
    assert sum(bar.failed for bar in picture.tools[0]) == 6666
    assert len(picture.tools[0]) <= 2 * COLUMNS
    assert time.process_time() - began < 10


def test_every_picture_is_xml_without_script_or_address() -> None:
    for name, run in runs().items():
        text = "".join(svg.export(run))
        tags = {
            element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()
        }
        assert tags <= {"svg", "style", "rect", "text", "path", "g", "title"}, name
        assert set(re.findall(r"https?://[\w.]+", text)) <= {
            *("http://www.w3.org", "http://evil")
        }


def test_the_file_has_colours_where_no_variables_are_known() -> None:
    """Programs other than browsers know neither `var()` nor `@media`."""
    text = "".join(svg.export(SAMPLES["plain"]))
    assert "var(" not in text
    light, _, dark = re.sub(".*<style>|</style>.*", "", text, flags=re.S).partition(
        "@media(prefers-color-scheme:dark){"
    )
    for name in ("answer", "good", "bad", "open", "curve"):
        (colour,) = re.findall(rf"\.{name}{{fill:(#\w+)", light)
        assert re.findall(rf"\.{name}{{fill:(#\w+)", dark) != [colour]


def test_hostile_texts_are_texts() -> None:
    text = "".join(svg.export(SAMPLES["hostile"]))
    shown = "".join(ET.fromstring(text).itertext())
    assert HOSTILE[:20] in shown
    assert "<script" not in text
    assert "\x1b" not in text


def test_the_file_says_what_run_it_was() -> None:
    root = ET.fromstring("".join(svg.export(SAMPLES["plain"])))
    shown = "\n".join(root.itertext())
    assert "hello · hello · timeout · 2 turns · 3 tools · 1,500 → 42 tokens" in shown
    assert "0:03 · 4.5 s · hello" in shown
