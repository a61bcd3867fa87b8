"""`agent-wrap view` of one run: what is seen, what hostile content cannot do."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import cli, entries
from agent_wrap.view import show, words
from agent_wrap.view.facts import Facts

from ..dialogs import RECORDINGS, START, arguments, complete, opening, ts

ARCHIVE = RECORDINGS[0].parent
HOSTILE = (
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil\x1b\\red\x9b31m\r\b\x7f\u202e"
    "[bold]no markup[/bold] [link=http://evil]x[/link] :smile:"
)


def dialog(text: str = "hello", *, end: bool = True) -> list[dict[str, Any]]:
    command, patch = arguments(text)
    found = [
        *opening(text, (12_345, 42)),
        entries.tool_start(4, ts(3), "t1", text, command),
        entries.tool_result(5, ts(7.5), "t1", text, text, ok=True),
        entries.tool_start(6, ts(8), "t2", text, patch),
        entries.tool_result(7, ts(8), "t2", text, text, ok=False),
    ]
    if end:
        found.append(complete(8, text, "error", 1, (12_345, 42)))
    return found


def write(folder: Path, found: list[dict[str, Any]], **summary: Any) -> str:
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps(entry) + "\n" for entry in found)
    (folder / "dialog.jsonl").write_text(lines)
    if summary:
        (folder / "summary.json").write_text(json.dumps(summary))
    return str(folder)


def test_a_run_is_seen(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tokens = {"cached": 10_000}
    archive = write(tmp_path, dialog(), cost_usd=0.5, exit_code=1, tokens=tokens)
    assert cli.main(["view", archive]) == 0
    seen = capfd.readouterr().out
    lines = [line.rstrip() for line in seen.split("\n")]
    assert lines[0] == "● hello · hello · task hello"
    assert "   0:01 ✻ hello" in lines
    assert "        12.3k → 42 tokens" in lines
    assert "   0:03 ▸ hello  hello  hello=hello" in lines
    assert "          ✓ 4.5 s  hello" in lines
    assert lines[9:12] == ["             a", "            -hello", "            +b"]
    assert "12,345 tokens in (10,000 cached) · 42 out · $0.5000 · 1 min 5 s" in seen
    assert "exit 1" in seen
    assert cli.main(["view", f"{archive}/dialog.jsonl"]) == 0
    assert capfd.readouterr().out == seen


@pytest.mark.parametrize("options", [[], ["--plain"], ["--full"]])
@pytest.mark.parametrize("colours", [True, False])
def test_hostile_content_controls_nothing(
    tmp_path: Path,
    options: list[str],
    colours: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
    archive = write(tmp_path, dialog(HOSTILE))
    assert cli.main(["view", archive, *options]) == 0
    seen = capfd.readouterr().out
    if colours and "--plain" not in options:
        assert "\x1b[" in seen
    left = re.sub("\x1b\\[[0-9;]*m", "", seen)  # rich's own colours
    assert all(c.isprintable() or c == "\n" for c in left)
    assert "[bold]no markup[/bold]" in left
    assert ":smile:" in left


def test_colours_say_what_is_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old line\n+new line"
    found = [
        *dialog(end=False),
        entries.tool_start(8, ts(9), "t3", "bash", None),
        entries.tool_result(9, ts(9), "t3", "bash", diff, ok=True),
        entries.tool_start(10, ts(10), "t4", "bash", None),
        entries.tool_result(11, ts(10), "t4", "bash", "one\ntwo", ok=True),
    ]
    assert cli.main(["view", write(tmp_path, found)]) == 0
    seen = capfd.readouterr().out
    for style, text in (
        ("2;3", "✻ hello"),  # dim and italic
        ("31", "    -hello"),
        ("32", "    +b"),
        ("31", "    -old line"),
        ("32", "    +new line"),
        ("36", "    @@ -1 +1 @@"),
        ("2", "    two"),
    ):
        assert f"\x1b[{style}m{text}" in seen, text
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.main(["view", str(tmp_path)]) == 0
    assert not re.search("\x1b\\[3[0-9]m", capfd.readouterr().out)


def test_every_recording_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    for path in RECORDINGS:
        assert cli.main(["view", str(path)]) == 0, path
    assert capfd.readouterr().err == ""


def test_without_rich_it_is_plain(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(show, "has_rich", lambda: False)
    assert cli.main(["view", str(ARCHIVE)]) == 0
    fallback = capfd.readouterr().out
    assert cli.main(["view", "--plain", str(ARCHIVE)]) == 0
    assert capfd.readouterr().out == fallback


def test_what_is_unknown_is_left_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    start = entries.init(0, ts(0), task="", cwd="", model="", agent="one")
    assert cli.main(["view", write(tmp_path, [start])]) == 0
    lines = capfd.readouterr().out.split("\n")
    assert [line.strip() for line in lines[:2]] == ["● one", "2026-01-15 10:30:00 UTC"]


@pytest.mark.parametrize("option", [[], ["--plain"]])
def test_tokens_and_a_prompt_that_are_unknown_are_left_out(
    tmp_path: Path, option: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    found = [
        entries.init(0, ts(0), task="", cwd="/src", model="", agent="one"),
        entries.prompt(1, ts(0), ""),
        entries.complete(
            *(2, ts(1)), status="success", turns=1, duration_ms=900, tokens=(0, 0)
        ),
    ]
    assert cli.main(["view", write(tmp_path, found), *option]) == 0
    lines = capfd.readouterr().out.strip().split("\n")
    assert lines[0] == "● one"
    assert lines[2:] == ["■ success · 1 turn · 0.9 s"]


def test_an_unfinished_run_is_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["view", write(tmp_path, dialog(end=False))]) == 0
    assert "unfinished" in capfd.readouterr().out.split("\n")[-2]


def test_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    archive = write(tmp_path, dialog(), cost_usd=0.5, exit_code=1)
    assert cli.main(["view", "--json", archive]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["status"], found["cost_usd"], found["exit_code"]) == ("error", 0.5, 1)
    assert (found["tools"], found["tools_failed"], found["entries"]) == (2, 1, 9)
    assert found["timeline"][5]["elapsed_ms"] == 7500
    unfinished = write(tmp_path, dialog(end=False))
    assert cli.main(["view", "--json", unfinished]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["status"], found["duration_ms"]) == ("unfinished", 8000)
    assert found["exit_code"] is None


def test_bad_input_is_one_line_and_code_2(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing").touch()
    (tmp_path / "garbage").write_bytes(b"\xff\x00 no json\n" * 2000)
    (tmp_path / "native").write_text('{"type":"system","model":"m"}\n')
    (tmp_path / "folder" / "dialog.jsonl").mkdir(parents=True)
    for name in ("missing", "empty", "nothing", "garbage", "native", "folder", "a\0b"):
        for option in ([], ["--json"], ["--plain"]):
            assert cli.main(["view", str(tmp_path / name), *option]) == 2, name
            seen = capfd.readouterr()
            assert seen.out == ""
            assert seen.err.startswith("agent-wrap: ")
            assert seen.err.count("\n") == 1
    for words_ in (
        ["--follow", "--json", str(ARCHIVE)],
        ["--follow", str(ARCHIVE.parent.parent)],
        ["--sort", "turns", str(ARCHIVE)],
    ):
        assert cli.main(["view", *words_]) == 2
        assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing", "empty", "missing/dialog.jsonl"])
def test_following_where_no_run_has_begun(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert cli.main(["view", "--follow", str(tmp_path / name)]) == 2
    seen = capfd.readouterr()
    assert seen.out == ""
    assert "no run has begun here" in seen.err
    assert seen.err.count("\n") == 1


def test_a_torn_dialog_is_shown_and_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = RECORDINGS[0].read_bytes()
    torn = tmp_path / "dialog.jsonl"
    torn.write_bytes(data[:-20])
    assert cli.main(["view", str(torn)]) == 2
    seen = capfd.readouterr()
    assert seen.out.startswith("●")
    assert f"line {data.count(10)} is torn" in seen.err
    assert seen.err.count("\n") == 1


@pytest.mark.parametrize("option", [[], ["--plain"]])
def test_follow_shows_a_run_while_it_is_written(
    tmp_path: Path, option: list[str]
) -> None:
    lines = [json.dumps(entry) + "\n" for entry in dialog()]
    path = tmp_path / "dialog.jsonl"
    path.write_text(lines[0] + lines[1][:20])  # the last line is torn
    command = [sys.executable, *["-m", "agent_wrap", "view", "--follow"], *option]
    with subprocess.Popen(
        [*command, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        watchdog = threading.Timer(15, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert process.stdout.readline().startswith("●")
        with path.open("a") as file:
            file.write(lines[1][20:])
            file.flush()
            process.stdout.readline()
            assert "hello" in process.stdout.readline()
            file.write("".join(lines[2:-1]) + lines[-1][:10])
            file.flush()
            time.sleep(0.2)
            assert process.poll() is None
            file.write(lines[-1][10:])
        rest = process.stdout.read()
        assert process.wait() == 0
        watchdog.cancel()
    assert "■ error" in rest


@pytest.mark.parametrize("option", [[], ["--plain"]])
def test_a_reader_that_leaves_early_is_no_error(
    tmp_path: Path, option: list[str]
) -> None:
    text = "word " * 40
    found = [entries.message(number, ts(number), text) for number in range(3000)]
    command = [sys.executable, *("-m", "agent_wrap", "view"), *option]
    with subprocess.Popen(
        [*command, write(tmp_path, found)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(15) == 128 + signal.SIGPIPE


def test_the_footer_says_how_far() -> None:
    facts = Facts()
    for entry in dialog()[:5]:
        facts.feed(entry)
    said = show.running(facts, START + 10)
    assert said.split(" · ") == [
        *(" 10 s", "1 message", "1 tool", "12.3k → 42 tokens", "hello for 7.0 s ")
    ]


@pytest.mark.parametrize(
    ("elapsed", "clock", "duration"),
    [
        (0, "0:00", "0.0 s"),
        (7.26, "0:07", "7.3 s"),
        (9.96, "0:09", "10 s"),
        (65, "1:05", "1 min 5 s"),
        (3723, "1:02:03", "1 h 2 min"),
    ],
)
def test_times(elapsed: float, clock: str, duration: str) -> None:
    assert (words.clock(elapsed), words.duration(elapsed)) == (clock, duration)


def test_a_text_is_cut_in_its_middle() -> None:
    assert words.shortened("abcdefghij", 10) == "abcdefghij"
    assert words.shortened("abcdefghij", 7) == "ab…ghij"
    assert words.shortened("abcdefghij", 1) == "…"


def test_numbers() -> None:
    assert [words.short(n) for n in (950, 9004, 12_345, 999_949, 4_500_000)] == [
        *("950", "9,004", "12.3k", "999.9k", "4.5M")
    ]
    assert [words.cost(c) for c in (None, 0.0, 0.01234, 12.345)] == [
        *("", "$0.0000", "$0.0123", "$12.35")
    ]
