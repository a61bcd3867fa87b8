"""A strict client: it fails on anything that some real client would stumble over.

It checks each byte against the format, each frame against the known shapes, and the
numbers against what it was given before: no gap, no repetition, in no connection.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Callable
from typing import Any

from ..harness import PATIENCE
from .shapes import GLOBAL, SNAPSHOT, event_faults, faults

FRAME_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(\d+)-(\d+)")


class Frame:
    """One dispatched event, with its exact bytes."""

    def __init__(self, event: str, data: Any, frame_id: str, raw: bytes) -> None:
        self.event = event
        self.data = data
        self.id = frame_id
        self.raw = raw


class Parser:
    """Reads a stream; `mark` is the number of the last event that was applied."""

    def __init__(self, mark: int | None = None) -> None:
        self.frames: list[Frame] = []
        self.comments = 0
        self.mark = mark
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        assert b"\r" not in data, "a carriage return ends a line for some clients"
        looked_at = max(len(self._rest) - 1, 0)
        self._rest += data
        while (end := self._rest.find(b"\n\n", looked_at)) >= 0:
            block = bytes(self._rest[:end])
            del self._rest[: end + 2]
            looked_at = 0
            self._block(block)

    def _block(self, block: bytes) -> None:
        if block.startswith(b":"):
            assert b"\n" not in block
            self.comments += 1
            return
        fields: dict[str, str] = {}
        for line in block.decode("utf-8").split("\n"):
            name, colon, value = line.partition(": ")
            assert colon, f"no field: {line[:80]!r}"
            assert name in ("id", "event", "data"), f"unexpected field {name}"
            assert name not in fields, f"two lines of {name}"
            fields[name] = value
        assert list(fields)[-2:] == ["event", "data"]
        value = json.loads(fields["data"], parse_constant=_no_constant)
        frame = Frame(fields["event"], value, fields.get("id", ""), block)
        self.check(frame)
        self.frames.append(frame)

    def check(self, frame: Frame) -> None:
        if frame.event == "snapshot":
            assert frame.id == ""
            assert faults(frame.data, SNAPSHOT) == []
            turn = frame.data["inProgressTurn"]
            if turn is not None:
                seqs = [event["seq"] for event in turn]
                assert turn[0]["type"] == "turn_start"
                assert seqs == sorted(set(seqs))
                assert seqs[-1] == frame.data["cursor"]
            self.mark = frame.data["cursor"]
            return
        found = FRAME_ID.fullmatch(frame.id)
        assert found is not None, frame.id
        assert event_faults(frame.data) == []
        assert frame.data["type"] == frame.event
        assert frame.data["seq"] == int(found[3])
        assert self.mark is not None, "an event before any snapshot"
        assert frame.data["seq"] == self.mark + 1, "a gap or a repetition"
        self.mark = frame.data["seq"]


class ListParser(Parser):
    """Reads the stream of the list of sessions."""

    def check(self, frame: Frame) -> None:
        assert frame.id == ""
        assert faults(frame.data, GLOBAL[frame.event]) == []
        assert self.frames or frame.event == "connected"


def _no_constant(word: str) -> None:
    raise AssertionError(f"no JSON: {word}")


class Stream:
    """One connection to a stream."""

    def __init__(
        self,
        port: int,
        path: str,
        *,
        parser: Parser | None = None,
        last: str | None = None,
        headers: dict[str, str] | None = None,
        buffer: int = 0,
    ) -> None:
        self.parser = Parser() if parser is None else parser
        self.connection = http.client.HTTPConnection("127.0.0.1", port, PATIENCE)
        if buffer:
            sock = self.connection.sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            sock.settimeout(PATIENCE)
            sock.connect(("127.0.0.1", port))
        sent = dict(headers or {})
        if last is not None:
            sent["Last-Event-ID"] = last
        self.connection.request("GET", path, headers=sent)
        self.response = self.connection.getresponse()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    @property
    def frames(self) -> list[Frame]:
        return self.parser.frames

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events, without snapshots."""
        return [frame.data for frame in self.frames if frame.event != "snapshot"]

    @property
    def kinds(self) -> list[str]:
        return [frame.event for frame in self.frames]

    @property
    def last_id(self) -> str:
        return next(frame.id for frame in reversed(self.frames) if frame.id)

    def until(self, condition: Callable[[], object]) -> Stream:
        """Read until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"in vain; got {self.kinds[-20:]}"
            data = self.response.read1(1 << 16)
            assert data, f"the stream ended; got {self.kinds[-20:]}"
            self.parser.feed(data)
        return self

    def until_kind(self, kind: str) -> Stream:
        return self.until(lambda: kind in self.kinds)

    def until_count(self, kind: str, count: int) -> Stream:
        return self.until(lambda: self.kinds.count(kind) == count)

    def to_end(self) -> Stream:
        """Read until the server ends the stream."""
        while data := self.response.read1(1 << 16):
            self.parser.feed(data)
        return self


def get(
    port: int, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Ask once; give status, headers (lower case) and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, PATIENCE)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, told, answer.read()
    finally:
        connection.close()
