"""The streams that are measured, in Claude Code's format, the same at each run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORDS = ("The test reads the file and fails since the parser drops a line ; " * 30_000)[
    : 1 << 20
]
FOREIGN = "測試讀取檔案並失敗、因為剖析器遺失了一行。" * 2000
USAGE = {"input_tokens": 10, "output_tokens": 5}

Lines = Iterator[dict[str, Any]]


def _message(number: int, block: dict[str, Any]) -> dict[str, Any]:
    message = {
        "id": f"m{number}",
        "role": "assistant",
        "model": "benchmark-model",
        "content": [block],
        "usage": USAGE,
    }
    return {"type": "assistant", "session_id": "s", "message": message}


def _text(number: int, text: str) -> dict[str, Any]:
    return _message(number, {"type": "text", "text": text})


def _tool(number: int, output: str) -> Lines:
    name = f"t{number}"
    command = {"command": f"cat file-{number}.txt"}
    yield _message(
        number, {"type": "tool_use", "id": name, "name": "Bash", "input": command}
    )
    result = {"type": "tool_result", "tool_use_id": name, "content": output}
    yield {
        "type": "user",
        "session_id": "s",
        "message": {"role": "user", "content": [result]},
    }


def realistic() -> Lines:
    """Lines of 0.5 to 4 KB, some of 30 KB, one in 500 of 1 MB."""
    chance = random.Random(7)
    number = 0
    while True:
        number += 1
        size = chance.randint(500, 4000)
        if number % 250 == 0:
            size = 1 << 20
        elif number % 25 == 0:
            size = 30_000
        if number % 3:
            yield from _tool(number, WORDS[:size])
        else:
            yield _text(number, WORDS[:size])


def small() -> Lines:
    """Lines of 300 bytes."""
    number = 0
    while True:
        number += 1
        yield _text(number, WORDS[:90])


def foreign() -> Lines:
    """Lines of 1.5 to 12 KB that are mostly not ASCII."""
    chance = random.Random(7)
    number = 0
    while True:
        number += 1
        yield _text(number, FOREIGN[: chance.randint(500, 4000)])


def partial() -> Lines:
    """Messages of 60 pieces, each followed by the whole."""
    number = 0
    while True:
        number += 1
        for at in range(60):
            delta = {"type": "text_delta", "text": WORDS[at * 8 : at * 8 + 8]}
            event = {"type": "content_block_delta", "index": 0, "delta": delta}
            yield {"type": "stream_event", "session_id": "s", "event": event}
        yield _text(number, WORDS[: 60 * 8])


def one_line() -> Lines:
    """A single line of 16 MB."""
    yield from _tool(1, WORDS * 16)


STREAMS: dict[str, tuple[Callable[[], Lines], int]] = {
    "realistic 200 MB": (realistic, 200_000_000),
    "realistic 20 MB": (realistic, 20_000_000),
    "small lines": (small, 20_000_000),
    "partial messages": (partial, 20_000_000),
    "mostly not ASCII": (foreign, 20_000_000),
    "one line of 16 MB": (one_line, 1 << 40),
}


def write(path: Path, lines: Lines, size: int) -> Path:
    """Write a whole session of about so many bytes."""
    init = {
        "type": "system",
        "subtype": "init",
        "session_id": "s",
        "model": "benchmark-model",
        "tools": [],
        "cwd": "/",
    }
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "s",
        "num_turns": 1,
        "result": "done",
        "usage": USAGE,
    }
    written = 0
    with path.open("wb") as out:
        written += out.write(json.dumps(init).encode() + b"\n")
        for event in lines:
            written += out.write(json.dumps(event, ensure_ascii=False).encode() + b"\n")
            if written >= size:
                break
        out.write(json.dumps(result).encode() + b"\n")
    return path
