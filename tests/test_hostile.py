"""Streams that no agent would print, made from streams that agents printed.

Mutation `n` is always the same for the same recordings: `mutate(n)` gives it back.
AGENT_WRAP_MUTATIONS=10000 is the long run; AGENT_WRAP_MUTATION_FROM starts it
elsewhere.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_wrap import registry
from agent_wrap.adapter import Adapter
from agent_wrap.clocks import Clocks
from agent_wrap.dialog import Dialog
from agent_wrap.errors import AdapterError
from agent_wrap.ledger import Ledger
from agent_wrap.outcome import Ending, decide
from agent_wrap.reader import CLASSES, Detection, Reader
from agent_wrap.recorder import Recorder
from agent_wrap.redact import Redactor
from agent_wrap.testing import Recording, Replay, find_recordings, replay
from agent_wrap.validate import check
from agent_wrap.writer import Archive

SEED = "agent-wrap"
COUNT = int(os.environ.get("AGENT_WRAP_MUTATIONS", "400"))
FIRST = int(os.environ.get("AGENT_WRAP_MUTATION_FROM", "0"))
ROOT = Path(__file__).parent / "recordings"
LONG_LINE = 200_000


def adapters() -> dict[str, type[Adapter]]:
    """Give every adapter that is installed."""
    found = {}
    for name, entry in registry.known().items():
        try:
            found[name] = entry.load()
        except AdapterError:
            continue
    return found


ADAPTERS = adapters()


def agent_of(recording: Recording) -> str:
    """Give the adapter of a recording, by its folder's name or its `meta.json`."""
    folder = recording.name.split("/")[0]
    fitting = [name for name in ADAPTERS if folder.startswith(f"{name}-")]
    return str(recording.meta.get("adapter") or max(fitting, key=len, default=""))


RECORDINGS = [r for r in find_recordings(ROOT) if agent_of(r) in ADAPTERS]

# ---- the generator ----------------------------------------------------------

Drawn = random.Random


def place(drawn: Drawn, data: bytes) -> int:
    return drawn.randrange(len(data) + 1)


