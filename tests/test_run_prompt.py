"""The prompt's way to the agent, and the adapter that knows it."""

from __future__ import annotations

from pathlib import Path

from .harness import (
    Run,
    child,
    run,
    run_all,
    scripted,
)
from .whole_runs import CLAUDE, GOOD, outcome


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
