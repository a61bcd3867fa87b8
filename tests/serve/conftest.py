"""Servers that end with their test, and a session for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from .server import Server
from .turns import Starter


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Start servers on one data folder; none of them outlives the test."""
    started: list[Server] = []

    def begin(command: Sequence[str], *options: str) -> Server:
        started.append(Server(tmp_path, list(command), *options))
        return started[-1]

    yield begin
    for server in started:
        server.close()


@pytest.fixture
def session() -> str:
    """A session's id that nobody has used."""
    return str(uuid.uuid4())
