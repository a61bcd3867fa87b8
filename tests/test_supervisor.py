"""The run: what ends it decides its status; the clocks; the record while it lasts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .harness import (
    SOON,
    WRAPPER,
    Run,
    child,
    in_one_of_few,
    run,
    run_all,
    scripted,
    wait_for,
)

CLAUDE = ("--adapter", "claude-code")
GOOD = ("init", "text=Hi", "result")


LIMITS = ("--timeout", "1", "--kill-grace", "0.2", "--echo", "none")


def outcome(done: Run) -> tuple[str, int | None, str]:
    return done.complete["status"], done.code, done.summary["reason"]


# How the agent's own end decides

ENDS: dict[str, tuple[tuple[str, ...], tuple[str, int, str], str]] = {
    "good": (GOOD, ("success", 0, "completed"), ""),
    "good, exit 3": ((*GOOD, "exit=3"), ("success", 3, "completed"), "code 3"),
    "good, exit 200": ((*GOOD, "exit=200"), ("success", 200, "completed"), "code 200"),
    "good, killed": ((*GOOD, "kill=SIGKILL"), ("success", 137, "completed"), "SIGKILL"),
    "bad, exit 0": (("init", "error=no luck"), ("error", 1, "agent_error"), "no luck"),
    "bad, exit 4": (
        ("error=no luck", "exit=4"),
        ("error", 4, "agent_error"),
        "no luck",
    ),
    "no end": (("init", "text=Hi"), ("error", 1, "no_final_event"), "final event"),
    "no end, exit 7": (("text=Hi", "exit=7"), ("error", 7, "agent_exit"), "code 7"),
    "nothing": ((), ("error", 1, "no_final_event"), "final event"),
    "nothing, exit 1": (("exit=1",), ("error", 1, "agent_exit"), "code 1"),
    "crash": (("init", "kill=SIGSEGV"), ("error", 139, "agent_killed"), "SIGSEGV"),
    "abort": (("init", "kill=SIGABRT"), ("error", 134, "agent_killed"), "SIGABRT"),
    "its own SIGTERM": (("kill=SIGTERM",), ("error", 143, "agent_killed"), "SIGTERM"),
    "half a line": (
        ("init", 'raw={"type": "assi', "kill=SIGKILL"),
        ("error", 137, "agent_killed"),
        "SIGKILL",
    ),
    "half an end": (
        ("init", 'raw={"type": "result", "is_er'),
        ("error", 1, "no_final_event"),
        "",
    ),
    "end without line feed": (
        (
            "init",
            "text=Hi",
            'raw={"type": "result", "subtype": "success", "result": "ok"}',
        ),
        ("success", 0, "completed"),
        "",
    ),
    "open tool": (
        ("init", "tool=t1", "kill=SIGKILL"),
        ("error", 137, "agent_killed"),
        "SIGKILL",
    ),
    "stdout closed, lives on": (
        (*GOOD[:2], "close=1", "sleep=0.3", "exit=5"),
        ("error", 5, "agent_exit"),
        "code 5",
    ),
}


def test_the_agents_own_end_decides(tmp_path: Path) -> None:
    names = list(ENDS)
    patient = (*CLAUDE, "--result-grace", "20", "--drain-grace", "20")
    for at in range(0, len(names), 6):  # a few at a time: all at once is a load
        some = names[at : at + 6]
        done = run_all(
            tmp_path, {name: (scripted(*ENDS[name][0]), patient) for name in some}
        )
        for name in some:
            _, expected, said = ENDS[name]
            assert (name, *outcome(done[name])) == (name, *expected)
            assert said in done[name].complete.get("message", "")
            assert done[name].seconds < SOON


def test_text_promises_no_end(tmp_path: Path) -> None:
    done = run_all(
        tmp_path,
        {
            "good": (scripted(r"raw=all fine\n"), ()),
            "bad": (scripted(r"raw=oh no\n", "exit=2"), ()),
            "silent": (scripted(), ()),
            "half a character": (scripted(r"raw=caf\xc3", "exit=0"), ()),
        },
    )
    assert outcome(done["good"]) == ("success", 0, "completed")
    assert outcome(done["bad"]) == ("error", 2, "agent_exit")
    assert outcome(done["silent"]) == ("success", 0, "completed")
    assert done["silent"].types == ["init", "prompt", "complete"]
    assert done["half a character"].messages == ["caf\N{REPLACEMENT CHARACTER}"]
    assert done["half a character"].raw == b"caf\xc3"


def test_strict_names_what_is_unknown(tmp_path: Path) -> None:
    steps = ("init", 'event={"type": "brand_new"}', "text=Hi")
    done = run_all(
        tmp_path,
        {
            "strict": (scripted(*steps, "result"), (*CLAUDE, "--strict")),
            "lenient": (scripted(*steps, "result"), CLAUDE),
            "strict and bad": (scripted(*steps, "error=no"), (*CLAUDE, "--strict")),
            "strict and well": (scripted(*GOOD), (*CLAUDE, "--strict")),
        },
    )
    assert outcome(done["strict"])[:2] == ("success", 3)
    assert "brand_new" in done["strict"].complete["message"]
    assert done["strict"].summary["unknown_events"] == {"brand_new": 1}
    assert outcome(done["lenient"])[:2] == ("success", 0)
    assert outcome(done["strict and bad"])[:2] == ("error", 1)
    assert outcome(done["strict and well"])[:2] == ("success", 0)


# The clocks

HANG = "sleep=60"
STUBBORN = [
    *("sh", "-c"),
    "trap '' INT; trap 'touch told' TERM; echo Hi; while :; do sleep 1; done",
]
"""An agent that goes on, and leaves a file when it is told to end."""


def test_limits_of_time(tmp_path: Path) -> None:
    quick = (*CLAUDE, "--kill-grace", "0.3")
    done = run_all(
        tmp_path,
        {
            "wall": (scripted("init", "tool=t1", HANG), (*quick, "--timeout", "1.2")),
            "first": (scripted("tick=20"), (*quick, "--first-output-timeout", "0.5")),
            "idle": (
                scripted("init", "text=Hi", "tick=20"),
                (*quick, "--idle-timeout", "0.5"),
            ),
            "after a tool": (
                scripted("init", "tool=t1", "done=t1", "tick=20"),
                (*quick, "--idle-timeout", "0.5"),
            ),
            "closed stdout": (
                scripted("init", "close=1", "close=2", HANG),
                (*quick, "--timeout", "0.6"),
            ),
        },
    )
    assert outcome(done["wall"]) == ("timeout", 124, "timeout")
    assert "1.2 s" in done["wall"].complete["message"]
    tool = done["wall"].entries[-2]
    assert (tool["status"], tool["tool_id"]) == ("error", "t1")
    assert "timed out" in tool["error"]
    assert done["wall"].summary["tools"]["closed_by_wrapper"] == 1
    assert outcome(done["first"]) == ("timeout", 124, "first_output_timeout")
    assert outcome(done["idle"]) == ("timeout", 124, "idle_timeout")
    assert outcome(done["after a tool"]) == ("timeout", 124, "idle_timeout")
    assert outcome(done["closed stdout"]) == ("timeout", 124, "timeout")
    for each in done.values():
        assert each.seconds < SOON


def test_clocks_that_must_stand_still(tmp_path: Path) -> None:
    # Generous: the start of an interpreter on a busy machine counts as idle, too.
    idle = (*CLAUDE, "--idle-timeout", "2")
    tool = ("init", "tool=t1", "sleep=2.4", "done=t1", "text=Hi", "result")
    steady = ("init", *("text=on", "sleep=0.2") * 12, "result")
    done = run_all(
        tmp_path,
        {
            "a tool is open": (scripted(*tool), idle),
            "progress": (scripted(*steady), idle),
            "output came": (
                scripted("init", "sleep=2.4", "result"),
                (*CLAUDE, "--first-output-timeout", "2"),
            ),
        },
    )
    for name, each in done.items():
        assert (name, *outcome(each)) == (name, "success", 0, "completed")


def test_an_agent_that_hangs_after_its_end_has_succeeded(tmp_path: Path) -> None:
    done = run_all(
        tmp_path,
        {
            "result grace": (scripted(*GOOD, HANG), (*CLAUDE, "--result-grace", "0.3")),
            "wall clock": (scripted(*GOOD, HANG), (*CLAUDE, "--timeout", "2.5")),
            "bad end": (
                scripted("init", "error=no", HANG),
                (*CLAUDE, "--result-grace", "0.3"),
            ),
            "no grace": (scripted(*GOOD, HANG), (*CLAUDE, "--result-grace", "0")),
            "idle": (
                scripted(*GOOD, HANG),
                (*CLAUDE, "--idle-timeout", "2", "--result-grace", "2.3"),
            ),
        },
    )
    bad = done.pop("bad end")
    assert outcome(bad) == ("error", 1, "agent_error")
    for name, each in done.items():
        assert (name, *outcome(each)) == (name, "success", 0, "completed")
        assert each.seconds < SOON
        assert each.summary["agent_exit"] == {"code": None, "signal": "SIGTERM"}


def test_what_comes_after_a_limit_is_kept_and_decides_nothing(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        scripted("flush=last words", "init", "text=Hi", HANG),
        *CLAUDE,
        *("--timeout", "1.2"),
    )
    assert outcome(done) == ("timeout", 124, "timeout")
    assert done.messages == ["Hi", "last words"]
    assert done.summary["agent_exit"] == {"code": 0, "signal": None}


def test_the_containers_timeout_leaves_a_margin(tmp_path: Path) -> None:
    """SSEBench sends SIGKILL at TIMEOUT seconds: all must be over before."""
    started = in_one_of_few(
        lambda: run(tmp_path, child("stubborn_tree"), env={"TIMEOUT": "2"}),
        lambda done: done.seconds < 2,
    )
    assert outcome(started) == ("timeout", 124, "timeout")
    assert "limit of 1 s" in started.complete["message"]
    assert started.seconds < 2
    ignored = run_all(
        tmp_path,
        {
            "earlier": (scripted(HANG), ("--timeout", "0.3")),
        },
    )
    assert "0.3 s" in ignored["earlier"].complete["message"]


def test_a_flood_does_not_hold_up_the_clock(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        child("flood", 1, 10**12),
        *CLAUDE,
        *("--timeout", "0.5", "--echo", "none"),
    )
    assert outcome(done) == ("timeout", 124, "timeout")
    assert done.seconds < SOON


def test_a_flood_of_short_lines_does_not_hold_up_the_clock(tmp_path: Path) -> None:
    """Each line costs far more than its bytes: what is read at once must be little."""
    done = run_all(
        tmp_path,
        {
            line: (scripted("init", *["many=" + line] * 20, HANG), (*CLAUDE, *LIMITS))
            for line in ("", "x", "{}")
        },
    )
    for line, each in done.items():
        assert (line, *outcome(each)) == (line, "timeout", 124, "timeout")
        assert each.seconds < SOON, line


def test_waking_up_is_no_reason_to_live_on(tmp_path: Path) -> None:
    done = run(
        tmp_path, scripted(*GOOD, "init", HANG), *CLAUDE, "--result-grace", "0.3"
    )
    assert outcome(done) == ("success", 0, "completed")
    assert done.seconds < SOON


def test_a_skipped_line_is_told(tmp_path: Path) -> None:
    long = "text=" + "x" * 3000
    done = run(tmp_path, scripted("init", long), *CLAUDE, "--max-line-bytes", "2000")
    assert any("over the limit" in note for note in done.summary["notes"])


# Stop signals


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_stop_signal(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with Run(tmp_path, scripted("init", "tool=t1", HANG), *CLAUDE) as started:
        started.until(lambda: "tool" in started.types, "a tool")
        started.stop(number)
        assert started.problems() == []
    assert outcome(started) == ("error", 128 + number, "stopped")
    assert name in started.complete["message"]
    assert "stopped" in started.entries[-2]["error"]


def test_a_stop_signal_to_the_whole_group(tmp_path: Path) -> None:
    """What `timeout(1)`, a terminal and most job runners do."""
    with Run(tmp_path, scripted("init", "text=Hi", HANG), *CLAUDE) as started:
        started.until_message("Hi")
        os.killpg(started.process.pid, signal.SIGINT)
        started.end()
    assert outcome(started) == ("error", 130, "stopped")


def test_a_stop_signal_after_the_end_changes_nothing(tmp_path: Path) -> None:
    with Run(tmp_path, scripted(*GOOD, HANG), *CLAUDE) as started:
        # The final event leaves no entry; what is read is kept and understood at once.
        started.until(lambda: b'"type": "result"' in started.raw, "the end")
        started.stop()
        assert started.problems() == []
    assert outcome(started) == ("success", 0, "completed")


def test_a_limit_then_a_signal_is_the_limit(tmp_path: Path) -> None:
    options = ("--timeout", "1", "--kill-grace", "20")
    with Run(tmp_path, STUBBORN, *options) as started:
        started.until((started.folder / "told").exists, "SIGTERM")
        started.stop()
        assert started.problems() == []
    assert outcome(started) == ("timeout", 124, "timeout")
    assert started.seconds < SOON


def test_a_second_signal_hurries(tmp_path: Path) -> None:
    with Run(tmp_path, STUBBORN, "--kill-grace", "20") as started:
        started.until(lambda: started.raw, "output")
        begun = time.monotonic()
        started.process.send_signal(signal.SIGTERM)
        started.until((started.folder / "told").exists, "SIGTERM")
        started.stop(signal.SIGINT)
        assert time.monotonic() - begun < SOON
        assert started.problems() == []
    assert outcome(started) == ("error", 143, "stopped")
    assert {kill["signal"] for kill in started.summary["killed"]} == {"SIGKILL"}


def test_a_signal_at_any_moment_of_the_start(tmp_path: Path) -> None:
    """Before our first line there is no run; after it there is a whole dialog."""
    whole = 0
    late = (0.3, 1.0, 3.0)
    for delays in ((0.0, 0.01, 0.02, 0.04), (0.06, 0.08, 0.1, 0.15), late):
        if delays is late and whole:  # it is for a busy machine
            break
        started = [Run(tmp_path, scripted("init", HANG), *CLAUDE) for _ in delays]
        for delay, each in zip(delays, started, strict=True):
            time.sleep(max(each.started + delay - time.monotonic(), 0))
            each.process.send_signal(signal.SIGTERM)
        for each in started:
            with each:
                code = each.wait()
                assert each.alive() == {}
                if each.archive.exists() or code > 0:
                    assert code == 143
                    assert each.problems() == []
                    whole += 1
                else:
                    assert code == -signal.SIGTERM
    assert whole


def test_a_signal_that_the_caller_ignores(tmp_path: Path) -> None:
    """`nohup agent-wrap ...` must survive the end of its terminal."""

    def prepare() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    steps = ("init", "text=Hi", "until=go", "result")
    with Run(tmp_path, scripted(*steps), *CLAUDE, prepare=prepare) as started:
        started.until_message("Hi")
        started.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)  # that nothing happens cannot be waited on
        (started.folder / "go").touch()
        started.end()
    assert outcome(started) == ("success", 0, "completed")


def test_a_caller_that_ignores_sigterm_can_stop_the_run(tmp_path: Path) -> None:
    def prepare() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with Run(
        tmp_path, scripted("init", "text=Hi", HANG), *CLAUDE, prepare=prepare
    ) as r:
        r.until_message("Hi")
        r.process.send_signal(signal.SIGTERM)
        r.end()
    assert outcome(r) == ("error", 143, "stopped")
    assert r.seconds < SOON


def test_an_agent_that_kills_its_parent_stops_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, scripted("init", "text=Hi", "parent=SIGTERM", HANG), *CLAUDE)
    assert outcome(done) == ("error", 143, "stopped")


# The record while the run lasts


def test_init_is_there_within_a_second_of_silence(tmp_path: Path) -> None:

    def seconds_to_init() -> float:
        with Run(tmp_path, scripted("until=go")) as started:
            started.until(lambda: started.entries, "init")
            return time.monotonic() - started.started

    soon = 1.3  # the start of python included
    assert in_one_of_few(seconds_to_init, lambda took: took < soon) < soon
    with Run(tmp_path, scripted("until=go", *GOOD)) as started:
        started.until(lambda: started.entries, "init")
        assert started.types == ["init"]
        data = started.entries[0]["data"]
        assert (data["model"], data["agent"], data["task"]) == ("unknown",) * 3
        assert data["cwd"] == str(started.folder)
        (started.folder / "go").touch()
        started.end()
    assert started.types == ["init", "prompt", "message", "complete"]
    assert started.entries[1]["content"] == ""
    assert started.summary["model"] == "scripted-model"
    assert started.summary["adapter"]["detected_by"] == "stream"
    assert started.summary["agent"] == "claude-code"


def test_known_first_entries_are_there_before_the_agent(tmp_path: Path) -> None:
    seen = tmp_path / "archive" / "dialog.jsonl"
    done = run(
        tmp_path,
        scripted("init", f"respond={seen}", "result"),
        *CLAUDE,
        *("--model", "m", "--task", "CVE-1", "--prompt", "fix it", "--agent", "mine"),
        archive=tmp_path / "archive",
    )
    first = [json.loads(line) for line in done.messages[0].splitlines()]
    assert first == done.entries[:2]
    assert first[0]["data"] == {
        "task": "CVE-1",
        "cwd": str(done.folder),
        "model": "m",
        "agent": "mine",
    }
    assert first[1]["content"] == "fix it"


def test_entries_are_there_while_the_agent_runs(tmp_path: Path) -> None:
    steps = ("init", "text=one", "tool=t1", "until=a", "done=t1", "until=b", "result")
    with Run(tmp_path, scripted(*steps), *CLAUDE) as started:
        started.until(lambda: "tool" in started.types, "a tool")
        assert started.types == ["init", "prompt", "message", "tool"]
        assert started.dialog.endswith(b"}\n")
        (started.folder / "a").touch()
        started.until(lambda: started.types.count("tool") == 2, "a result")
        assert not (started.archive / "summary.json").exists()
        (started.folder / "b").touch()
        started.end()
    assert started.types.count("complete") == 1


def test_text_is_there_before_its_paragraph_ends(tmp_path: Path) -> None:
    with Run(tmp_path, scripted(r"raw=Working on it\n", "until=go")) as started:
        started.until_message("Working on it")
        (started.folder / "go").touch()
        started.end()
    assert started.messages == ["Working on it"]


def test_the_raw_streams_are_kept_byte_for_byte(tmp_path: Path) -> None:
    odd = r"raw=\xff\xfe\x00 caf\xc3"
    done = run(
        tmp_path,
        scripted(
            odd, r"raw=\xa9 \u001b[31mred\r\n\n", "err=careful", r"raw=tail\xe2\x82"
        ),
    )
    kept = b"\xff\xfe\x00 caf\xc3\xa9 \x1b[31mred\r\n\ntail\xe2\x82"
    assert done.raw == kept
    assert done.stdout == kept
    assert (done.archive / "stderr.log").read_bytes() == b"careful\n"
    assert "careful\n" in done.stderr
    assert "caf\N{LATIN SMALL LETTER E WITH ACUTE} red" in done.messages[0]
    assert done.dialog.isascii()


def test_lines_over_the_limit_are_counted_and_passed_over(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        scripted("init", "text=" + "x" * 3000, "text=short", "result"),
        *CLAUDE,
        *("--max-line-bytes", "2000"),
    )
    assert done.messages == ["short"]
    assert done.summary["lines"]["unparsable"] == 1
    endless = run(
        tmp_path,
        child("flood", 1, 8_000_000, "--endless"),
        "--max-line-bytes",
        "100000",
    )
    assert endless.messages == ["flood over"]
    assert len(endless.raw) > 8_000_000


def test_a_flood_of_stderr(tmp_path: Path) -> None:
    done = run(tmp_path, child("flood", 2, 3_000_000))
    assert done.messages == ["flood over"]
    assert (done.archive / "stderr.log").stat().st_size == 3_000_000


# The prompt's way to the agent


def prompt_of(done: Run) -> str:
    assert done.types[:2] == ["init", "prompt"]
    return str(done.entries[1]["content"])


def argv_of(done: Run) -> list[str]:
    return [bytes.fromhex(word).decode() for word in done.told["argv"]]


def test_the_prompts_way(tmp_path: Path) -> None:
    given = ("--prompt", "fix {it}\n\N{SNOWMAN}")
    text = given[1]
    inside = child("inside", "--read")
    done = run_all(
        tmp_path,
        {
            "argv": (child("inside", "a{prompt}b"), given),
            "file": (child("inside", "{prompt_file}"), given),
            "stdin": (inside, (*given, "--prompt-via", "stdin")),
            "none": (
                child("inside", "{prompt}", "--read"),
                (*given, "--prompt-via", "none"),
            ),
            "auto": (inside, given),
            "argv without a mark": (inside, (*given, "--prompt-via", "argv")),
            "no prompt": (child("inside", "{prompt}"), ()),
        },
    )
    assert argv_of(done["argv"]) == [f"a{text}b"]
    path = argv_of(done["file"])[0]
    assert Path(path).parent == done["file"].archive
    assert Path(path).read_text() == text
    assert done["stdin"].told["stdin"] == text
    assert argv_of(done["none"]) == ["{prompt}", "--read"]
    assert done["none"].stderr == ""
    assert done["auto"].told["stdin"] == ""
    for name in ("auto", "argv without a mark"):
        assert "only recorded" in done[name].stderr
        assert done[name].stderr.count("\n") == 1
    assert argv_of(done["no prompt"]) == ["{prompt}"]
    assert prompt_of(done.pop("no prompt")) == ""
    for each in done.values():
        assert prompt_of(each) == text


def test_prompts_from_files_and_stdin(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes(b"\xef\xbb\xbfstray \xff byte")
    done = run(
        tmp_path,
        child("inside", "--read"),
        "--prompt-file",
        str(file),
        "--prompt-via",
        "stdin",
    )
    text = "stray \N{REPLACEMENT CHARACTER} byte"
    assert (prompt_of(done), done.told["stdin"]) == (text, text)
    with file.open("rb") as stdin:
        done = run(
            tmp_path, child("inside", "--read"), "--prompt-file", "-", stdin=stdin
        )
    assert (prompt_of(done), done.told["stdin"]) == (text, "")


def test_a_prompt_that_is_not_read(tmp_path: Path) -> None:
    """Larger than any pipe, to an agent that never reads or closes its stdin."""
    file = tmp_path / "prompt.txt"
    file.write_text("please " * 200_000)
    options = ("--prompt-file", str(file), "--prompt-via", "stdin", *CLAUDE)
    done = run_all(
        tmp_path,
        {
            "never read": (scripted(*GOOD), options),
            "closed": (scripted("close=0", "init", "sleep=0.2", "result"), options),
        },
    )
    for each in done.values():
        assert outcome(each) == ("success", 0, "completed")
        assert len(prompt_of(each)) == 1_400_000
    echoed = run(tmp_path, ["wc", "-c"], *options[:4])
    assert echoed.messages == ["1400000"]


def fake_claude(folder: Path) -> str:
    """Make a program that an adapter names; it tells its argv and reads its stdin."""
    program = folder / "claude"
    inside = " ".join(child("inside", "--read"))
    program.write_text(f'#!/bin/sh\nexec {inside} "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_a_program_that_an_adapter_names(tmp_path: Path) -> None:
    claude = fake_claude(tmp_path)
    done = run_all(
        tmp_path,
        {
            "adapted": ([claude, "-p", "Hi", "--model", "opus"], ()),
            "prompt": ([claude], ("--prompt", "do it")),
            "left alone": ([claude, "-p", "Hi"], ("--no-adapt",)),
            "by env": (["env", "A=1", claude, "-p", "Hi"], ()),
        },
    )
    adapted = done["adapted"]
    assert "stream-json" in argv_of(adapted)
    assert "added for claude-code" in adapted.stderr
    assert adapted.entries[0]["data"]["model"] == "opus"
    assert adapted.entries[0]["data"]["agent"] == "claude-code"
    assert adapted.summary["adapter"]["detected_by"] == "program"
    assert prompt_of(adapted) == "Hi"
    assert done["prompt"].told["stdin"].strip() == "do it"
    assert prompt_of(done["prompt"]) == "do it"
    assert argv_of(done["left alone"])[1:] == ["-p", "Hi"]
    assert prompt_of(done["left alone"]) == "Hi"
    assert "stream-json" in argv_of(done["by env"])


# Limits of what is used


def test_limits_of_use(tmp_path: Path) -> None:
    talk = ("init", "text=1", "text=2", "text=3", "text=4", HANG)
    done = run_all(
        tmp_path,
        {
            "turns": (scripted(*talk), (*CLAUDE, "--max-turns", "2")),
            "tokens": (scripted(*talk), (*CLAUDE, "--max-tokens", "20")),
            "not exceeded": (
                scripted("init", "text=1", "text=2", "result"),
                (*CLAUDE, "--max-turns", "2", "--max-tokens", "30"),
            ),
        },
    )
    assert outcome(done["turns"]) == ("error", 1, "turn_limit")
    assert "more than 2 turns" in done["turns"].complete["message"]
    assert outcome(done["tokens"]) == ("error", 1, "token_limit")
    assert outcome(done["not exceeded"]) == ("success", 0, "completed")


def test_a_limit_of_tokens_for_an_agent_that_reports_none(tmp_path: Path) -> None:
    """A limit that cannot be kept is said once, and loudly."""
    done = run(tmp_path, scripted(r"raw=text only\n\nmore\n"), "--max-tokens", "5")
    said = [line for line in done.stderr.splitlines() if "max-tokens" in line]
    assert len(said) == 1


# What an agent does to its own record


@pytest.mark.parametrize("how", ["remove", "truncate", "replace"])
def test_a_record_destroyed_by_the_agent(tmp_path: Path, how: str) -> None:
    archive = tmp_path / "archive"
    done = run(
        tmp_path,
        child("vandal", how, archive),
        *("--adapter", "plain"),
        archive=archive,
    )
    assert outcome(done) == ("success", 0, "completed")
    assert done.stdout == b"before\n\nafter\n\n"
    assert done.messages == ["before", "after"]
    assert not (archive / "dialog.jsonl").is_symlink()
    assert any("restored" in note for note in done.summary["notes"])
    assert os.stat("/dev/null").st_size == 0


def test_a_full_disk(tmp_path: Path) -> None:
    """Whole lines only, the loss is counted, and the agent goes on."""

    def prepare() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    with Run(tmp_path, child("flood", 1, 40_000), prepare=prepare) as started:
        assert started.wait() == 0
        assert started.dialog.endswith(b"}\n")
        assert started.types[-1] == "complete"
        summary = started.summary
        assert summary["entries_lost"] > 0
        assert summary["entries"] == len(started.entries)
        assert "could not be written" in summary["message"]
        names = {path.name for path in started.archive.iterdir()}
        assert names == {"dialog.jsonl", "stdout.log", "stderr.log", "summary.json"}


# The place of the run


def test_the_agents_folder(tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    done = run(tmp_path, child("inside"), "--cwd", str(place))
    assert done.told["cwd"] == str(place)
    assert done.entries[0]["data"]["cwd"] == str(place)
    assert list(place.iterdir()) == []
    with Run(
        tmp_path, child("inside"), "--cwd", "work", "--archive", "out", cwd=tmp_path
    ) as relative:
        relative.archive = tmp_path / "out"
        relative.end()
    assert relative.told["cwd"] == str(place)
    assert relative.entries[0]["data"]["cwd"] == str(place)


def test_nothing_is_written_outside_the_archive(tmp_path: Path) -> None:
    done = run(tmp_path, scripted(*GOOD), *CLAUDE, "--prompt", "Hi")
    assert sorted(path.name for path in done.folder.iterdir()) == [
        "archive",
        "stderr",
        "stdout",
    ]
    assert sorted(path.name for path in done.archive.iterdir()) == [
        "dialog.jsonl",
        "stderr.log",
        "stdout.log",
        "summary.json",
    ]


def test_a_shell_that_runs_it_in_the_background(tmp_path: Path) -> None:
    """Exit codes and output as a script sees them."""
    archive = tmp_path / "archive"
    command = " ".join(scripted(*GOOD[:2], "exit=9"))
    program = f"{WRAPPER} --archive {archive} --"
    script = f"{program} {command} | wc -l; {program} sh -c 'exit 5' & wait $!; echo $?"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stdout.split() == ["2", "5"]
    wait_for((archive / "summary.json").exists, "the summary")
    summary: dict[str, Any] = json.loads((archive / "summary.json").read_text())
    assert summary["exit_code"] == 5
