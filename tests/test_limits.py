"""A dialog stays readable however much the agent prints, and always ends."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.dialog import Dialog
from agent_wrap.encode import encode, encode_within
from agent_wrap.entries import Entry
from agent_wrap.events import (
    Event,
    Message,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from agent_wrap.limits import (
    MAX_BYTES,
    MAX_ENTRIES,
    SHORTEST_LINE,
    Budget,
    cut_middle,
    shorten,
)
from agent_wrap.validate import check

from .harness import Run, child

LONG = bool(os.environ.get("AGENT_WRAP_LONG"))

# What gives way first


def order_of_thinning(budget: Budget, length: int, count: int) -> list[str]:
    kinds = ["thinking", "tool", "message"]
    gone = []
    for _ in range(count):
        for kind in kinds:
            if kind not in gone and not budget.admits(kind):  # type: ignore[arg-type]
                gone.append(kind)
        budget.spend(length)
    return gone


def test_thinking_goes_first_and_messages_last() -> None:
    for budget in (Budget(100_000, 10**6), Budget(10**9, 1000)):
        assert order_of_thinning(budget, 100, 1000) == ["thinking", "tool", "message"]


def test_a_closed_budget_admits_nothing() -> None:
    budget = Budget()
    assert budget.admits("thinking")
    budget.close()
    assert not budget.admits("message")


def test_lines_become_shorter_as_room_goes() -> None:
    budget = Budget(1 << 20)
    longest = []
    while budget.longest_line > SHORTEST_LINE:
        longest.append(budget.longest_line)
        budget.spend(budget.longest_line)
    assert longest[0] == 1 << 16
    assert longest == sorted(longest, reverse=True)
    budget.spend(1 << 30)
    assert budget.longest_line == SHORTEST_LINE


# Cutting


@given(st.text(max_size=300), st.integers(64, 200))
def test_a_cut_text_says_how_much(text: str, most: int) -> None:
    cut = cut_middle(text, most)
    if len(text) <= most:
        assert cut == text
        return
    found = re.search(r"\n\[\.\.\. (\d+) characters cut \.\.\.\]\n", cut)
    assert found is not None
    head, tail = cut[: found.start()], cut[found.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + int(found[1]) == len(text)


TEXTS = ["x", "\u00e9", "\U0001f511", "\n", "\0", '"', "\\", "\x1f"]
LONGEST = 65536


@pytest.mark.parametrize("character", TEXTS, ids=ascii)
@pytest.mark.parametrize("many", [1, 40, 3000])
def test_a_line_fits_whatever_it_holds(character: str, many: int) -> None:
    """One long string, several, or very many that together are long."""
    text = character * (3_000_000 // many)
    args = {f"key-{n}": [text, {"deep": text}] for n in range(many // 2)}
    entry = {"seq": 5, "type": "tool", "name": "a", "args": {**args, "last": text}}
    line, cut = encode_within(entry, LONGEST)
    assert cut
    assert len(line) <= LONGEST + 1024, len(line)
    read = json.loads(line)
    assert (read["seq"], read["type"], read["name"]) == (5, "tool", "a")
    if many < 3000:
        assert "characters cut" in line.decode()
        assert len(line) > LONGEST / 2  # what fits is kept


@given(
    st.recursive(
        st.text(max_size=2000) | st.integers() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(max_size=600), inner, max_size=4)
        ),
        max_leaves=30,
    )
)
def test_a_short_copy_has_the_same_shape(value: Any) -> None:
    entry = {"seq": 1, "type": "message", "content": value}
    short = shorten(entry, len(encode(entry)), 2048)
    assert short.keys() == entry.keys()
    assert (short["seq"], short["type"]) == (1, "message")
    assert type(short["content"]) is type(value)


def test_a_line_of_many_parts_that_are_not_long() -> None:
    many: list[dict[str, Any]] = [
        {"a": list(range(200_000))},
        {str(n): {} for n in range(50_000)},
    ]
    for args in many:
        entry = {"seq": 5, "tool_id": "t", "name": "n", "args": args}
        line, cut = encode_within(entry, LONGEST)
        assert cut
        assert len(line) <= LONGEST + 1024
        read = json.loads(line)
        assert (read["tool_id"], read["name"]) == ("t", "n")
        assert "characters cut" in read["args"]["json"]


# A whole dialog, without a file


class Paper:
    """Takes events and keeps the lines, as the recorder does."""

    def __init__(self, part: int = 1) -> None:
        self.dialog = Dialog(task="t", cwd="/", model="m", agent="a", prompt="p")
        self.dialog.budget = Budget(MAX_BYTES // part, MAX_ENTRIES // part)
        self.size = self.count = self.cut = 0
        self.lines: list[bytes] = []

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            for entry in self.dialog.apply(event, 0.0):
                self._write(entry)
                self.dialog.budget.spend(len(self.lines[-1]))

    def finish(self) -> bytes:
        end = self.dialog.complete("success", duration_ms=0, now=0.0, message="over")
        for entry in end:
            self._write(entry)
        return b"".join(self.lines)

    def _write(self, entry: Entry) -> None:
        line, cut = encode_within(entry, self.dialog.budget.longest_line)
        self.cut += cut
        self.lines.append(line)


def chatter(count: int, size: int) -> Iterator[Event]:
    """Turns of everything, each text of a size; every 50th tool is never answered."""
    text = "x" * size
    for number in range(count):
        yield TurnStarted(f"m{number}")
        yield Thinking(text)
        yield Message(text, f"m{number}")
        yield ToolStarted(f"t{number}", "Bash", {"command": text})
        if number % 50:
            yield ToolFinished(f"t{number}", text)


@pytest.mark.parametrize(
    ("count", "size", "part"),
    [
        (4_100, 10, 10),  # a tenth of the room: the whole takes many seconds
        (20_000, 1_000, 1),
        (400, 1_000_000, 1),
        (4_000, 30_000, 1),
    ],
)
def test_a_dialog_stays_readable(count: int, size: int, part: int) -> None:
    paper = Paper(part)
    paper.take(chatter(count, size))
    data = paper.finish()
    assert len(data) < MAX_BYTES // part + 512 * 1024
    assert len(paper.lines) <= MAX_ENTRIES // part
    assert [p for p in check(data) if not p.warning] == []
    end = json.loads(paper.lines[-1])
    assert (end["type"], end["turns"]) == ("complete", count)
    assert paper.dialog.thinned > 0 or paper.cut > 0


def test_tools_that_are_never_answered_have_room_for_their_end() -> None:
    """The worst that can be open: as many as fit, each to be closed by an entry."""
    paper = Paper()
    paper.take(ToolStarted(f"t{n}", "Bash", None) for n in range(250_000))
    data = paper.finish()
    assert len(data) <= 32 * 1024 * 1024
    assert len(paper.lines) <= 200_000
    assert [p for p in check(data) if not p.warning] == []


def test_names_and_ids_are_cut_as_well() -> None:
    paper = Paper()
    long = "n" * 3_000_000
    paper.take([ToolStarted(long, long, {long: long}), ToolFinished(long, long)])
    paper.take([ToolStarted(long, long, None), ToolFinished(long, long)])
    data = paper.finish()
    assert [p for p in check(data) if not p.warning] == []


def test_results_of_open_tools_have_room_too() -> None:
    """Thousands at once, and then each has much to say."""
    paper = Paper()
    paper.take(ToolStarted(f"t{n}", "Bash", None) for n in range(9_000))
    paper.take(ToolFinished(f"t{n}", "x" * 100_000) for n in range(9_000))
    data = paper.finish()
    assert len(data) <= 32 * 1024 * 1024
    assert [p for p in check(data) if not p.warning] == []


# Through the program


def test_a_prompt_that_is_too_long(tmp_path: Path) -> None:
    """It is cut like anything else, whoever writes it."""
    prompt = tmp_path / "prompt"
    prompt.write_bytes(b"p" * 40_000_000)
    known = ("--model", "m", "--adapter", "plain", "--prompt-via", "none")
    options = ("--prompt-file", str(prompt))
    for words in ((*known, *options), options):
        with Run(tmp_path, ["sh", "-c", "echo over"], *words) as started:
            started.end()
        assert len(started.dialog) < 4 * 1024 * 1024
        assert "characters cut" in started.entries[1]["content"]


@pytest.mark.skipif(not LONG, reason="AGENT_WRAP_LONG=1 runs it")
def test_a_flood_through_the_program(tmp_path: Path) -> None:
    """Much more text than the dialog may hold; the raw stream keeps it."""
    size = 45_000_000
    command = child("flood", 1, size)
    with Run(tmp_path, command, "--echo", "none") as started:
        started.end(60)
    assert len(started.dialog) < 32 * 1024 * 1024
    assert len(started.raw) == size + len("\nflood over\n")
    assert "left out to bound its size" in started.complete["message"]
    assert started.complete["status"] == "success"
    assert started.summary["entries_lost"] > 0


@pytest.mark.skipif(not LONG, reason="AGENT_WRAP_LONG=1 runs it")
def test_memory_is_flat(tmp_path: Path) -> None:
    """The peak over 1 GB is that over 100 MB."""
    peaks = []
    for size in (100_000_000, 1_000_000_000):
        with Run(tmp_path, child("flood", 1, size), "--echo", "none") as started:
            process = psutil.Process(started.process.pid)
            peak = 0
            while started.process.poll() is None:
                try:
                    peak = max(
                        peak,
                        *(p.memory_info().rss for p in process.children()),
                    )
                except (psutil.NoSuchProcess, TypeError):
                    continue
            started.end(60)
        peaks.append(peak)
    assert peaks[1] < peaks[0] * 1.2, peaks
