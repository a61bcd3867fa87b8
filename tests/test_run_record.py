"""The record while the run lasts: at once, whole, and against its own agent."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from .harness import (
    Run,
    child,
    in_one_of_few,
    run,
    scripted,
)
from .whole_runs import CLAUDE, GOOD, outcome


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
