"""`agent-wrap --serve`: the live session of one run, which the run does not feel."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_wrap.errors import UsageError
from agent_wrap.serve import listener

from ..harness import PYTHON, Run, run, scripted, wait_for, wrapper
from .client import Stream, get

KEY = "a-key-of-some-length"


class ServedRun(Run):
    """A run whose live session is served."""

    def __init__(
        self,
        folder: Path,
        *steps: str,
        options: tuple[str, ...] = (),
        command: Sequence[str] = (),
    ) -> None:
        self.announced = folder / "announced.json"
        super().__init__(
            folder,
            command or scripted(*steps),
            *("--adapter", "claude-code", "--serve", "127.0.0.1:0"),
            *("--serve-announce", str(self.announced), *options),
        )
        self.until(self.announced.exists, "the port is told")
        told = json.loads(self.announced.read_text())
        self.port, self.session = told["port"], told["session"]

    def __enter__(self) -> ServedRun:
        return self

    def open(self, **how: Any) -> Stream:
        path = f"/api/sessions/{self.session}/events"
        return Stream(self.port, path, **how).until_kind("snapshot")


def test_from_the_first_event_to_the_last(tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = ("init", f"until={go}", "text=Hello", "tool=t1", "done=t1", "result")
    with ServedRun(tmp_path, *steps, options=("--prompt", "Hi")) as served:
        with served.open() as stream:
            turn = stream.frames[0].data["inProgressTurn"]
            assert turn[0]["userMessage"] == "Hi"
            go.touch()
            stream.to_end()
        served.end()
    kinds = [kind for kind in stream.kinds if kind != "status_change"]
    assert kinds == ["snapshot", "text_delta", "tool_call", "tool_result", "turn_end"]
    assert stream.events[-1]["terminalReason"] == "completed"
    assert served.messages == ["Hello"]
    assert f"live session: http://127.0.0.1:{served.port}/" in served.stderr


ENDS = {
    "no end": (("exit=0",), (), 1, "error", "error"),
    "crash": (("kill=SIGSEGV",), (), 139, "error", "error"),
    "agent's error": (("error=no luck",), (), 1, "error", "error"),
    "time": (("sleep=60",), ("--timeout", "2"), 124, "error", "error"),
}


@pytest.mark.parametrize("name", ENDS)
def test_bad_ends_are_told_as_they_are(tmp_path: Path, name: str) -> None:
    steps, options, code, reason, lifecycle = ENDS[name]
    go = tmp_path / "go"
    lingers = ("--serve-linger", "30", *options)
    with ServedRun(tmp_path, "init", f"until={go}", *steps, options=lingers) as served:
        with served.open() as stream:
            go.touch()
            stream.until_kind("turn_end")
            assert stream.kinds.count("turn_end") == 1
            assert stream.kinds[-1] == "turn_end"
            said = next(e for e in stream.events if e["type"] == "error")
        # The dialog is complete before the session's end is told.
        assert served.complete["message"] == said["message"]
        if name != "time":
            path = f"/api/sessions/{served.session}/messages"
            [answer] = json.loads(get(served.port, path)[2])["messages"]
            assert answer["parts"][-1]["message"] == said["message"]
            with served.open() as late:
                shown = late.frames[0].data["status"]
            assert shown["lifecycle"] == lifecycle
            assert shown["lastError"]["message"] == said["message"]
            served.process.send_signal(signal.SIGTERM)
        served.end()
    assert stream.events[-1]["terminalReason"] == reason
    assert served.code == code


def test_an_end_that_is_told_twice_is_one(tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = ("init", f"until={go}", "text=Hello", "result=a", "result=b", "exit=1")
    with ServedRun(tmp_path, *steps) as served:
        with served.open() as stream:
            go.touch()
            stream.to_end()
        served.end()
    assert stream.kinds.count("turn_end") == 1


def test_a_stop_signal_ends_the_run_without_lingering(tmp_path: Path) -> None:
    options = ("--serve-linger", "600")
    with ServedRun(tmp_path, "init", "tool=t1", "sleep=60", options=options) as served:
        served.until(lambda: "tool" in served.types, "a tool")
        with served.open() as stream:
            assert served.stop() == 143
            stream.to_end()
        served.end()
    assert stream.events[-1]["terminalReason"] == "aborted_tools"
    assert served.complete["status"] == "error"


def test_a_stop_signal_ends_the_lingering(tmp_path: Path) -> None:
    options = ("--serve-linger", "600")
    with ServedRun(tmp_path, "init", "text=Hi", "result", options=options) as served:
        served.until(lambda: "complete" in served.types, "the end")
        served.until(lambda: (served.archive / "summary.json").exists(), "the summary")
        with served.open() as stream:
            wait_for(lambda: _finished(served), "the end to be told")
            assert served.stop() == 0
            stream.to_end()
        served.end()


def _finished(served: ServedRun) -> bool:
    path = f"/api/sessions/{served.session}/messages"
    return bool(json.loads(get(served.port, path)[2])["messages"])


def test_lingering_does_not_outlast_the_time_limit(tmp_path: Path) -> None:
    options = ("--serve-linger", "600", "--timeout", "2")
    with ServedRun(tmp_path, "init", "text=Hi", "result", options=options) as served:
        served.end()
    assert served.code == 0


FLOOD = """
import json, os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for number in range(20_000):
    block = {"type": "text", "text": "x" * 200}
    message = {"id": f"m{number}", "role": "assistant", "content": [block]}
    print(json.dumps({"type": "assistant", "message": message}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False}))
