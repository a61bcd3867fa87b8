"""The drop-in writer: the seed's calls without its faults, never in the agent's way."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.dialog_writer import DialogWriter
from agent_wrap.validate import check

from .written import begun, entries_of, run, short

pytestmark = pytest.mark.usefixtures("writers_environment")


DATA = Path(__file__).parent / "data" / "protocol"


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
