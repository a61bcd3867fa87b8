"""Streams that no agent would print break no promise: mutated ones, and any JSON.

AGENT_WRAP_MUTATIONS=10000 is the long run; AGENT_WRAP_MUTATION_FROM starts it
elsewhere.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_wrap import registry
from agent_wrap.outcome import Ending, decide
from agent_wrap.reader import CLASSES, Detection
from agent_wrap.testing import Replay, replay
from agent_wrap.validate import check
from agent_wrap.writer import Archive

from .mutations import ADAPTERS, RECORDINGS, Mutation, agent_of, mutate, spots
from .recorders import recorder_of

COUNT = int(os.environ.get("AGENT_WRAP_MUTATIONS", "400"))
FIRST = int(os.environ.get("AGENT_WRAP_MUTATION_FROM", "0"))


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
    word = "assistant"  # of most streams
    recorder = recorder_of(archive, ADAPTERS[mutation.agent](), word)
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
