"""Streams that no agent would print, made from streams that agents printed.

Mutation `n` is always the same for the same recordings: `mutate(n)` gives it back.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_wrap import registry
from agent_wrap.adapter import Adapter
from agent_wrap.errors import AdapterError
from agent_wrap.testing import Recording, find_recordings

SEED = "agent-wrap"
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
