"""Sessions outlive their server: it ends, it is killed, its last line is torn."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from ..harness import child, marked, wait_for
from .turns import PLAY, Starter, busy


def test_a_client_resumes_across_a_restart(
    start: Starter, session: str, tmp_path: Path
) -> None:
    kept = tmp_path / "data/sessions" / session / "session.json"
    first = start(PLAY)
    with first.open(session) as stream:
        first.message(session, "one")
        stream.until_kind("turn_end")
    assert first.end() == 0
    listed = json.loads(kept.read_text())
    assert not listed["running"]
    second = start(PLAY)
    assert json.loads(kept.read_text()) == listed  # nothing to tidy up
    with second.open(session, stream.frames[2].id) as again:
        second.message(session, "two")
        again.until(lambda: again.kinds.count("turn_end") == 2)
    assert "snapshot" not in again.kinds
    old = [frame.raw for frame in stream.frames[3:]]
    assert [frame.raw for frame in again.frames[: len(old)]] == old
    assert [m["content"] for m in second.history(session)] == [
        *("one", "Hello"),
        *("two", "Hello"),
    ]


def test_a_server_that_is_killed_in_a_turn(
    start: Starter, tmp_path: Path, session: str
) -> None:
    command = child("scripted", "init", "tool=t1", "sleep=600")
    first = start(command)
    with busy(first, session) as stream:
        first.end(signal.SIGKILL)
    second = start(command)
    wait_for(lambda: marked(first.mark) == {}, "the end of the run")
    with second.open(session, stream.last_id) as again:
        again.until_kind("turn_end")
        assert "snapshot" not in again.kinds
        result = next(e for e in again.events if e["type"] == "tool_result")
        assert (result["toolCallId"], result["status"]) == ("t1", "error")
        error = next(e for e in again.events if e["type"] == "error")
        assert "server ended" in error["message"]
        second.message(session, "again")
        again.until(lambda: again.kinds.count("tool_call") == 1)
    [archive, _] = sorted((tmp_path / "data/sessions" / session / "turns").iterdir())
    assert b'"complete"' in (archive / "dialog.jsonl").read_bytes()


def test_a_torn_line_is_cut_off(start: Starter, tmp_path: Path, session: str) -> None:
    first = start(PLAY)
    with first.open(session) as stream:
        first.message(session, "one")
        stream.until_kind("turn_end")
    first.end()
    events = tmp_path / "data/sessions" / session / "events.jsonl"
    whole = events.read_bytes()
    events.write_bytes(whole + b'{"at":1,"event":{"seq":')
    second = start(PLAY)
    with second.open(session) as again:
        assert len(again.frames[0].data["messages"]) == 2
        second.message(session, "two")
        again.until_kind("turn_end")
    lines = events.read_bytes().split(b"\n")[:-1]
    seqs = [json.loads(line)["event"]["seq"] for line in lines]
    assert seqs == list(range(1, len(seqs) + 1))
