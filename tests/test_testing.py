"""The adapter kit itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import Adapter, Prepared
from agent_wrap.events import (
    Event,
    Message,
    RunFinished,
    SessionStarted,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.reader import Detection
from agent_wrap.testing import (
    CHUNKS,
    check_golden,
    compare,
    find_orphans,
    find_recordings,
    load,
    replay,
    replay_in_chunks,
    replay_recording,
)


class Toy(Adapter):
    """Speaks `{"say": ...}`, `{"tool": ...}`, `{"end": ok}`."""

    programs = frozenset({"toy"})

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        if "model" in event:
            yield SessionStarted(model=event["model"], cwd="/src")
        elif "say" in event:
            yield TurnStarted(event["say"])
            yield Message(event["say"])
        elif "tool" in event:
            yield ToolStarted("t", event["tool"])
        elif "end" in event:
            yield RunFinished(event["end"], "" if event["end"] else "it broke")
        else:
            yield Unknown("?")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        return "model" in event

    @classmethod
    def prepare(cls, command: Any, prompt: str | None) -> Prepared:
        return Prepared(command, prompt=command[-1] if prompt is None else prompt)


STREAM = b'{"model":"m"}\n{"say":"h\xc3\xa9"}\n{"tool":"x"}\n{"end":true}'


def test_replay_is_a_whole_dialog() -> None:
    ended = replay(STREAM, Toy(), agent="toy", prompt="do")
    kinds = [e["type"] for e in ended.entries]
    assert kinds == ["init", "prompt", "message", "tool", "tool", "complete"]
    data = {"task": "unknown", "cwd": "/src", "model": "m", "agent": "toy"}
    assert ended.entries[0]["data"] == data
    assert ended.lines.isascii()
    assert [json.loads(line) for line in ended.lines.splitlines()] == ended.entries
    assert ended.counts["mapped"] == 4
    assert (ended.turns, ended.outcome.status) == (1, "success")


def test_given_names_stand_above_the_streams() -> None:
    ended = replay(STREAM, Toy(), model="mine", cwd="/there", task="t")
    assert ended.entries[0]["data"]["model"] == "mine"
    assert ended.entries[0]["data"]["cwd"] == "/there"


def test_chunks_change_nothing() -> None:
    whole = replay(STREAM, Toy()).lines
    chunked = replay_in_chunks(STREAM, Toy)
    assert list(chunked) == list(CHUNKS)
    assert {r.lines for r in chunked.values()} == {whole}


@pytest.mark.parametrize(
    ("end", "code", "signal", "status", "exit_code"),
    [
        (b'{"end":true}', 0, None, "success", 0),
        (b'{"end":false}', 0, None, "error", 1),
        (b'{"end":true}', 3, None, "success", 3),
        (b"", 0, None, "error", 1),
        (b"", None, 9, "error", 137),
    ],
)
def test_it_ends_as_the_run_would(
    end: bytes, code: int | None, signal: int | None, status: str, exit_code: int
) -> None:
    ended = replay(end, Toy(), code=code, signal=signal)
    assert (ended.outcome.status, ended.outcome.exit_code) == (status, exit_code)


def test_strict() -> None:
    stream = b'{"new":1}\n{"end":true}'
    assert replay(stream, Toy()).outcome.exit_code == 0
    assert replay(stream, Toy(), strict=True).outcome.exit_code == 3


def test_detection() -> None:
    def recognise(event: dict[str, Any]) -> Adapter | None:
        return Toy() if Toy.recognises(event) else None

    ended = replay(STREAM, None, detection=Detection(recognise, Toy))
    assert isinstance(ended.adapter, Toy)
    assert ended.outcome.status == "success"


class TestRecordings:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "toy-1.0" / "case"
        folder.mkdir(parents=True)
        (folder / "stdout.jsonl").write_bytes(STREAM)
        meta = {"exit_code": -15, "command": ["toy", "do it"]}
        (folder / "meta.json").write_text(json.dumps(meta))
        return folder

    def test_load(self, folder: Path) -> None:
        saved = load(folder)
        assert saved.name == "toy-1.0/case"
        assert (saved.code, saved.signal) == (None, 15)
        assert saved.golden is None
        assert [r.name for r in find_recordings(folder.parent.parent)] == [saved.name]

    def test_without_meta(self, folder: Path) -> None:
        (folder / "meta.json").unlink()
        saved = load(folder)
        assert (saved.code, saved.signal, saved.command) == (0, None, [])

    def test_the_command_gives_the_prompt(self, folder: Path) -> None:
        ended = replay_recording(load(folder), Toy, agent="toy")
        assert ended.entries[1]["content"] == "do it"
        assert ended.outcome.exit_code == 128 + 15

    def test_golden(self, folder: Path) -> None:
        saved = load(folder)
        lines = replay_recording(saved, Toy).lines
        with pytest.raises(AssertionError, match="--update-golden"):
            check_golden(saved, lines)
        check_golden(saved, lines, update=True)
        check_golden(saved, lines)
        with pytest.raises(AssertionError, match=r"-.*\n\+"):
            check_golden(saved, lines.replace(b"message", b"massage"))

    def test_orphans(self, folder: Path) -> None:
        (folder / "dialog.jsonl").write_bytes(b"")
        assert find_orphans(folder.parent) == []
        (folder / "stdout.jsonl").unlink()
        assert find_orphans(folder.parent) == [str(folder / "dialog.jsonl")]


def test_compare() -> None:
    assert compare(b"a\n", b"a\n") == ""
    assert "-a" in compare(b"a\n", b"b\n")
