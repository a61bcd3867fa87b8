"""A replay of lines that a test wrote itself, and what its dialog shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agent_wrap.adapter import Adapter
from agent_wrap.testing import Replay, replay


def stream(*lines: Any) -> bytes:
    """Lines as an agent prints them: JSON each, but a text as it stands."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode()


def play(
    adapter: Callable[[], Adapter],
    *lines: Any,
    code: int = 0,
    signal: int | None = None,
) -> Replay:
    """Replay lines with a new adapter, and end as the process is to have ended."""
    return replay(stream(*lines), adapter(), code=code, signal=signal)


def texts(replayed: Replay, kind: str = "message") -> list[str]:
    """What the entries of one type say, in order."""
    return [e["content"] for e in replayed.entries if e["type"] == kind]


def tools(replayed: Replay) -> list[dict[str, Any]]:
    """The entries of the tools, starts and results, in order."""
    return [e for e in replayed.entries if e["type"] == "tool"]


def shown(replayed: Replay) -> list[str]:
    """A word or two for each entry between the prompt and the end."""
    return [
        f"{e['tool_id']} {e['status']}" if e["type"] == "tool" else e["content"]
        for e in replayed.entries[2:-1]
    ]
