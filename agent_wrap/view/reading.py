"""A dialog's bytes in, its entries out: whole, in the protocol's shapes, or noted.

Whoever shows or exports a dialog reads it through here and need not look at shapes:
every field is there and of its type. What cannot be read is passed over and noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from agent_wrap import entries
from agent_wrap.entries import TYPES, Entry
from agent_wrap.jsonvalue import objects as tolerant_objects
from agent_wrap.jsonvalue import one_object, too_deep
from agent_wrap.lines import LineDecoder, LongLine
from agent_wrap.shapes import get_count, get_dict, get_text

EPOCH = "1970-01-01T00:00:00+00:00"
MOST_NOTES = 20


class Reader:
    """Cuts and reads a dialog piece by piece.

    `damage` lists what could not be read (the first lines of it), `damaged` counts
    it, `torn` says that the last line has no end.
    """

    def __init__(self) -> None:
        self.damage: list[str] = []
        self.damaged = 0
        self.read = 0
        self.torn = False
        self._lines = LineDecoder()
        self._number = 0
        self._ts = EPOCH
        self._open = False

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Take the next bytes; give the entries that they end."""
        if data:
            self._open = not data.endswith(b"\n")
        for line in self._lines.feed(data):
            yield from self._entry(line)

    def close(self) -> Iterator[Entry]:
        """End of the file: a last line without its end counts when it is an entry."""
        for line in self._lines.close():
            if self._open and (isinstance(line, LongLine) or not one_object(line)):
                self._number += 1
                self.torn = True
                self._note("is torn")
            else:
                yield from self._entry(line)

    def _entry(self, line: bytes | LongLine) -> Iterator[Entry]:
        self._number += 1
        if isinstance(line, LongLine):
            self._note("is too long")
            return
        if not line.strip():
            return
        found = one_object(line)
        if found is None:
            several = tolerant_objects(line)
            found = several[0] if several and len(several) == 1 else None
        if found is None:
            self._note("is no JSON object")
            return
        if too_deep(found):
            self._note("is nested too deep")
            return
        entry = whole(found, self._ts)
        if entry is None:
            self._note("is no entry of the dialog protocol")
            return
        self.read += 1
        self._ts = entry["ts"]
        yield entry

    def _note(self, what: str) -> None:
        self.damaged += 1
        if len(self.damage) < MOST_NOTES:
            self.damage.append(f"line {self._number} {what}")


def whole(found: dict[str, Any], ts_before: str = EPOCH) -> Entry | None:
    """Give an object as an entry of the protocol's shape, or None when it is none."""
    seq, kind, ts = found.get("seq"), found.get("type"), found.get("ts")
    if type(seq) is not int or not isinstance(ts, str):
        return None
    if not isinstance(kind, str) or kind not in TYPES:
        return None
    ts = ts if moment(ts) is not None else ts_before
    text = get_text(found, "content")
    if kind == "init":
        data = get_dict(found, "data")
        names = {key: get_text(data, key) for key in ("task", "cwd", "model", "agent")}
        return entries.init(seq, ts, **names)
    if kind == "prompt":
        return entries.prompt(seq, ts, text)
    if kind == "message":
        usage = get_dict(found, "tokens")
        return entries.message(seq, ts, text, _tokens(usage) if usage else None)
    if kind == "thinking":
        return entries.thinking(seq, ts, text)
    if kind == "tool":
        return _tool(found, seq, ts)
    return entries.complete(
        seq,
        ts,
        status=get_text(found, "status") or entries.UNKNOWN,
        turns=get_count(found, "turns"),
        duration_ms=get_count(found, "duration_ms"),
        tokens=_tokens(get_dict(found, "total_tokens")),
        message=get_text(found, "message"),
    )


def _tool(found: dict[str, Any], seq: int, ts: str) -> Entry:
    tool_id, name = get_text(found, "tool_id"), get_text(found, "name")
    name = name or entries.UNKNOWN
    status = get_text(found, "status")
    if status not in ("success", "error"):
        return entries.tool_start(seq, ts, tool_id, name, get_dict(found, "args"))
    ok = status == "success"
    first, second = ("result", "error") if ok else ("error", "result")
    output = get_text(found, first) or get_text(found, second)
    return entries.tool_result(seq, ts, tool_id, name, output, ok=ok)


def _tokens(usage: dict[str, Any]) -> tuple[int, int]:
    return get_count(usage, "in"), get_count(usage, "out")


def moment(ts: str) -> datetime | None:
    """Give the moment that a `ts` names, in UTC, or None when it names none."""
    try:
        found = datetime.fromisoformat(ts)
        if found.tzinfo is None:
            return found.replace(tzinfo=UTC)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def seconds(ts: str) -> float:
    """Give a moment as Unix seconds; 0 when it is none."""
    found = moment(ts)
    return found.timestamp() if found else 0.0


def utc(ts: str) -> str:
    """Give a moment for people, to the second; empty when it is none."""
    found = moment(ts)
    return f"{found:%Y-%m-%d %H:%M:%S} UTC" if found else ""


def output_of(entry: Entry) -> str:
    """Give what a tool's result entry carries, on success or on failure."""
    text = entry.get("result") or entry.get("error") or ""
    return str(text)
