"""What tests of `agent-wrap serve` begin with: an agent, a turn under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..harness import child
from .client import Stream
from .server import Server

PLAY = child("scripted", "init", "text=Hello", "result")

Starter: TypeAlias = Callable[..., Server]
"""Starts a server with a command and options, on the data folder of the test."""


def busy(server: Server, session: str) -> Stream:
    stream = server.open(session)
    path = f"/api/sessions/{session}/messages"
    answer = server.post(path, {"content": "x"}, X_Client_Id="me")
    assert answer == (202, {"sessionId": session})
    return stream.until_kind("tool_call")
