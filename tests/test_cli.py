"""The command line as people meet it: help, subcommands, every way to get it wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_wrap.cli import COMMANDS, main
from agent_wrap.options import OPTIONS
from agent_wrap.version import __version__

from .harness import PATIENCE, WRAPPER, Run, child, run, scripted, wrapper

INIT = {"task": "t", "cwd": "/", "model": "m", "agent": "a"}
TS = "2025-01-15T10:30:00+00:00"
WHOLE: list[dict[str, object]] = [
    {"seq": 0, "ts": TS, "type": "init", "data": INIT},
    {"seq": 1, "ts": TS, "type": "prompt", "content": "p"},
    {
        "seq": 2,
        "ts": TS,
        "type": "complete",
        "status": "success",
        "turns": 0,
        "duration_ms": 1,
        "total_tokens": {"in": 0, "out": 0},
    },
]


def write_dialog(path: Path, *entries: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


# Help


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"agent-wrap {__version__}\n"
    for words in (["--help"], ["-h"], ["--strict", "--help"]):
        assert main(words) == 0
        told = capsys.readouterr()
        assert told.err == ""
        for name in COMMANDS:
            assert f"  {name} " in told.out
        for option in OPTIONS:
            assert (option.flag in told.out) == bool(option.help)


def test_no_words_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "usage: agent-wrap" in told.err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_subcommand_has_its_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: agent-wrap {name}" in capsys.readouterr().out


# What is wrong, in one line that helps


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["claude", "-p", "Hi"], "agent-wrap -- claude -p Hi"),
        (["runn"], "no subcommand 'runn'. To run"),
        (["vew", "x"], "no subcommand 'vew'. Did you mean view? To run"),
        (["help"], "Did you mean --help? "),
        (["--timout", "3", "--", "true"], "--timout. Did you mean --timeout? The"),
        (["--strict"], "no command to run"),
        (["--"], "no command to run"),
        (["--bogus", "--", "true"], "unknown option --bogus"),
        (["--timeout", "soon", "--", "true"], "--timeout: 'soon'"),
        (["--prompt-file", "/no/such", "--", "true"], "--prompt-file /no/such"),
        (["--config", "/no/such", "--", "true"], "--config /no/such"),
        (["--adapter", "no-such", "--", "true"], "Known: "),
        (["--adapter", "no.such:Thing", "--", "true"], "no.such:Thing"),
        (["--adapter", "os:getcwd", "--", "true"], "no method feed"),
        (["--adapter", "os:", "--", "true"], "os:"),
        (["replay", "/no/such"], "/no/such: No such file"),
        (["replay", "/"], "/: Is a directory"),
        (["replay", "--adapter", "no-such", "/dev/null"], "Known: "),
        (["replay", "-o", "/no/such/file", "/dev/null"], "/no/such/file: No such file"),
        (["validate", "/no/such"], "/no/such: No such file"),
        (["validate", "/"], "/: Is a directory"),
        (["repair", "/no/such"], "/no/such"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use(words: list[str], said: str, tmp_path: Path) -> None:
    done = wrapper(*words, env={"SSE_ARCHIVE": str(tmp_path / "archive")}, cwd=tmp_path)
    expected = 125 if words[0] == "repair" else 2
    assert done.returncode == expected
    assert said in done.stderr.decode()
    assert done.stderr.startswith(b"agent-wrap: ")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []  # nothing was begun


@pytest.mark.parametrize(
    "words", [["validate"], ["replay"], ["replay", "--exit-code", "x", "-"]]
)
def test_wrong_use_of_a_subcommand(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: agent-wrap" in capsys.readouterr().err


def test_words_that_are_not_utf8() -> None:
    for words in (
        (b"\xff",),
        (b"--task\xff", b"x"),
        (b"--prompt-file", b"/\xff", b"--", b"true"),
    ):
        done = wrapper(*words)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr
        assert b"\\udcff" in done.stderr


def test_an_archive_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = wrapper("--archive", str(tmp_path / "file"), "--", "true")
    assert done.returncode == 125
    assert b"must be a folder" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_the_module_is_the_same_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agent_wrap"]
    done = subprocess.run([*command, "--version"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    words = ["--archive", str(tmp_path / "a"), "--", "sh", "-c", "exit 5"]
    assert subprocess.run([*command, *words], check=False).returncode == 5


def test_plain_words_from_a_container(tmp_path: Path) -> None:
    """The container joins the words with spaces: all else comes from a file."""
    config = tmp_path / "run.toml"
    script = "printf 'two words\\n'; exit 4"
    words = json.dumps(["sh", "-c", script])
    config.write_text(f'command = {words}\narchive = "{tmp_path / "a"}"\n')
    done = wrapper(env={"AGENT_WRAP_CONFIG": str(config)}, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (4, b"two words\n")
    done = wrapper("--config", str(config))
    assert (done.returncode, done.stdout) == (4, b"two words\n")


# Output that nobody reads, or that cannot be encoded


@pytest.mark.parametrize("words", [["--help"], ["adapters"], ["--version"]])
def test_a_reader_that_is_gone(words: list[str]) -> None:
    reader, fd = os.pipe()
    os.close(reader)
    try:
        done = wrapper(*words, stdout=fd)
    finally:
        os.close(fd)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_names_that_cannot_be_encoded(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    with open(name, "wb") as file:
        file.write(b'{"seq": 0, "type": "\\ud800", "ts": "\\udfff"}\n')
    for env in ({}, {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = wrapper(b"validate", name, env=env)
        assert b"Traceback" not in done.stderr
        assert done.returncode == 1
        assert b":1: " in done.stdout


# Subcommands


def test_validate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = write_dialog(tmp_path / "whole", *WHOLE)
    promptless = write_dialog(tmp_path / "promptless", WHOLE[0], {**WHOLE[2], "seq": 1})
    torn = write_dialog(tmp_path / "torn", *WHOLE[:2])
    link = tmp_path / "link"
    link.symlink_to(whole)
    assert main(["validate", whole]) == 0
    assert "conforms, 3 entries" in capsys.readouterr().out
    assert main(["validate", promptless]) == 0
    assert "warning" in capsys.readouterr().out
    assert main(["validate", torn, whole]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"{torn}:")
    assert told[-1].startswith(f"{whole}: conforms")
    assert main(["validate", str(link)]) == 1
    assert main(["validate", torn, "/no/such"]) == 2


def test_replay(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    done = run(
        tmp_path, scripted("init", "text=Hi", "result"), "--adapter", "claude-code"
    )
    stream = tmp_path / "recorded" / "stdout.jsonl"
    stream.parent.mkdir()
    stream.write_bytes(done.raw)
    assert main(["replay", str(stream)]) == 0
    entries = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [entry["type"] for entry in entries] == done.types
    assert entries[2]["content"] == "Hi"
    for words, code in ((["--exit-code", "3"], 3), (["--exit-code", "-9"], 137)):
        assert main(["replay", str(stream), *words]) == code
    (stream.parent / "meta.json").write_text('{"exit_code": 7}')
    out = tmp_path / "out.jsonl"
    assert main(["replay", str(stream), "-o", str(out), "--prompt", "p"]) == 7
    assert json.loads(out.read_text().splitlines()[1])["content"] == "p"
    assert main(["replay", str(stream), "--adapter", "plain", "--exit-code", "0"]) == 0
    with stream.open("rb") as stdin:
        piped = wrapper("replay", "-", stdin=stdin)
    assert piped.returncode == 0
    assert len(piped.stdout.splitlines()) == 4


def test_adapters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapters"]) == 0
    told = capsys.readouterr().out
    for name in ("claude-code", "codex", "dialog", "plain"):
        assert f"\n{name}\n" in f"\n{told}"
    assert "broken" not in told


def test_demo(tmp_path: Path) -> None:
    done = wrapper("demo", cwd=tmp_path)
    told = done.stdout.decode()
    assert done.returncode == 0, told
    assert "Traceback" not in done.stderr.decode()
    assert "conforms" in told
    assert "All tests pass now." in told
    (folder,) = tmp_path.iterdir()
    assert {path.name for path in folder.iterdir()} == {
        *("dialog.jsonl", "summary.json", "stdout.log", "stderr.log"),
    }


def test_a_folder_with_python_files_of_its_own(tmp_path: Path) -> None:
    """The working folder is the user's: nothing in it is imported."""
    for name in ("orjson", "anyio", "json", "queue", "agent_wrap"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    done = wrapper("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"imported" not in done.stdout + done.stderr
    for words in (["adapters"], ["--archive", "a", "--", "true"]):
        assert wrapper(*words, cwd=tmp_path).returncode == 0


# Repair


def test_repair(tmp_path: Path) -> None:
    steps = ("init", "text=Hi", "tool=t1", "sleep=60")
    with Run(tmp_path, scripted(*steps), "--adapter", "claude-code") as started:
        started.until(lambda: "tool" in started.types, "a tool")
        raw = started.archive / "stdout.log"  # written after the entries
        started.until(lambda: b"t1" in raw.read_bytes(), "the raw line of it")
        busy = wrapper("repair", str(started.archive))
        assert busy.returncode == 125
        assert b"in use" in busy.stderr
        # Stopped first, the guardian before whom it would resume: else the supervisor
        # may be quicker than the kill, and end the dialog by itself.
        for pid in (started.process.pid, *started.alive()):
            os.kill(pid, signal.SIGSTOP)
        started.kill()
    with (started.archive / "dialog.jsonl").open("ab") as dialog:
        dialog.write(b'{"seq": 4, "ts": "torn')
    assert not (started.archive / "summary.json").exists()
    done = wrapper("repair", str(started.archive))
    assert (done.returncode, done.stderr) == (0, b"")
    assert started.types == ["init", "prompt", "message", "tool", "tool", "complete"]
    assert wrapper("validate", str(started.archive / "dialog.jsonl")).returncode == 0
    end = started.complete
    assert (end["turns"], end["total_tokens"]) == (2, {"in": 20, "out": 10})
    assert "stdout.log" in end["message"]
    assert started.summary["reason"] == "wrapper_killed"
    assert started.summary["started_at"] == started.entries[0]["ts"]
    before = started.dialog
    again = wrapper("repair", str(started.archive))
    assert again.returncode == 0
    assert started.dialog == before


def test_repair_of_what_is_whole(tmp_path: Path) -> None:
    done = run(tmp_path, child("inside"))
    before, summary = done.dialog, done.summary
    assert wrapper("repair", str(done.archive)).returncode == 0
    assert (done.dialog, done.summary) == (before, summary)


# An interrupt while nothing runs yet


def test_an_interrupt_of_a_subcommand(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with (
        subprocess.Popen(
            [WRAPPER, "replay", str(fifo)], stderr=subprocess.PIPE
        ) as process,
        fifo.open("wb"),
    ):  # opens once it reads
        process.send_signal(2)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in said
