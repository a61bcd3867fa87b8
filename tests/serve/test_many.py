"""The sessions of a server in memory and on disk, where their client cannot see it."""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_wrap.errors import ArchiveError
from agent_wrap.events import Message, SubagentUpdated, ToolStarted, Usage
from agent_wrap.serve import many as module
from agent_wrap.serve.many import Many
from agent_wrap.serve.store import EventFile, Meta, Store

NOW = 1_760_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(str(tmp_path / "data"))
    yield made
    made.close()


def many(store: Store) -> Many:
    return Many(
        store,
        None,  # type: ignore[arg-type]  # no turn is begun here
        command=["agent"],
        next_command=[],
        options={},
        heartbeat=60.0,
        ask_timeout=600.0,
        home="/",
    )


def new_id() -> str:
    return str(uuid.uuid4())


def test_idle_sessions_leave_the_memory_and_others_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOADED", 1)
    sessions = many(store)
    watched, idle, last = new_id(), new_id(), new_id()
    feed = sessions.feed(watched)
    feed.pins += 1  # a connection whose reader has not begun
    forgotten = sessions.feed(idle)
    sessions.feed(last)
    assert sessions.feed(watched) is feed
    assert sessions.feed(idle) is not forgotten


def test_what_was_open_is_closed_after_a_restart(store: Store) -> None:
    first = many(store)
    held = first.hold(new_id())
    held.meta.running = True
    held.session.begin_turn("Hi")
    for event in (
        ToolStarted("t", "Bash"),
        ToolStarted("t", "Bash"),
        SubagentUpdated("s", "running"),
        Usage(input=1, output=1, cost=0.5, message_id="m"),
        Message("Hello"),
    ):
        held.session.apply(event, NOW)
    first._touch(held.meta)
    second = many(store)
    anyio.run(second.finish_cut_turns)
    again = second.hold(held.meta.id).session
    lines = [json.loads(data) for data, _ in store.events(again.id).read()]
    closed = [e["toolCallId"] for e in lines if e["type"] == "tool_result"]
    assert closed == ["t", "t#2"]
    assert again.status["runningSubagentCount"] == 0
    assert again.status["lifecycle"] == "error"
    assert again.epoch == held.session.epoch
    again.begin_turn("more")
    again.apply(Usage(input=1, output=1, cost=0.25, message_id="n"), NOW)
    again.apply(ToolStarted("t", "Bash"), NOW)
    assert again.status["cost"] == 0.75
    assert b'"t#3"' in again.log.after(again.cursor - 1, 1)[0]


def test_ids_change_when_an_event_could_not_be_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = many(store).hold(new_id())
    session, epoch = held.session, held.session.epoch
    session.begin_turn("Hi")
    real = os.write
    full = True

    def write(fd: int, data: bytes) -> int:
        if full and fd != 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr("agent_wrap.serve.store.os.write", write)
    session.apply(Message("lost"), NOW)
    full = False
    session.apply(Message("not written after a gap"), NOW)
    assert session.epoch != epoch
    assert session.resume(f"{session.id}-{epoch}-1", None) is None
    assert session.cursor == 3
    assert len(list(store.events(session.id).read())) == 1


@pytest.mark.parametrize(
    "tail", [b"{", b"\n", b"null\n", b'{"at":1,"event":{"seq":2', b"\0" * 100]
)
def test_what_is_no_event_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "events.jsonl"
    file = EventFile(str(path))
    file.append(b'{"seq":1}', NOW)
    file.close()
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert list(EventFile(str(path)).read()) == [(b'{"seq":1}', NOW)]
    assert path.read_bytes() == whole


def test_broken_sessions_are_left_out(store: Store) -> None:
    good = Meta(new_id(), 1, title="good")
    store.save(good)
    folder = Path(store.path, "sessions", "broken")
    for text in ("", "{", "[]", '{"id": 1, "what": 2}'):
        folder.mkdir(exist_ok=True)
        (folder / "session.json").write_text(text)
        assert [meta.title for meta in store.metas()] == ["good"]
    found: dict[str, Any] = store.summary(good)
    assert found == {}


def test_one_store_a_folder(store: Store) -> None:
    with pytest.raises(ArchiveError, match="another server has it"):
        Store(store.path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError):
        Store(str(tmp_path / "file"))