"""


def has(stream: Stream, count: int) -> bool:
    return len(stream.frames) > count


def test_readers_that_sleep_do_not_hold_up_the_run(tmp_path: Path) -> None:
    go = tmp_path / "go"
    flood = [*PYTHON, "-c", FLOOD, str(go)]
    options = ("--serve-linger", "60")  # for whoever is awake, and slow
    with (
        ServedRun(tmp_path, command=flood, options=options) as served,
        ExitStack() as s,
    ):
        for _ in range(20):
            s.enter_context(served.open(buffer=1 << 14))
        awake = s.enter_context(served.open())
        go.touch()
        for half in (10_000, 20_000):
            awake.until(partial(has, awake, half))
        awake.until(lambda: awake.frames[-1].event == "turn_end")
        assert awake.kinds.count("text_delta") == 20_000
        served.process.terminate()
        served.end()  # within patience, and the dialog is whole
        assert len(served.messages) == 20_000


def test_a_command_that_cannot_be_started(tmp_path: Path) -> None:
    done = run(tmp_path, ["/no/such/program"], "--serve", "127.0.0.1:0")
    assert done.code == 127


def test_secrets_stay_out_of_the_stream(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with Run(
        tmp_path,
        scripted("init", f"until={go}", "text=it is hunter2-hunter2", "result"),
        *("--adapter", "claude-code", "--serve", "127.0.0.1:0"),
        *(
            "--serve-announce",
            str(tmp_path / "told"),
            "--prompt",
            "hunter2-hunter2",
        ),
        env={"SOME_API_KEY": "hunter2-hunter2"},
    ) as started:
        wait_for((tmp_path / "told").exists, "the port")
        told = json.loads((tmp_path / "told").read_text())
        path = f"/api/sessions/{told['session']}/events"
        _, _, listed = get(told["port"], "/api/sessions")
        with Stream(told["port"], path) as stream:
            stream.until_kind("snapshot")
            go.touch()
            stream.to_end()
        started.end()
    shown = listed + b"".join(frame.raw for frame in stream.frames)
    assert b"hunter2" not in shown
    assert shown.count(b"[redacted:SOME_API_KEY]") >= 3


# What is refused before anything has run


def refused(tmp_path: Path, *words: str) -> str:
    archive = tmp_path / "archive"
    done = wrapper(
        "--archive", str(archive), *words, "--", "touch", str(tmp_path / "ran")
    )
    assert done.returncode == 2
    assert not archive.exists()
    assert not (tmp_path / "ran").exists()
    return done.stderr.decode()


@pytest.mark.parametrize(
    "address",
    ["", "4242", ":4242", "localhost", "localhost:x", "h:70000", "::1:80", "[]:1"],
)
def test_bad_addresses(tmp_path: Path, address: str) -> None:
    assert "--serve" in refused(tmp_path, f"--serve={address}")


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_an_address_that_others_reach_needs_a_key(tmp_path: Path, host: str) -> None:
    said = refused(tmp_path, "--serve", f"{host}:0")
    assert "others can reach" in said or "Address family" in said


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused(tmp_path, "--serve", f"127.0.0.1:{taken.getsockname()[1]}")
    assert "Address already in use" in said


def test_a_host_that_does_not_exist(tmp_path: Path) -> None:
    assert "--serve" in refused(tmp_path, "--serve", "no-such-host.invalid:1")


def test_bad_keys(tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("abc\n")
    for path in (short, tmp_path / "missing", tmp_path):
        said = refused(
            tmp_path, "--serve", "127.0.0.1:0", "--serve-key-file", str(path)
        )
        assert "--serve-key-file" in said


def test_with_a_key_any_address_is_served(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY + "\n")
    options = ("--serve-key-file", str(tmp_path / "key"), "--serve", "0.0.0.0:0")
    with ServedRun(tmp_path, "init", "sleep=60", options=options) as served:
        path = f"/api/sessions/{served.session}/events"
        assert get(served.port, path)[0] == 401
        with served.open(headers={"Authorization": f"Bearer {KEY}"}):
            pass
        served.stop()
        served.end()


def test_without_the_extra_the_way_to_get_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "NEEDED", ("starlette", "no_such_package"))
    with pytest.raises(UsageError, match=r"pip install '\.\[serve\]'"):
        listener.check_installed()


def test_an_announcement_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        scripted("init", "sleep=1.5", "result"),
        *("--adapter", "claude-code", "--serve", "127.0.0.1:0"),
        *("--serve-announce", str(tmp_path / "missing" / "file")),
    )
    assert "--serve-announce" in done.stderr
    assert done.code == 0


def test_a_run_that_is_not_served_loads_none_of_it(tmp_path: Path) -> None:
    code = (
        "import sys; import agent_wrap.supervisor; "
        "print([m for m in sys.modules if m.startswith(('agent_wrap.serve', 'uvicorn',"
        " 'starlette', 'sse_starlette'))])"
    )
    said = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path)
    assert said.strip() == b"[]"


def test_the_session_is_there_before_the_agent_says_anything(tmp_path: Path) -> None:
    with ServedRun(tmp_path, "sleep=60") as served:
        with served.open() as stream:
            assert stream.frames[0].data["cursor"] == 0
            assert time.monotonic() - served.started < 60
        served.stop()
        served.end()
