"""The drop-in writer: the seed's calls without its faults, never in the agent's way."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import dialog_writer
from agent_wrap.dialog_writer import DialogWriter
from agent_wrap.validate import check

DATA = Path(__file__).parent / "data" / "protocol"
PATH = os.pathsep.join(sys.path)


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_WRAP_RUN", raising=False)
    monkeypatch.setenv("SSE_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.setenv("SSE_MODEL_NAME", "the-model")


@pytest.fixture
def dialog() -> Iterator[DialogWriter]:
    writer = DialogWriter()
    yield writer
    writer.close()


def begun(dialog: DialogWriter) -> DialogWriter:
    dialog.init(task="T", cwd="/w", model="M", agent="A")
    dialog.prompt("P")
    return dialog


def entries_of(dialog: DialogWriter) -> list[dict[str, Any]]:
    """Read what is on disk; finished, it breaks no rule."""
    data = dialog.log_path.read_bytes()
    entries = [json.loads(line) for line in data.splitlines()]
    if any(entry["type"] == "complete" for entry in entries):
        assert check(data) == []
    return entries


def short(entries: list[dict[str, Any]]) -> list[str]:
    return [
        f"{e['status']} {e['tool_id']} {e['name']}"
        if e["type"] == "tool"
        else e["type"]
        for e in entries
    ]


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run an agent of a few lines in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": PATH, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# ---- a drop-in for the reference class --------------------------------------


def test_the_usage_example_of_the_protocol_runs_word_for_word(tmp_path: Path) -> None:
    example = (DATA / "usage_example.py.txt").read_text()
    done = run("from agent_wrap import DialogWriter\n" + example)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    data = (tmp_path / "archive" / "dialog.jsonl").read_bytes()
    assert check(data) == []
    entries = [json.loads(line) for line in data.splitlines()]
    assert short(entries) == [
        "init",
        "prompt",
        "thinking",
        "message",
        "running call_1 bash",
        "success call_1 bash",
        "message",
        "complete",
    ]
    assert entries[0]["data"]["model"] == "the-model"
    assert entries[-1]["status"] == "success"
    assert entries[-1]["turns"] == 2


def test_it_has_the_methods_and_arguments_of_the_reference_class() -> None:
    namespace: dict[str, Any] = {}
    exec((DATA / "reference_writer.py.txt").read_text(), namespace)
    methods = inspect.getmembers(namespace["DialogWriter"], inspect.isfunction)
    public = [(name, method) for name, method in methods if name[0] != "_"]
    assert len(public) == 8
    for name, method in public:
        expected = inspect.signature(method).parameters
        given = inspect.signature(getattr(DialogWriter, name)).parameters
        assert list(given) == list(expected)
        assert [p.default for p in given.values()] == [
            p.default for p in expected.values()
        ]


def test_its_attributes_tell_how_far_it_is(
    dialog: DialogWriter, tmp_path: Path
) -> None:
    begun(dialog)
    dialog.message("one", input_tokens=10, output_tokens=2)
    dialog.message("two", 5)
    dialog.tool_start("a", "bash")
    assert dialog.log_path == tmp_path / "archive" / "dialog.jsonl"
    assert (dialog.seq, dialog.turns) == (5, 2)
    assert (dialog.total_input_tokens, dialog.total_output_tokens) == (15, 2)
    assert dialog.pending_tools == {"a": "bash"}
    assert dialog.start_time > 0
    assert dialog.error == ""


def test_each_entry_is_on_disk_when_its_call_returns(dialog: DialogWriter) -> None:
    begun(dialog)
    assert short(entries_of(dialog)) == ["init", "prompt"]
    dialog.thinking("hm")
    assert short(entries_of(dialog)) == ["init", "prompt", "thinking"]
    dialog.message("hi", input_tokens=3, output_tokens=4)
    assert entries_of(dialog)[-1]["tokens"] == {"in": 3, "out": 4}
    dialog.message("no tokens")
    assert "tokens" not in entries_of(dialog)[-1]


def test_the_archive_may_be_given(tmp_path: Path) -> None:
    with DialogWriter(tmp_path / "a" / "b") as dialog:
        assert dialog.log_path == tmp_path / "a" / "b" / "dialog.jsonl"
    with DialogWriter(archive=str(tmp_path / "a" / "b")) as again:
        again.message("fresh")
    assert short(entries_of(again)) == ["init", "prompt", "message", "complete"]


def test_without_a_place_it_is_the_protocols_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSE_ARCHIVE", "")
    monkeypatch.setenv("AGENT_WRAP_RUN", "1")
    dialog = DialogWriter()
    dialog.close()
    assert str(dialog.log_path) == "/tmp/sse-archive/dialog.jsonl"


# ---- order ------------------------------------------------------------------


def test_what_is_missing_is_supplied(dialog: DialogWriter) -> None:
    dialog.message("hi")
    init, prompt, _ = entries_of(dialog)
    assert init["data"] == {
        "task": "unknown",
        "cwd": str(Path.cwd()),
        "model": "the-model",
        "agent": "unknown",
    }
    assert prompt["content"] == ""


def test_a_prompt_waits_for_init(dialog: DialogWriter) -> None:
    dialog.prompt("P")
    assert entries_of(dialog) == []
    dialog.init("T", "/w", "M", "A")
    assert short(entries_of(dialog)) == ["init", "prompt"]


def test_init_and_prompt_count_once(dialog: DialogWriter) -> None:
    begun(begun(dialog))
    dialog.prompt("another")
    assert short(entries_of(dialog)) == ["init", "prompt"]


def test_no_model_is_none_of_them(
    dialog: DialogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSE_MODEL_NAME", "none")
    dialog.init(task="T", cwd="", model="", agent="A")
    assert entries_of(dialog)[0]["data"]["model"] == "unknown"


def test_nothing_comes_after_complete(dialog: DialogWriter) -> None:
    begun(dialog)
    dialog.complete("timeout", message="late")
    dialog.complete("success")
    dialog.message("late")
    dialog.tool_start("a", "bash")
    dialog.close()
    dialog.close()
    dialog.thinking("later")
    entries = entries_of(dialog)
    assert short(entries) == ["init", "prompt", "complete"]
    assert (entries[-1]["status"], entries[-1]["message"]) == ("timeout", "late")


def test_close_without_complete_is_an_error(dialog: DialogWriter) -> None:
    begun(dialog).close()
    last = entries_of(dialog)[-1]
    assert (last["type"], last["status"]) == ("complete", "error")
    assert "closed before it was complete" in last["message"]


def test_a_status_that_does_not_exist_is_an_error_that_names_it(
    dialog: DialogWriter,
) -> None:
    dialog.complete("failed", message="why")
    last = entries_of(dialog)[-1]
    assert (last["status"], last["message"]) == ("error", "status 'failed': why")


# ---- tools ------------------------------------------------------------------


def test_ids_are_unique_and_results_find_their_start(dialog: DialogWriter) -> None:
    begun(dialog)
    for _ in range(2):
        dialog.tool_start("call", "bash", {"x": 1})
        dialog.tool_result("call", result="ok")
    assert short(entries_of(dialog))[2:] == [
        "running call bash",
        "success call bash",
        "running call#2 bash",
        "success call#2 bash",
    ]


def test_a_result_without_a_start_is_ignored(dialog: DialogWriter) -> None:
    begun(dialog)
    dialog.tool_result("never", result="ok")
    assert short(entries_of(dialog)) == ["init", "prompt"]


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"result": "ok"}, {"status": "success", "result": "ok"}),
        ({}, {"status": "success"}),
        ({"error": "bad"}, {"status": "error", "error": "bad"}),
        ({"error": ""}, {"status": "error", "error": ""}),
        ({"result": "o", "error": "e"}, {"status": "error", "error": "e\no"}),
    ],
)
def test_an_error_is_an_error_also_when_it_is_empty(
    dialog: DialogWriter, given: dict[str, str], fields: dict[str, str]
) -> None:
    dialog.tool_start("a", "bash")
    dialog.tool_result("a", **given)
    entry = entries_of(dialog)[-1]
    assert {key: entry.get(key) for key in fields} == fields
    assert ("result" in entry) == ("result" in fields)


def test_open_tools_are_closed_before_complete(dialog: DialogWriter) -> None:
    begun(dialog)
    dialog.tool_start("a", "bash")
    dialog.tool_start("b", "read")
    dialog.complete()
    assert short(entries_of(dialog))[4:] == ["error a bash", "error b read", "complete"]


# ---- what agents pass -------------------------------------------------------


def test_anything_becomes_a_string(dialog: DialogWriter) -> None:
    anything: Any = {"é": [1, float("nan")]}
    dialog.init(anything, None, 7, b"\xff")  # type: ignore[arg-type]
    dialog.prompt(anything)
    dialog.message("a\0b\ud800")
    dialog.tool_start(7, None, {"x": object, 1: {2}, "deep": nested(500)})  # type: ignore[arg-type,dict-item]
    dialog.tool_result(7, result=anything)  # type: ignore[arg-type]
    dialog.complete(message=anything)
    entries = entries_of(dialog)
    assert dialog.log_path.read_bytes().isascii()
    assert entries[0]["data"]["task"] == '{"é": [1, null]}'
    assert entries[2]["content"] == "a\ufffdb\ufffd"
    assert short(entries)[3:5] == ["running 7 tool", "success 7 tool"]


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("count", [-1, None, "7", float("nan"), float("inf"), 2**70])
def test_a_count_that_is_none_counts_as_nothing(
    dialog: DialogWriter, count: Any
) -> None:
    dialog.message("hi", input_tokens=count, output_tokens=3)
    dialog.complete()
    assert entries_of(dialog)[-1]["total_tokens"] == {"in": 0, "out": 3}


def test_a_message_without_text_only_counts(dialog: DialogWriter) -> None:
    begun(dialog).message("", input_tokens=7, output_tokens=1)
    dialog.complete()
    entries = entries_of(dialog)
    assert short(entries) == ["init", "prompt", "complete"]
    assert (entries[-1]["turns"], entries[-1]["total_tokens"]["in"]) == (1, 7)


CALLS = st.one_of(
    st.tuples(st.just("init"), st.tuples(*[st.text(max_size=3)] * 4)),
    st.tuples(st.sampled_from(["prompt", "message", "thinking"]), st.tuples(st.text())),
    st.tuples(st.just("tool_start"), st.tuples(st.sampled_from("ab"), st.text())),
    st.tuples(
        st.just("tool_result"),
        st.tuples(st.sampled_from("abc"), st.none() | st.text(), st.none() | st.text()),
    ),
    st.tuples(st.just("complete"), st.tuples(st.sampled_from(["success", "odd"]))),
)


@given(st.lists(CALLS, max_size=15))
def test_any_calls_in_any_order_leave_a_dialog_without_a_breach(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, tuple[Any, ...]]]
) -> None:
    dialog = DialogWriter(tmp_path_factory.mktemp("calls"))
    for name, arguments in calls:
        getattr(dialog, name)(*arguments)
    dialog.close()
    assert check(dialog.log_path.read_bytes()) == []


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


# ---- under agent-wrap -------------------------------------------------------


def test_under_agent_wrap_the_entries_are_printed(tmp_path: Path) -> None:
    script = """
import contextlib, io
from agent_wrap import DialogWriter
with DialogWriter() as dialog:
    print("before")
    with contextlib.redirect_stdout(io.StringIO()):
        dialog.message("é")
    print("after")
"""
    done = run(script, AGENT_WRAP_RUN="id")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert (lines[0], lines[4]) == ("before", "after")
    printed = "".join(line + "\n" for line in lines if line[0] == "{").encode()
    assert check(printed) == []
    assert printed.isascii()
    assert not (tmp_path / "archive").exists()


def test_a_reader_that_is_gone_is_no_error_of_the_agent() -> None:
    script = """
import os, sys
from agent_wrap import DialogWriter
read, write = os.pipe()
os.dup2(write, 1)
os.close(write)
os.close(read)
with DialogWriter() as dialog:
    for _ in range(3):
        dialog.message("x")
sys.stderr.write("the agent went on\\n")
sys.stderr.flush()
os._exit(0)
"""
    done = run(script, AGENT_WRAP_RUN="id")
    assert done.returncode == 0
    told, went_on = done.stderr.splitlines()
    assert "BrokenPipeError" in told
    assert went_on == "the agent went on"
