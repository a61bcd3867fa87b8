"""The command `agent-wrap serve`: its keys, and what it refuses."""

from __future__ import annotations

import uuid
from pathlib import Path

from ..harness import child, wrapper
from .turns import PLAY, Starter


def serve(*words: str) -> tuple[int, str]:
    done = wrapper("serve", *words)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_keys(start: Starter, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    assert serve("keys", "list", "--data", data) == (0, "")
    code, key = serve("keys", "add", "me", "--data", data)
    assert (code, len(key.strip())) == (0, 43)
    assert key.strip() not in (tmp_path / "data" / "keys.json").read_text()
    assert serve("keys", "add", "me", "--data", data)[0] == 2
    assert serve("keys", "remove", "you", "--data", data)[0] == 2
    assert serve("keys", "add", "--data", data)[0] == 2
    server = start(PLAY)
    path = f"/api/sessions/{uuid.uuid4()}/messages"
    assert server.post(path, {"content": "x"})[1]["code"] == "AUTH_REQUIRED"
    good = {"Authorization": f"Bearer {key.strip()}"}
    assert server.post(path, {"content": "x"}, **good)[0] == 202
    assert serve("keys", "remove", "me", "--data", data) == (0, "")
    assert server.post(path, {"content": "x"}, **good)[0] == 401


def test_what_is_refused(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    for words, said in (
        (("--listen", "0.0.0.0:0", "--", "true"), "serve keys add"),
        (("--listen", "nonsense", "--", "true"), "HOST:PORT"),
        (("--archive", "x", "--", "true"), "--archive is not for serve"),
        (("--no-such-option", "--", "true"), "unknown option"),
        (("--timeout", "x", "--", "true"), "--timeout"),
        (("--root", "/no/such", "--", "true"), "no such folder"),
        (("--next-command", "'", "--", "true"), "--next-command"),
        ((), "no command"),
    ):
        code, text = serve(*data, *words)
        assert (code, said in text) == (2, True), text


def test_one_data_folder_is_for_one_server(start: Starter, tmp_path: Path) -> None:
    start(PLAY)
    code, text = serve(
        *("--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"), "--", "true")
    )
    assert (code, "another server has it" in text) == (125, True)


def test_options_of_a_run_apply_to_each_turn(start: Starter, session: str) -> None:
    slow = child("scripted", "init", "sleep=600")
    server = start(slow, "--timeout", "1")
    with server.open(session) as stream:
        server.message(session, "x")
        stream.until_kind("turn_end")
        [error] = [e for e in stream.events if e["type"] == "error"]
        assert error["code"] == "timeout"
        with server.open(session) as cold:
            shown = cold.frames[0].data["status"]
        assert shown["lifecycle"] == "error"
        assert shown["lastError"]["message"] == error["message"]
        assert server.message(session, "again")[0] == 202  # it is free
        stream.until_count("turn_start", 2)
        with server.open(session) as cold:
            shown = cold.frames[0].data["status"]
        assert (shown["lifecycle"], shown["lastError"]) == ("streaming", None)
