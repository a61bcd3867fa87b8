"""The run: how the agent's own end decides, and where all of it takes place."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from .harness import (
    SOON,
    WRAPPER,
    Run,
    child,
    run,
    run_all,
    scripted,
    wait_for,
)
from .whole_runs import CLAUDE, GOOD, outcome

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
