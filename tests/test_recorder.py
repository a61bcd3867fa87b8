"""What one read brings is written together, and every entry of it is accounted for."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_wrap.adapter import Adapter
from agent_wrap.events import Event, Message, ToolFinished, ToolStarted
from agent_wrap.keeper import RESERVE
from agent_wrap.log_file import LogFile
from agent_wrap.outcome import Ending, decide
from agent_wrap.recorder import Recorder
from agent_wrap.validate import check
from agent_wrap.writer import Archive

from .recorders import recorder_of

SECRET = "hunter2-hunter2"
CHARACTERS = 5_000_000


class Plain(Adapter):
    """One message, or one tool, a line."""

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        if "say" in event:
            yield Message(event["say"])
        if "call" in event:
            yield ToolStarted(event["call"], "Bash", event.get("args"))
        if "back" in event:
            yield ToolFinished(event["back"], "done")


class Odd(Plain):
    """Gives arguments that no JSON holds."""

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        args: dict[Any, Any] = {1: "x" * CHARACTERS, "y": {2: float("nan")}}
        yield ToolStarted("t", "Odd", args)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive.open(str(tmp_path / "archive"))
    yield archive
    archive.close()


def begun(archive: Archive, adapter: Adapter | None = None) -> Recorder:
    return recorder_of(archive, adapter or Plain(), SECRET)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def entries(archive: Archive) -> list[dict[str, Any]]:
    data = Path(archive.dialog_path).read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def end(recorder: Recorder, archive: Archive) -> list[dict[str, Any]]:
    recorder.close()
    recorder.complete(decide(Ending(code=0)), 5, "")
    recorder.keeper.close()
    assert [p for p in check(archive.read_dialog()) if not p.warning] == []
    return entries(archive)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The descriptors of all records that are written."""
    seen: list[int] = []
    append = LogFile.append

    def watched(file: LogFile, record: bytes) -> bool:
        seen.append(file.fd)
        return append(file, record)

    monkeypatch.setattr(LogFile, "append", watched)
    return seen


def test_what_one_read_brings_is_one_write_and_there_at_once(
    archive: Archive, writes: list[int]
) -> None:
    recorder = begun(archive)
    recorder.feed(lines({"say": "one"}, {"say": "two"}, {"say": "three"}))
    assert [e.get("content") for e in entries(archive)[2:]] == ["one", "two", "three"]
    assert writes.count(archive.dialog.fd) == 1
    assert recorder.written == 5
    recorder.feed(lines({"say": "four"}))
    assert entries(archive)[-1]["content"] == "four"


def test_who_watches_is_told_once_an_entry_is_on_disk(archive: Archive) -> None:
    recorder, seen = begun(archive), []

    def watch(event: Event | None, new: list[dict[str, Any]]) -> None:
        seen.append([e["seq"] for e in new])
        assert entries(archive)[-1]["seq"] == new[-1]["seq"]

    recorder.watchers.append(watch)
    recorder.feed(lines({"say": "one"}, {"say": "two"}))
    assert seen == [[0, 1, 2], [3]]


def test_many_entries_of_one_read_are_not_held_for_long(
    archive: Archive, writes: list[int]
) -> None:
    recorder = begun(archive)
    recorder.feed(lines(*({"say": "x" * 3000} for _ in range(100))))
    assert 8 <= writes.count(archive.dialog.fd) <= 12
    assert len(entries(archive)) == 102


def test_a_secret_among_many_lines_goes_and_the_others_stay(archive: Archive) -> None:
    recorder = begun(archive)
    spelt = "".join(f"\\u{ord(c):04x}" for c in SECRET)
    data = lines({"say": "one"}, {"say": "KEY"}, {"say": "y" * 9000}, {"say": "two"})
    recorder.feed(data.replace(b"KEY", spelt.encode()))
    said = [e["content"] for e in entries(archive)[2:]]
    assert said == ["one", "[redacted:KEY]", "y" * 9000, "two"]


def test_of_a_read_that_does_not_fit_the_first_entries_are_kept(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = begun(archive)
    room = RESERVE + 8_000
    archive.dialog.allocated = recorder.keeper._allocated = 0

    def allocate(file: LogFile, size: int) -> int:
        return errno.ENOSPC if size > room else 0

    monkeypatch.setattr(LogFile, "allocate", allocate)
    called = [{"call": f"t{n}", "args": {"x": "y" * 900}} for n in range(20)]
    ended = [{"back": f"t{n}"} for n in range(20)]
    recorder.feed(lines({"say": "one"}, *called, *ended))
    recorder.feed(lines({"say": "late"}, {"back": "t0"}))
    kept = recorder.written
    assert 3 < kept < 20
    assert recorder.lost >= 41 - kept
    found = end(recorder, archive)
    assert [e["seq"] for e in found] == list(range(len(found)))
    assert found[2]["content"] == "one"
    started = [e["tool_id"] for e in found if e.get("status") == "running"]
    assert started == [f"t{n}" for n in range(len(started))]
    assert started
    assert found[-1]["type"] == "complete"


def test_an_adapter_that_breaks_loses_nothing_of_what_came_before(
    archive: Archive,
) -> None:
    class Broken(Plain):
        def feed(self, event: dict[str, Any]) -> Iterator[Event]:
            yield from super().feed(event)
            if "stop" in event:
                raise KeyboardInterrupt

    recorder = begun(archive, Broken())
    with pytest.raises(KeyboardInterrupt):
        recorder.feed(lines({"say": "one"}, {"say": "two", "stop": 1}, {"say": "3"}))
    assert [e.get("content") for e in entries(archive)[2:]] == ["one", "two"]


def test_arguments_that_no_json_holds_are_cut_like_others(archive: Archive) -> None:
    recorder = begun(archive, Odd())
    recorder.feed(lines({}))
    args = entries(archive)[-1]["args"]
    assert "characters cut" in args["1"]
    assert args["y"] == {"2": None}
    assert recorder.cut == 1
    assert end(recorder, archive)[-1]["type"] == "complete"