def flip_bits(drawn: Drawn, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(drawn.randint(1, 20)):
        if out:
            out[drawn.randrange(len(out))] ^= 1 << drawn.randrange(8)
    return bytes(out)


def delete(drawn: Drawn, data: bytes) -> bytes:
    at = place(drawn, data)
    return data[:at] + data[at + drawn.choice((1, 2, 10, 300, 5000)) :]


def repeat(drawn: Drawn, data: bytes) -> bytes:
    at = place(drawn, data)
    end = at + drawn.choice((1, 30, 2000))
    return data[:end] + data[at:end] * drawn.randint(1, 3) + data[end:]


def truncate(drawn: Drawn, data: bytes) -> bytes:
    return data[: place(drawn, data)]


def behead(drawn: Drawn, data: bytes) -> bytes:
    return data[place(drawn, data) :]


JUNK = (
    b"\0",
    b"\0" * 4096,
    b"\xff\xfe\x80",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\\u0000",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[" * 100_000,
    b'{"a":' * 3000,
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n\n",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\x1b[31m",
    b"\x1b]0;title",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 5000,
    b"npm warn something\n",
    b"x" * LONG_LINE,
)


def insert(drawn: Drawn, data: bytes) -> bytes:
    at = place(drawn, data)
    return data[:at] + drawn.choice(JUNK) + data[at:]


def on_lines(change: Callable[[Drawn, list[bytes]], None]) -> Mutator:
    """Make a mutator of one that changes the list of lines."""

    def mutator(drawn: Drawn, data: bytes) -> bytes:
        lines = data.split(b"\n")
        change(drawn, lines)
        return b"\n".join(lines)

    mutator.__name__ = change.__name__
    return mutator


def repeat_line(drawn: Drawn, lines: list[bytes]) -> None:
    lines.insert(drawn.randrange(len(lines)), drawn.choice(lines))


def drop_line(drawn: Drawn, lines: list[bytes]) -> None:
    del lines[drawn.randrange(len(lines))]


def shuffle(drawn: Drawn, lines: list[bytes]) -> None:
    drawn.shuffle(lines)


def reverse(drawn: Drawn, lines: list[bytes]) -> None:
    lines.reverse()


def join_lines(drawn: Drawn, lines: list[bytes]) -> None:
    at = drawn.randrange(len(lines))
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def splice(drawn: Drawn, data: bytes) -> bytes:
    """Go on in the middle of another stream, of the same agent or not."""
    other = drawn.choice(RECORDINGS).stream
    return data[: place(drawn, data)] + other[place(drawn, other) :]


def interleave(drawn: Drawn, data: bytes) -> bytes:
    other = drawn.choice(RECORDINGS).stream.split(b"\n")
    lines = data.split(b"\n")
    for line in other:
        lines.insert(drawn.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def deep(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


VALUES: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 2**63,
    lambda: 10**30,
    lambda: 10**400,
    lambda: 1.5,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: "",
    lambda: "text",
    lambda: "\0\ud800\u2028\x1b[1m",
    lambda: "x" * LONG_LINE,
    lambda: [],
    lambda: {},
    lambda: [[], {}, None, 1, "a"],
    lambda: {"": {"": None}},
    lambda: {"type": "text", "text": "more"},
    lambda: [{"type": 5}],
    lambda: deep(150),
    lambda: deep(900),
)


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Give (container, key) of everything in a value."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        found += [(value, key) for key in value]
    elif isinstance(value, list):
        found += [(value, at) for at in range(len(value))]
    for container, key in list(found):
        found += spots(container[key])
    return found


def in_json(change: Callable[[Drawn, Any, Any], None]) -> Mutator:
    """Make a mutator of one that changes a spot of a line's value."""

    def mutator(drawn: Drawn, data: bytes) -> bytes:
        lines = data.split(b"\n")
        for _ in range(drawn.randint(1, 4)):
            at = drawn.randrange(len(lines))
            try:
                value = json.loads(lines[at])
                found = spots(value)
                if found:
                    change(drawn, *drawn.choice(found))
                lines[at] = json.dumps(value).encode()
            except (ValueError, RecursionError):
                continue
        return b"\n".join(lines)

    mutator.__name__ = change.__name__
    return mutator


def swap_type(drawn: Drawn, container: Any, key: Any) -> None:
    container[key] = drawn.choice(VALUES)()


def remove(drawn: Drawn, container: Any, key: Any) -> None:
    del container[key]


def rename(drawn: Drawn, container: Any, key: Any) -> None:
    if isinstance(container, dict):
        new = drawn.choice(["", "type", "id", "\0", "x" * 300, key + "_"])
        container[new] = container.pop(key)


def wrap(drawn: Drawn, container: Any, key: Any) -> None:
    old = container[key]
    container[key] = drawn.choice(([old], {"text": old}, [old, old], str(old)))


Mutator = Callable[[Drawn, bytes], bytes]
MUTATORS: tuple[Mutator, ...] = (
    *(flip_bits, delete, repeat, truncate, behead, insert, splice, interleave),
    *map(on_lines, (repeat_line, drop_line, shuffle, reverse, join_lines)),
    *map(in_json, (swap_type, swap_type, swap_type, remove, rename, wrap)),
)


class Mutation:
    """A mutated stream, and where it comes from."""

    def __init__(self, number: int) -> None:
        self.drawn = random.Random(f"{SEED}/{number}")
        recording = self.drawn.choice(RECORDINGS)
        self.agent = agent_of(recording)
        data = recording.stream
        names = []
        for _ in range(self.drawn.randint(1, 4)):
            mutator = self.drawn.choice(MUTATORS)
            names.append(mutator.__name__)
            data = mutator(self.drawn, data) or b" "
        self.stream = data
        self.name = f"{number}: {recording.name}, {', '.join(names)}"


def mutate(number: int) -> Mutation:
    """Give one of the mutated streams."""
    return Mutation(number)


# ---- what must hold ---------------------------------------------------------


def lines_in(stream: bytes) -> int:
    """Count a stream's lines, the last one too when it has no line feed."""
    return stream.count(b"\n") + (not stream.endswith(b"\n") and bool(stream))


def faults(stream: bytes, done: Replay) -> list[str]:
    """Say which promises a replay breaks."""
    found = [str(p) for p in check(done.lines) if not p.warning]
    found += [f"the adapter raised: {failure}" for failure in done.failures]
    if [entry["type"] for entry in done.entries].count("complete") != 1:
        found.append("not exactly one complete")
    counts = dict(done.counts)
    read = counts.pop("read")
    if read != lines_in(stream) or read != sum(counts.values()):
        found.append(f"{read} lines of {lines_in(stream)}: {counts}")
    if sorted(counts) != sorted(CLASSES):
        found.append(f"classes {sorted(counts)}")
    unknown = sum(done.unknown_types.values())
    if bool(unknown) < bool(counts["unknown"]):
        found.append(f"{counts['unknown']} unknown lines, {unknown} types")
    return found


def detection() -> Detection:
    """Find the adapter by the first lines, as a run of an unknown program does."""
    return Detection(registry.recogniser(lambda n, a: None), ADAPTERS["plain"])


def try_one(number: int) -> list[str]:
    """Replay a mutation in every way; give what is wrong."""
    mutation = mutate(number)
    stream, drawn = mutation.stream, mutation.drawn
    make = ADAPTERS[mutation.agent]
    code, signal = drawn.choice(((0, None), (1, None), (None, 9)))
    how: dict[str, Any] = {"code": code, "signal": signal, "prompt": "Do it"}
    small = max(len(stream) // 2000, 1)
    chunk = drawn.choice((small, small + 6, drawn.randint(small, 5000 + small)))
    try:
        whole = replay(stream, make(), **how)
        cut = replay(stream, make(), chunk=chunk, **how)
        found = faults(stream, whole)
        if cut.lines != whole.lines:
            found.append(f"chunks of {chunk} give another dialog")
        # Held lines are settled by time too, so only the promises are compared.
        found += faults(stream, replay(stream, None, detection=detection(), **how))
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    return [f"{mutation.name}: {what}"[:500] for what in found]


def test_mutated_recordings() -> None:
    assert RECORDINGS
    found, slow = [], 0.0
    for number in range(FIRST, FIRST + COUNT):
        began = time.monotonic()
        found += try_one(number)
        slow = max(slow, time.monotonic() - began)
    shown = "\n".join(found[:40])
    assert found == [], f"{len(found)} faults; slowest {slow:.2f} s\n{shown}"


def record(place: Path, mutation: Mutation) -> list[str]:
    """Record a stream as a run does, with its files; give what is wrong."""
    drawn, archive = mutation.drawn, Archive.open(str(place))
    recorder = Recorder(
        Reader(ADAPTERS[mutation.agent]()),
        Dialog(prompt="Do it"),
        archive,
        Clocks(
            started=0.0,
            spawned=0.0,
            timeout=None,
            first_output=None,
            idle=None,
            result_grace=1.0,
        ),
        Ledger(),
        Redactor({"KEY": "assistant"}),  # a word of most streams
    )
    try:
        recorder.start()
        at = 0
        while at < len(mutation.stream):
            size = drawn.choice((1, 100, 5000, 300_000))
            recorder.feed(mutation.stream[at : at + size])
            recorder.feed_stderr(mutation.stream[at : at + 7])
            at += size
            if not drawn.randrange(4):
                recorder.settle()
        recorder.close()
        recorder.complete(decide(Ending(code=0)), 5, "over")
        recorder.keeper.close()
        data = archive.read_dialog()
        found = [str(p) for p in check(data) if not p.warning]
        if b"assistant" in data.replace(b'"role":"assistant"', b""):
            found.append("a secret in the dialog")
        if recorder.lost:
            found.append(f"lost: {recorder.losses}")
    finally:
        archive.close()
    return [f"recorded {mutation.name}: {what}"[:500] for what in found]


def test_recorded_mutations(tmp_path: Path) -> None:
    """Through redaction, size limits and files, as in a run."""
    numbers = range(FIRST, FIRST + COUNT, 8)
    found = [what for n in numbers for what in record(tmp_path, mutate(n))]
    shown = "\n".join(found[:40])
    assert found == [], f"{len(found)} faults\n{shown}"


def test_a_mutation_can_be_made_again() -> None:
    assert mutate(17).stream == mutate(17).stream
    assert mutate(17).stream != mutate(18).stream


# ---- any JSON, into each adapter --------------------------------------------


def words_of(name: str) -> tuple[list[str], list[str]]:
    """Give the keys and the short strings that an agent's recordings have."""
    keys, texts = {"type", "id", "text"}, {"", "text"}
    for recording in RECORDINGS:
        if agent_of(recording) == name:
            for line in recording.stream.split(b"\n"):
                try:
                    found = spots([json.loads(line)])
                except ValueError:
                    continue
                keys |= {key for _, key in found if isinstance(key, str)}
                values = (container[key] for container, key in found)
                texts |= {v for v in values if isinstance(v, str) and len(v) < 40}
    return sorted(keys), sorted(texts)[:400]


def events(name: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Give events that look like an agent's own, with anything anywhere."""
    keys, texts = words_of(name)
    leaf = (
        st.sampled_from(texts)
        | st.sampled_from([None, True, False, 0, 1, -1, 2**64, 0.5, 1e300])
        | st.text(max_size=4)
    )
    value = st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(keys), inner, max_size=4)
        ),
        max_leaves=12,
    )
    event = st.dictionaries(st.sampled_from(keys), value, min_size=1, max_size=5)
    typed = st.builds(
        lambda kind, rest: {**rest, "type": kind}, st.sampled_from(texts), event
    )
    return st.lists(event | typed, min_size=1, max_size=6)


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_any_events(name: str) -> None:
    @settings(max_examples=COUNT // 16, database=None)
    @given(events(name))
    def try_any(found: list[dict[str, Any]]) -> None:
        stream = b"".join(json.dumps(event).encode() + b"\n" for event in found)
        assert faults(stream, replay(stream, ADAPTERS[name]())) == []

    try_any()


@pytest.mark.parametrize("name", sorted(ADAPTERS))
@given(stream=st.binary(max_size=200))
@settings(max_examples=20, database=None)
def test_any_bytes(name: str, stream: bytes) -> None:
    assert faults(stream, replay(stream, ADAPTERS[name]())) == []
