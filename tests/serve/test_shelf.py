"""`agent-wrap view --web`: dialogs on disk as sessions that can be read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from agent_wrap import entries
from agent_wrap.serve.archived import QUIET

from ..harness import Run, scripted, wait_for, wrapper
from .client import ListParser, Stream, get
from .viewed import TS, Viewed, begin, end, write


def test_a_finished_dialog(tmp_path: Path) -> None:
    tool = [
        entries.tool_start(3, TS, "t1", "bash", {"command": "make"}),
        entries.tool_result(4, TS, "t1", "bash", "no rule", ok=False),
    ]
    said = entries.message(2, TS, "I try", (10, 5))
    write(tmp_path / "a", [*begin(), said, *tool, end(5)])
    (tmp_path / "a" / "summary.json").write_text('{"cost_usd": 0.25}')
    with Viewed(tmp_path, tmp_path / "a") as viewed:
        (session,) = viewed.sessions
        assert session["title"] == "Fix it"
        assert (session["model"], session["runtime"]) == ("m-1", "an-agent")
        assert (session["outcome"], session["cwd"]) == ("success", "/src")
        with viewed.open(session["id"]) as stream:
            stream.until_kind("snapshot")
            snapshot = stream.frames[0].data
        asked, answer = snapshot["messages"]
        assert asked["content"] == "Fix it"
        assert [part["type"] for part in answer["parts"]] == ["text", "tool_call"]
        assert answer["parts"][1]["status"] == "error"
        assert snapshot["inProgressTurn"] is None
        assert snapshot["status"]["cost"] == 0.25
        assert snapshot["status"]["contextUsage"]["totalTokens"] == 10
        path = f"/api/sessions/{session['id']}/events?after={snapshot['cursor']}"
        assert get(viewed.port, path)[0] == 204
        assert get(viewed.port, "/")[0] == 200
        assert get(viewed.port, "/", host="evil.example")[0] == 403
        features = json.loads(get(viewed.port, "/api/features")[2])
        assert set(features.values()) == {False}


def test_a_dialog_is_followed_while_it_is_written(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    write(archive, begin())
    with Viewed(tmp_path, archive / "dialog.jsonl") as viewed:
        (session,) = viewed.sessions
        assert session["outcome"] == "running"
        with viewed.open(session["id"]) as stream:
            stream.until_kind("snapshot")
            assert stream.frames[0].data["status"]["lifecycle"] == "streaming"
            write(archive, [entries.message(2, TS, "Hello")])
            stream.until_kind("text_delta")
            write(archive, [end(3, "timeout", "it took too long")])
            stream.until_kind("turn_end")
        error = next(e for e in stream.events if e["type"] == "error")
        assert (error["code"], error["message"]) == ("timeout", "it took too long")
        assert viewed.sessions[0]["outcome"] in ("running", "timeout")


def test_a_run_is_followed_to_the_word_of_its_summary(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    steps = ("init", "text=Hello", f"until={gate}", "result")
    with Run(tmp_path, scripted(*steps), "--adapter", "claude-code") as run:
        run.until_message("Hello")
        with Viewed(tmp_path, run.archive) as viewed:
            with viewed.open(viewed.sessions[0]["id"]) as stream:
                stream.until_kind("snapshot")
                gate.touch()
                stream.until_kind("turn_end")
            assert stream.events[-1]["terminalReason"] == "completed"
        assert run.wait() == 0


def test_a_dialog_that_nobody_writes_any_more_has_an_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a", begin())
    long_ago = time.time() - 2 * QUIET
    os.utime(path, (long_ago, long_ago))
    with Viewed(tmp_path, path) as viewed:
        assert viewed.sessions[0]["outcome"] == "unfinished"
        with viewed.open(viewed.sessions[0]["id"]) as stream:
            stream.until_kind("snapshot")
        snapshot = stream.frames[0].data
        assert snapshot["inProgressTurn"] is None
        assert "cut off" in snapshot["messages"][1]["parts"][0]["message"]
        # It was repaired: whoever comes now is told the truth.
        write(tmp_path / "a", [end(2, "error", "the wrapper was killed")])
        with viewed.open(viewed.sessions[0]["id"]) as stream:
            stream.until_kind("snapshot")
        parts = stream.frames[0].data["messages"][1]["parts"]
        assert [part["message"] for part in parts] == ["the wrapper was killed"]


def test_a_folder_is_a_list_that_follows(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    write(folder / "one", [*begin(asked="First"), end(2)])
    write(folder / "deep" / "two", [*begin(asked="Second"), end(2, "error")])
    (folder / "none").mkdir()
    (folder / "none" / "dialog.jsonl").mkdir()
    with Viewed(tmp_path, folder) as viewed:
        told = {s["title"]: s["outcome"] for s in viewed.sessions}
        assert told == {"one · First": "success", "deep/two · Second": "error"}
        with Stream(viewed.port, "/api/events", parser=ListParser()) as stream:
            stream.until_kind("connected")
            write(folder / "three", begin(asked="Third"))
            stream.until_kind("session_upserted")
            assert stream.events[-1]["session"]["title"] == "three · Third"
            (folder / "one" / "dialog.jsonl").unlink()
            stream.until_kind("session_removed")
        assert len(viewed.sessions) == 2


def test_a_run_that_is_replaced_is_told_anew(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    path = write(archive, begin(asked="old"))
    with Viewed(tmp_path, archive) as viewed:
        session = viewed.sessions[0]["id"]
        with viewed.open(session) as stream:
            stream.until_kind("snapshot")
            path.unlink()
            write(archive, begin(asked="new"))
            stream.to_end()  # a browser comes again
        with viewed.open(session) as stream:
            stream.until_kind("snapshot")
        turn = stream.frames[0].data["inProgressTurn"]
        assert turn[0]["userMessage"] == "new"


def test_a_browser_is_opened_when_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "a", [*begin(), end(2)])
    told, browser = tmp_path / "told", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" >{told}\n')
    browser.chmod(0o700)
    with Viewed(tmp_path, tmp_path / "a", "--open", BROWSER=str(browser)) as viewed:
        wait_for(lambda: told.exists() and told.read_text() == viewed.url, "a browser")


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        ("empty", (), "no dialog.jsonl in it"),
        ("missing", (), "No such file"),
        ("dialog", ("--listen", "0.0.0.0:0"), "others can reach"),
        ("dialog", ("--listen", "nonsense"), "HOST:PORT"),
        ("dialog", ("--json",), "--json is for the terminal"),
    ],
)
def test_what_cannot_be_shown(
    tmp_path: Path, make: str, options: tuple[str, ...], said: str
) -> None:
    path = tmp_path / "x"
    if make == "empty":
        path.mkdir()
    if make == "dialog":
        write(path, begin())
    done = wrapper("view", "--web", *options, str(path))
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
