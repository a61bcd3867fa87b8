"""Asking SSEBench's daemon for the task: `GET /project` over its Unix socket.

Bounded in time and size, silent when absent: a run never depends on it.
Source: facts of ssebench 1.1.0 (the answer has `id`, `source`, ...).
"""

from __future__ import annotations

from typing import Any

import anyio

from agent_wrap.jsonvalue import objects

PATIENCE = 0.6
LIMIT = 1 << 20
REQUEST = (
    b"GET /project HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n"
)


async def project(path: str) -> dict[str, Any]:
    """Give the daemon's description of the project, or an empty object."""
    answer = b""
    try:
        with anyio.move_on_after(PATIENCE):
            async with await anyio.connect_unix(path) as stream:
                await stream.send(REQUEST)
                while len(answer) < LIMIT and not _whole(answer):
                    answer += await stream.receive()
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, ValueError):
        pass
    return parse(answer)


def parse(answer: bytes) -> dict[str, Any]:
    """Give the object in an HTTP answer's body; empty unless its status is 200."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        return {}
    found = objects(body.strip())
    return found[0] if found else {}


def _whole(answer: bytes) -> bool:
    """Has a body of the announced length arrived? Some servers keep the line open."""
    head, found, body = answer.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length" and value.strip().isdigit():
            return bool(found) and len(body) >= int(value)
    return False
