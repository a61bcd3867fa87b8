"""The bytes of an event stream, and the cursor that a client sends back. Pure."""

from __future__ import annotations

KEEPALIVE = b": keepalive\n\n"
OPENED = b": connected\n\n"
"""A comment: clients see that the stream is open although nothing is to be told."""

_LONGEST_NUMBER = 18


def frame(event: str, data: bytes, frame_id: str = "") -> tuple[bytes, int]:
    """Give the bytes of one event, and where its data begins in them.

    `data` is one line of ASCII-only JSON, so no text can end it early.
    """
    first = f"id: {frame_id}\n" if frame_id else ""
    head = f"{first}event: {event}\ndata: ".encode("ascii")
    return b"%b%b\n\n" % (head, data), len(head)


def data_of(frame: bytes, start: int) -> memoryview:
    """Give the data of a frame without copying it."""
    return memoryview(frame)[start:-2]


def frame_id(session_id: str, epoch: int, seq: int) -> str:
    """Give the id of an event's frame."""
    return f"{session_id}-{epoch}-{seq}"


def position(
    session_id: str, epoch: int, last_event_id: str | None, after: str | None
) -> int | None:
    """Give the last event that a client has, or None: it needs a snapshot.

    `last_event_id` wins over `after`, also where it cannot be used.
    """
    if last_event_id is None:
        return _number(after) if after is not None else None
    head, _, seq = last_event_id.strip().rpartition("-")
    return _number(seq) if head.lower() == f"{session_id}-{epoch}" else None


def _number(text: str) -> int | None:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER:
        return int(text)
    return None
