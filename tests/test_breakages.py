"""Ways in which runs were broken on purpose, and must end whole all the same."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import agent_wrap
from agent_wrap.dialog import Dialog
from agent_wrap.events import ToolFinished, ToolStarted

from .harness import run, wrapper

INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
OK = {"type": "result", "subtype": "success", "is_error": False, "result": "ok"}
CLAUDE = ("--adapter", "claude-code")


def says(folder: Path, *events: dict[str, Any]) -> list[str]:
    """Give an agent that prints these events."""
    stream = folder / "stream.jsonl"
    stream.write_text("".join(json.dumps(event) + "\n" for event in events))
    return ["cat", str(stream)]


def uses(tool: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_use", "id": tool, "name": name, "input": arguments}
    return {"type": "assistant", "message": {"id": "a", "content": [block]}}


def test_a_pipe_in_place_of_the_prompt_holds_up_nobody(tmp_path: Path) -> None:
    command = ["sh", "-c", 'rm "$1"; mkfifo "$1"; exit 4', "sh", "{prompt_file}"]
    done = run(tmp_path, command, "--prompt", "x")
    assert (done.code, done.summary["reason"]) == (4, "agent_exit")


def limited(size: int) -> Any:
    """Give what allows the files of a run this many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_long_last_word_fits_into_what_a_full_disk_leaves(tmp_path: Path) -> None:
    bad = {**OK, "subtype": "error_during_execution", "is_error": True}
    agent = says(tmp_path, INIT, {**bad, "result": "E" * 100_000})
    done = run(tmp_path, agent, *CLAUDE, prepare=limited(64 * 1024))
    assert done.complete["status"] == "error"
    assert "EEE" in done.complete["message"]


def test_open_tools_with_long_names_are_closed_on_a_full_disk(tmp_path: Path) -> None:
    wide = "\N{GRINNING FACE}" * 128
    agent = says(
        tmp_path, INIT, *(uses(f"{n:03}{wide[3:]}", wide, {}) for n in range(150)), OK
    )
    done = run(tmp_path, agent, *CLAUDE, prepare=limited(512 * 1024))
    assert "could not be written" in done.complete["message"]


def test_many_short_arguments_are_cut_as_one_long_text_is(tmp_path: Path) -> None:
    script = (
        "import json\n"
        f"print(json.dumps({INIT!r}))\n"
        f"print(json.dumps({uses('1', 'Bash', {})!r}).replace("
        "'{}', json.dumps({'x': list(range(2_000_000))})))\n"
        f"print(json.dumps({OK!r}))"
    )
    done = run(tmp_path, [sys.executable, "-c", script], *CLAUDE)
    assert len(done.dialog) < 4_000_000


def test_one_id_for_all_tools_costs_no_more_than_an_id_each() -> None:
    def seconds(ids: list[str]) -> float:
        dialog = Dialog(task="t", cwd="/", model="m", agent="a", prompt="x")
        began = time.process_time()
        for tool in ids:
            dialog.apply(ToolStarted(tool, "Bash"), 1.0)
            dialog.apply(ToolFinished(tool, "ok"), 1.0)
        return time.process_time() - began

    calls = 6_000  # by the square of it, the one id took fifty times as long
    assert seconds(["t"] * calls) < 10 * seconds([f"t{n}" for n in range(calls)]) + 0.5


def test_a_secret_that_a_cut_would_halve_is_replaced_before(tmp_path: Path) -> None:
    secret = "sk-live-" + "".join(chr(97 + n % 26) for n in range(113))
    prompt = tmp_path / "long.txt"
    prompt.write_text((secret + " ") * 100_000)
    env = {"MY_API_KEY": secret}
    options = ("--prompt-file", str(prompt), "--prompt-via", "none")
    done = run(tmp_path, ["true"], *options, env=env)
    assert b"characters cut" in done.dialog
    assert b"abcdefgh" not in done.dialog


def test_repair_leaves_no_prompt_that_nobody_has_cleaned(tmp_path: Path) -> None:
    init = {"task": "t", "cwd": "/", "model": "m", "agent": "a"}
    entries = [
        {"seq": 0, "ts": "2026-01-15T10:30:00", "type": "init", "data": init},
        {"seq": 1, "ts": "2026-01-15T10:30:00.5+00:00", "type": "prompt"},
    ]
    lines = "".join(json.dumps({**e, "content": "x"}) + "\n" for e in entries)
    (tmp_path / "dialog.jsonl").write_text(lines)
    (tmp_path / "prompt.txt").write_text("a secret, perhaps")
    os.mkfifo(tmp_path / "stdout.log")
    done = wrapper("repair", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (tmp_path / "prompt.txt").exists()


@pytest.mark.parametrize(
    "call",
    [
        {"command": ["echo", "x" * 200_000]},
        {"command": ["echo", "a\0b"]},
        {"command": ["echo", "\ud800"]},
        {"command": ["echo"], "task": "a\0b"},
    ],
)
def test_what_no_program_can_be_given_is_a_usage_error(
    tmp_path: Path, call: dict[str, Any]
) -> None:
    with pytest.raises(agent_wrap.UsageError):
        agent_wrap.run(**call, archive=str(tmp_path / "archive"))


def test_too_few_descriptors_give_no_traceback(tmp_path: Path) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))

    done = run(tmp_path, ["sh", "-c", "exit 5"], prepare=few)
    assert done.code == 125
    assert "Traceback" not in done.stderr
    assert done.types[-1] == "complete"


def test_whatever_stands_in_the_way_the_dialog_is_restored(tmp_path: Path) -> None:
    script = (
        "echo hi; mkdir $SSE_ARCHIVE/.dialog.jsonl.part $SSE_ARCHIVE/summary.json;"
        "sleep 0.6; rm $SSE_ARCHIVE/dialog.jsonl; sleep 0.6; exit 7"
    )
    done = run(tmp_path, ["sh", "-c", script])
    assert (done.code, done.messages) == (7, ["hi"])


def test_a_file_in_place_of_the_archive_is_moved_away(tmp_path: Path) -> None:
    script = "echo hi; sleep 0.6; rm -rf $SSE_ARCHIVE; echo x >$SSE_ARCHIVE; sleep 0.6"
    done = run(tmp_path, ["sh", "-c", script])
    assert done.messages == ["hi"]


def test_an_agent_that_stops_its_supervisor_stops_no_limit(tmp_path: Path) -> None:
    script = "sleep 0.3; kill -STOP $PPID; sleep 60"
    done = run(tmp_path, ["sh", "-c", script], "--timeout", "1.5", "--kill-grace", "1")
    assert (done.code, done.complete["status"]) == (124, "timeout")
    assert done.seconds < 20


def test_a_log_that_could_not_be_written_is_said(tmp_path: Path) -> None:
    script = "head -c 200000 /dev/zero | tr '\\0' x"
    done = run(tmp_path, ["sh", "-c", script], prepare=limited(64 * 1024))
    assert any("stdout.log lacks" in note for note in done.summary["notes"])


def test_an_archive_can_be_named_in_place_of_its_dialog(tmp_path: Path) -> None:
    done = run(tmp_path, ["true"])
    assert wrapper("validate", str(done.archive)).returncode == 0
    assert wrapper("validate", str(tmp_path)).returncode == 2
