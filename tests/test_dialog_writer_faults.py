"""The drop-in writer when things go wrong: disks, encoders, threads, signals, ends."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import dialog_writer
from agent_wrap.dialog_writer import DialogWriter
from agent_wrap.validate import check

from .written import begun, entries_of, run, short

pytestmark = pytest.mark.usefixtures("writers_environment")


# ---- a failing dialog never fails the agent ---------------------------------


def use_all(dialog: DialogWriter) -> None:
    begun(dialog)
    dialog.thinking("hm")
    dialog.message("hi")
    dialog.tool_start("a", "bash")
    dialog.tool_result("a", result="ok")
    dialog.complete()
    dialog.close()


def test_a_place_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    dialog = DialogWriter(tmp_path / "file" / "archive")
    use_all(dialog)
    assert str(tmp_path / "file") in dialog.error
    assert capsys.readouterr().err == f"agent-wrap: dialog: {dialog.error}\n"


def test_two_writers_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = DialogWriter(), DialogWriter()
    second.message("from the second")
    first.message("from the first")
    first.close()
    second.close()
    contents = [entry.get("content") for entry in entries_of(first)]
    assert contents == [None, "", "from the first", None]
    assert "in use" in capsys.readouterr().err
    assert first.error == ""


def test_what_the_disk_refuses_is_written_later_in_order(
    dialog: DialogWriter, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    begun(dialog)
    append = dialog._append
    monkeypatch.setattr(dialog, "_append", lambda line: False)
    dialog.message("while the disk is full")
    assert short(entries_of(dialog)) == ["init", "prompt"]
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr(dialog, "_append", append)
    dialog.complete()
    assert short(entries_of(dialog)) == ["init", "prompt", "message", "complete"]
    assert capsys.readouterr().err == ""


def test_a_disk_that_stays_full_is_given_up(
    dialog: DialogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialog_writer, "HELD_LINES", 5)
    monkeypatch.setattr(dialog, "_append", lambda line: False)
    for _ in range(20):
        dialog.message("x")
    assert len(dialog._lines) <= 6
    assert dialog._append is None
    use_all(dialog)


def test_an_encoder_that_fails_is_told_and_survived(
    dialog: DialogWriter, capsys: pytest.CaptureFixture[str]
) -> None:
    class Strange:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    begun(dialog)
    dialog.message(Strange())  # type: ignore[arg-type]
    dialog.tool_start("a", "bash", {"x": Strange()})
    dialog.tool_result("a", result="of a tool that never started")
    dialog.message("goes on")
    dialog.complete()
    assert short(entries_of(dialog)) == ["init", "prompt", "message", "complete"]
    assert "RuntimeError: no text" in capsys.readouterr().err


def test_a_link_in_the_files_place_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "dialog.jsonl").symlink_to(target)
    with DialogWriter() as dialog:
        assert not dialog.log_path.is_symlink()
    assert target.read_text() == "precious"
    assert short(entries_of(dialog)) == ["init", "prompt", "complete"]


# ---- threads and signals ----------------------------------------------------


def test_threads_share_one_order(dialog: DialogWriter) -> None:
    begun(dialog)
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for n in range(25):
            dialog.tool_start(f"{number}-{n}", "bash")
            dialog.message("x", input_tokens=1)
            dialog.tool_result(f"{number}-{n}", result="ok")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    dialog.complete()
    entries = entries_of(dialog)
    assert len(entries) == 2 + 8 * 25 * 3 + 1
    assert (entries[-1]["turns"], entries[-1]["total_tokens"]["in"]) == (200, 200)


def test_a_signal_handler_in_the_middle_of_a_call_waits_its_turn(
    dialog: DialogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(dialog)
    append = dialog._append
    assert append is not None
    handled: list[int] = []

    def handler(number: int, frame: object) -> None:
        handled.append(number)
        dialog.complete("error", message="told to stop")
        dialog.close()

    def interrupted(line: bytes) -> bool:
        if not handled:
            signal.raise_signal(signal.SIGUSR1)
        return append(line)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        monkeypatch.setattr(dialog, "_append", interrupted)
        dialog.message("in the middle")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert handled
    assert short(entries_of(dialog)) == ["init", "prompt", "message", "complete"]


def test_an_interrupted_write_is_neither_lost_nor_repeated(
    dialog: DialogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(dialog)
    append = dialog._append
    assert append is not None

    def interrupted(line: bytes) -> bool:
        append(line)
        monkeypatch.setattr(dialog, "_append", append)
        raise KeyboardInterrupt

    monkeypatch.setattr(dialog, "_append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dialog.message("written")
    dialog.complete("error")
    assert short(entries_of(dialog)) == ["init", "prompt", "message", "complete"]


def test_a_forked_child_writes_nothing(dialog: DialogWriter) -> None:
    begun(dialog)
    pid = os.fork()
    if pid == 0:
        dialog.message("from the child")
        dialog.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    dialog.complete()
    assert short(entries_of(dialog)) == ["init", "prompt", "complete"]


# ---- as a context manager, and at the interpreter's end ---------------------


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("bad value"), "error", "ValueError: bad value"),
        (TimeoutError(), "error", "TimeoutError"),
        (KeyboardInterrupt(), "error", "interrupted"),
        (SystemExit(3), "error", "exit code 3"),
        (SystemExit("no model"), "error", "no model"),
        (SystemExit(0), "success", None),
        (SystemExit(), "success", None),
    ],
    ids=repr,
)
def test_an_exception_completes_and_goes_on(
    error: BaseException, status: str, message: str | None
) -> None:
    dialog = DialogWriter()

    def agent() -> None:
        with dialog:
            begun(dialog).tool_start("a", "bash")
            raise error

    with pytest.raises(type(error)) as raised:
        agent()
    assert raised.value is error
    entries = entries_of(dialog)
    assert short(entries)[2:] == ["running a bash", "error a bash", "complete"]
    assert (entries[-1]["status"], entries[-1].get("message")) == (status, message)


def test_the_end_of_the_block_is_success() -> None:
    with DialogWriter() as dialog:
        begun(dialog)
    last = entries_of(dialog)[-1]
    assert (last["status"], "message" in last) == ("success", False)


def test_the_agents_own_complete_counts() -> None:
    with DialogWriter() as dialog:
        dialog.complete("error", message="mine")
    last = entries_of(dialog)[-1]
    assert (last["status"], last["message"]) == ("error", "mine")


@pytest.mark.parametrize(
    ("end", "code", "message"),
    [
        ("", 0, "the agent ended before the dialog was complete"),
        ("raise KeyError('gone')", 1, "was complete: KeyError: 'gone'"),
        ("raise SystemExit(3)", 3, "the agent ended before the dialog was complete"),
    ],
)
def test_an_interpreter_that_ends_leaves_a_finished_dialog(
    tmp_path: Path, end: str, code: int, message: str
) -> None:
    script = f"""
from agent_wrap import DialogWriter
dialog = DialogWriter()
dialog.tool_start("a", "bash")
{end}
"""
    assert run(script).returncode == code
    data = (tmp_path / "archive" / "dialog.jsonl").read_bytes()
    assert check(data) == []
    last = json.loads(data.splitlines()[-1])
    assert last["status"] == "error"
    assert last["message"].endswith(message)
