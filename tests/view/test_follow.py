"""Following a dialog: when it ends besides at `complete`."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from pathlib import Path

import pytest

from agent_wrap import entries
from agent_wrap.errors import UsageError
from agent_wrap.view import follow as module
from agent_wrap.view.follow import follow, late_summary
from agent_wrap.view.reading import Reader

TS = "2026-01-15T10:30:00+00:00"
INIT = entries.init(0, TS, task="t", cwd="/src", model="m", agent="a")
PATIENCE = 10.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT", 0.01)
    monkeypatch.setattr(module, "LOOK", 0.05)


@pytest.fixture
def dialog(tmp_path: Path) -> Path:
    path = tmp_path / "dialog.jsonl"
    path.write_text(json.dumps(INIT) + "\n")
    return path


def test_it_ends_when_the_wrapper_is_gone(dialog: Path) -> None:
    held = os.open(dialog.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    reader, found, beats = Reader(), [], 0
    until = time.monotonic() + PATIENCE
    for entry in follow(str(dialog), reader):
        assert time.monotonic() < until
        beats += entry is None
        found += [entry] if entry else []
        if beats == 30 and held >= 0:
            with dialog.open("a") as file:
                file.write('{"torn')
            os.close(held)
            held = -1
    assert found == [INIT]
    assert reader.torn


def test_it_ends_when_another_run_takes_the_place(dialog: Path) -> None:
    beats = 0
    until = time.monotonic() + PATIENCE
    for entry in follow(str(dialog), Reader()):
        assert time.monotonic() < until
        beats += entry is None
        if beats == 5:
            dialog.unlink(missing_ok=True)
            dialog.write_text("")
    assert beats >= 5


def test_it_waits_for_an_empty_dialog_and_refuses_garbage(dialog: Path) -> None:
    dialog.write_text("")
    following = follow(str(dialog), Reader())
    assert [next(following), next(following)] == [None, None]
    dialog.write_text("garbage\n")
    with pytest.raises(UsageError, match="not a dialog"):
        list(following)


def test_the_summary_comes_after_the_end(
    dialog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert late_summary(str(dialog)) == {}
    monkeypatch.setattr(module, "LOOK", PATIENCE)
    held = os.open(dialog.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)

    def write() -> None:
        (dialog.parent / "new").write_text('{"exit_code": 3}')
        (dialog.parent / "new").rename(dialog.parent / "summary.json")

    timer = threading.Timer(0.1, write)
    timer.start()
    try:
        assert late_summary(str(dialog)) == {"exit_code": 3}
    finally:
        timer.join()
        os.close(held)
