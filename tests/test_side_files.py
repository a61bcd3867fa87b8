"""Figures that stdout lacks are read from what the agent left beside it."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import registry, side_files
from agent_wrap.accounting import Account
from agent_wrap.adapter import Adapter, SideFile, Surroundings
from agent_wrap.events import Event, Message, SessionStarted, Usage

from .harness import Run

RECORDINGS = Path(__file__).parent / "recordings"
PATIENCE = 20.0

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change users")


def account_of(events: Iterable[Event]) -> Account:
    account = Account()
    for event in events:
        account.apply(event)
    return account


def told_by(name: str, *contents: bytes, cwd: str = "/src/project") -> Account:
    """Read side files as an adapter does; give what they sum up to."""
    adapter = registry.find(name).load()
    return account_of(adapter.read_side(contents, Surroundings([name], cwd)))


def tokens(account: Account) -> tuple[int, int, int, int, int, float | None]:
    """Give input, cached, cache_written, output, reasoning, cost."""
    used = account.tokens
    return (
        *(used.input, used.cached, used.cache_written),
        *(used.output, used.reasoning, used.cost),
    )


# What each agent's side files mean

COPILOT_METRICS = {
    "m-1": {
        "requests": {"count": 2},
        "usage": {
            "inputTokens": 2100,
            "outputTokens": 41,
            "cacheReadTokens": 601,
            "cacheWriteTokens": 0,
            "reasoningTokens": 7,
        },
    }
}
KIMI_RECORD = {
    "type": "usage.record",
    "model": "mock/m",
    "usage": {
        "inputOther": 700,
        "output": 20,
        "inputCacheRead": 300,
        "inputCacheCreation": 5,
    },
}
OPENHANDS_STATE = {
    "stats": {
        "usage_to_metrics": {
            "agent": {
                "accumulated_cost": 0.25,
                "accumulated_token_usage": {
                    "prompt_tokens": 2100,
                    "completion_tokens": 41,
                    "cache_read_tokens": 601,
                    "cache_write_tokens": 0,
                    "reasoning_tokens": 7,
                },
            },
            "condenser": {
                "accumulated_cost": 0.0,
                "accumulated_token_usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 1,
                },
            },
        }
    }
}
VIBE_EXPORT = {
    "outcome": "finished",
    "usage": {
        "input_tokens": 2100,
        "output_tokens": 41,
        "cached_input_tokens": 601,
        "total_tokens": 2141,
    },
    "cost_usd": 0.5,
}
CONTINUE_SESSION = {
    "sessionId": "s",
    "workspaceDirectory": "/src/project",
    "usage": {"promptTokens": 2100, "completionTokens": 41},
}
DROID_SETTINGS = {
    "model": "m",
    "tokenUsage": {
        "inputTokens": 1499,
        "outputTokens": 41,
        "cacheReadTokens": 601,
        "cacheCreationTokens": 0,
        "thinkingTokens": 7,
    },
}


def as_lines(*objects: object) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in objects)


def copilot_record(**usage: int) -> dict[str, Any]:
    return {"type": "session.usage_record", "data": {"model": "m-1", "usage": usage}}


COPILOT_CALLS = (
    copilot_record(inputTokens=1000, outputTokens=20, cacheReadTokens=300),
    copilot_record(inputTokens=1100, outputTokens=21, cacheReadTokens=301),
)
COPILOT_END = {
    "type": "session.shutdown",
    "data": {"modelMetrics": COPILOT_METRICS},
}


def vibe_call(sequence: int, **usage: int) -> dict[str, Any]:
    done = {"action_id": f"a-{sequence}", "result": {"usage": usage}}
    kind = {"type": "action_result", "sequence": sequence}
    return {**kind, "payload": {"result": done}}


VIBE_CALLS = (
    vibe_call(1, input_tokens=1000, output_tokens=20, cached_input_tokens=300),
    vibe_call(2, input_tokens=1100, output_tokens=21, cached_input_tokens=301),
)


def recorded(path: str) -> list[bytes]:
    return [(RECORDINGS / path).read_bytes()]


MEANINGS: dict[str, tuple[str, list[bytes], tuple[Any, ...]]] = {
    "copilot, whole session": (
        "copilot-cli",
        [as_lines({"type": "session.start", "data": {}}, *COPILOT_CALLS, COPILOT_END)],
        (1499, 601, 0, 41, 7, None),
    ),
    "copilot, recorded": (
        "copilot-cli",
        recorded("copilot-cli-1.0/tool_ok/events.jsonl"),
        (1499, 601, 0, 41, 0, None),
    ),
    "kimi, recorded": (
        "kimi-code",
        recorded("kimi-code-2.1/tool_ok/wire.jsonl"),
        (1499, 601, 0, 41, 0, None),
    ),
    "kimi over ACP": (
        "acp",
        recorded("kimi-code-2.1/tool_ok/wire.jsonl"),
        (1499, 601, 0, 41, 0, None),
    ),
    "openhands, recorded": (
        "openhands",
        recorded("openhands-1.16/tool_ok/base_state.json"),
        (1499, 601, 0, 41, 0, None),
    ),
    "continue, recorded": (
        "continue",
        recorded("continue-1.5/tool_ok/session.json"),
        (2100, 0, 0, 41, 0, None),
    ),
    "copilot, of another folder": (
        "copilot-cli",
        [
            as_lines(
                {"type": "session.start", "data": {"context": {"cwd": "/other"}}},
                *COPILOT_CALLS,
            )
        ],
        (0, 0, 0, 0, 0, None),
    ),
    "copilot, killed": (
        "copilot-cli",
        [as_lines(*COPILOT_CALLS) + b'{"type": "session.sh'],
        (1499, 601, 0, 41, 0, None),
    ),
    "copilot, usage file": (
        "copilot-cli",
        [json.dumps({"modelMetrics": COPILOT_METRICS}, indent=2).encode()],
        (1499, 601, 0, 41, 7, None),
    ),
    "kimi, with a sub-agent": (
        "kimi-code",
        [
            as_lines({"type": "metadata"}, KIMI_RECORD, KIMI_RECORD),
            as_lines(KIMI_RECORD),
        ],
        (2100, 900, 15, 60, 0, None),
    ),
    "openhands": (
        "openhands",
        [json.dumps(OPENHANDS_STATE).encode()],
        (1509, 601, 0, 42, 7, 0.25),
    ),
    "vibe": (
        "mistral-vibe",
        [json.dumps(VIBE_EXPORT).encode()],
        (1499, 601, 0, 41, 0, 0.5),
    ),
    "vibe, recorded": (
        "mistral-vibe",
        recorded("mistral-vibe-3.0/tool_ok/journal.jsonl"),
        (1499, 601, 0, 41, 0, None),
    ),
    "vibe, in two files": (
        "mistral-vibe",
        [as_lines(VIBE_CALLS[1]), as_lines(VIBE_CALLS[0]) + b'{"seq'],
        (1499, 601, 0, 41, 0, None),
    ),
    "vibe, the beginning is gone": (
        "mistral-vibe",
        [as_lines(VIBE_CALLS[1])],
        (0, 0, 0, 0, 0, None),
    ),
    "continue": (
        "continue",
        [json.dumps(CONTINUE_SESSION).encode()],
        (2100, 0, 0, 41, 0, None),
    ),
    "continue, of another folder": (
        "continue",
        [json.dumps({**CONTINUE_SESSION, "workspaceDirectory": "/other"}).encode()],
        (0, 0, 0, 0, 0, None),
    ),
    "droid": (
        "droid",
        [json.dumps(DROID_SETTINGS).encode()],
        (1499, 601, 0, 41, 7, None),
    ),
    "mini-swe-agent, recorded": (
        "mini-swe-agent",
        recorded("mini-swe-agent-2.4/submit/trajectory.json"),
        (2397, 903, 0, 63, 21, None),
    ),
    "mini-swe-agent, an answer without a command": (
        "mini-swe-agent",
        recorded("mini-swe-agent-2.4/textbased/trajectory.json"),
        (2100, 900, 0, 60, 0, None),
    ),
}


@pytest.mark.parametrize("case", MEANINGS)
def test_what_it_means(case: str) -> None:
    name, contents, expected = MEANINGS[case]
    assert tokens(told_by(name, *contents)) == expected


TELLERS = [
    name
    for name, entry in sorted(registry.known().items())
    if entry.load().side_files(Surroundings([name], "/src", {}, "s-1"))
]


def test_who_has_side_files() -> None:
    assert set(TELLERS) == {
        *("copilot-cli", "kimi-code", "openhands", "mini-swe-agent"),
        *("continue", "droid", "mistral-vibe", "acp"),
    }


@pytest.mark.parametrize("name", TELLERS)
@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff\x00", b'{"usage": 1, "stats": [], "info": 3}']
)
def test_what_is_no_side_file_tells_nothing(name: str, data: bytes) -> None:
    assert tokens(told_by(name, data)) == (0, 0, 0, 0, 0, None)


# Where they are


def places(name: str, command: str, session_id: str = "", **env: str) -> list[str]:
    ran = Surroundings(command.split(), "/src", {"HOME": "/h", **env}, session_id)
    found = registry.find(name).load().side_files(ran)
    return [f"{p.pattern} {p.inside}".strip() for p in found]


PLACES: dict[str, tuple[list[str], list[str]]] = {
    "copilot": (
        places("copilot-cli", "copilot -p Hi", "a-1"),
        ["/h/.copilot/session-state/a-1 events.jsonl"],
    ),
    "copilot, killed": (
        places("copilot-cli", "copilot -p Hi", COPILOT_HOME="/c"),
        ["/c/session-state/* events.jsonl"],
    ),
    "copilot, asked": (
        places("copilot-cli", "copilot -p Hi --usage-output-file u.json", "a"),
        ["/src/u.json", "/h/.copilot/session-state/a events.jsonl"],
    ),
    "kimi": (
        places("kimi-code", "kimi -p Hi", "session_1"),
        ["/h/.kimi-code/sessions/*/session_1 agents/*/wire.jsonl"],
    ),
    "a session that leads elsewhere": (
        places("kimi-code", "kimi -p Hi", "../../*"),
        ["/h/.kimi-code/sessions/*/* agents/*/wire.jsonl"],
    ),
    "kimi over ACP": (
        places("acp", "kimi acp", "session_1"),
        ["/h/.kimi-code/sessions/*/session_1 agents/*/wire.jsonl"],
    ),
    "ACP, before there is a session": (places("acp", "kimi acp"), []),
    "openhands": (
        places("openhands", "openhands -t Hi", "ab12", OH_PERSISTENCE_DIR="/p[1]"),
        ["/p[[]1]/conversations/ab12 base_state.json"],
    ),
    "vibe": (
        places("mistral-vibe", "vibe -p Hi --output-dir out"),
        ["/src/out/export.json"],
    ),
    "vibe, both": (
        places("mistral-vibe", "vibe -p Hi --output-dir /o", "s-1", VIBE_HOME="/v"),
        ["/o/export.json", "/v/logs/session/unified/s-1 journal/*.jsonl"],
    ),
    "vibe, a session that was resumed": (
        places("mistral-vibe", "vibe -p Hi --resume s-1", "s-1"),
        [],
    ),
    "mini": (
        places("mini-swe-agent", "mini -t Hi"),
        ["/h/.config/mini-swe-agent/last_mini_run.traj.json"],
    ),
    "mini, asked": (places("mini-swe-agent", "mini -o /o.json"), ["/o.json"]),
    "droid without a session": (places("droid", "droid exec Hi"), []),
}


@pytest.mark.parametrize("case", PLACES)
def test_where_it_is(case: str) -> None:
    found, expected = PLACES[case]
    assert found == expected


def test_vibe_is_asked_only_where_it_understands() -> None:
    prepare = registry.find("mistral-vibe").load().prepare
    assert "--output-dir" not in prepare(["vibe", "-p", "Hi"], None).command
    asked = prepare(["vibe", "-p", "Hi", "--time-limit", "60"], None).command
    assert asked[-2:] == ["--output-dir", "{side_folder}"]
    own = prepare(["vibe", "-p", "Hi", "--time-limit", "9", "--output-dir", "o"], None)
    assert "{side_folder}" not in own.command


# How they are read


class Teller(Adapter):
    """Says how long its side files are."""

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        return [SideFile(f"{ran.cwd}/{ran.command[0]}", *ran.command[1:])]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterable[Event]:
        if contents == [b"raise"]:
            raise ValueError("no luck")
        while contents == [b"hang"]:
            time.sleep(1)
        if contents != [b"not ours"]:
            yield Message("is left out")
            yield SessionStarted(model="m")
            yield Usage(input=sum(map(len, contents)), scope="total")


def read(
    folder: Path, *command: str, since: float = 0.0, patience: float = PATIENCE
) -> side_files.Told:
    ran = Surroundings(command, str(folder))
    return side_files.read(Teller, ran, since=since, patience=patience)


def put(path: Path, text: str, at: float) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))


def test_only_facts_are_taken(tmp_path: Path) -> None:
    put(tmp_path / "a", "123", 1000)
    told = read(tmp_path, "a")
    assert told.facts == [SessionStarted(model="m"), Usage(input=3, scope="total")]
    assert told.notes == []


def test_the_newest_that_is_ours_is_taken_and_said(tmp_path: Path) -> None:
    for number, text in enumerate(("1", "22", "not ours"), 1):
        put(tmp_path / f"a{number}", text, 1000 * number)
    told = read(tmp_path, "a*")
    assert told.facts[-1] == Usage(input=2, scope="total")
    assert told.notes == ["side files: several fit this run; the newest was taken"]


def test_what_is_older_than_the_run_is_not_its_own(tmp_path: Path) -> None:
    put(tmp_path / "a", "123", 1000)
    assert read(tmp_path, "a", since=1000.5).facts
    assert read(tmp_path, "a", since=2000).facts == []
    assert read(tmp_path, "a", since=2000).notes == []


def test_all_files_of_the_newest_folder_are_taken(tmp_path: Path) -> None:
    put(tmp_path / "s1" / "x", "1", 1000)
    put(tmp_path / "s2" / "x", "22", 2000)
    put(tmp_path / "s2" / "y", "333", 1500)
    assert read(tmp_path, "s*", "*").facts[-1] == Usage(input=5, scope="total")


def test_links_pipes_and_folders_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path / "real", "1", 1000)
    (tmp_path / "a1").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "a2")
    (tmp_path / "a3").mkdir()
    told = read(tmp_path, "a*")
    assert (told.facts, told.notes) == ([], [])


def test_a_folder_with_signs_of_a_pattern(tmp_path: Path) -> None:
    put(tmp_path / "[x]*" / "a", "1", 1000)
    assert read(tmp_path / "[x]*", "a").facts


def test_an_adapter_that_raises_is_a_note(tmp_path: Path) -> None:
    put(tmp_path / "a", "raise", 1000)
    assert read(tmp_path, "a").notes == ["side files: ValueError: no luck"]
    assert read(tmp_path).notes == ["side files: IndexError: list index out of range"]


def test_a_file_that_is_too_large_is_a_note(tmp_path: Path) -> None:
    put(tmp_path / "a", "", 1000)
    os.truncate(tmp_path / "a", side_files.MAX_FILE + 1)
    assert "more than we read" in read(tmp_path, "a").notes[0]


def test_what_takes_too_long_is_given_up(tmp_path: Path) -> None:
    put(tmp_path / "a", "hang", 1000)
    began = time.monotonic()
    assert read(tmp_path, "a", patience=0.1).notes == [
        "side files: not read within 0.1 s"
    ]
    assert time.monotonic() - began < PATIENCE
    with pytest.raises(ChildProcessError):  # nobody is left
        os.waitpid(-1, os.WNOHANG)


# In a run

PROGRAM = """\
#!/bin/sh
mkdir -p "$HOME/{folder}" && cp "{side}" "$HOME/{folder}/{name}"
cat "{stream}"
{then}
"""


def agent(tmp: Path, program: str, recording: str, side: bytes, path: str) -> list[str]:
    """Make a program that prints a recording and leaves a side file."""
    (tmp / "side").write_bytes(side)
    folder, _, name = path.rpartition("/")
    script = PROGRAM.format(
        folder=folder,
        name=name,
        side=tmp / "side",
        stream=RECORDINGS / recording / "stdout.jsonl",
        then="",
    )
    (tmp / program).write_text(script)
    (tmp / program).chmod(0o755)
    return [str(tmp / program)]


def test_in_a_run(tmp_path: Path) -> None:
    session = json.loads(
        (RECORDINGS / "copilot-cli-1.0/tool_ok/stdout.jsonl")
        .read_text()
        .splitlines()[-1]
    )["sessionId"]
    side = as_lines(*COPILOT_CALLS, COPILOT_END)
    path = f".copilot/session-state/{session}/events.jsonl"
    command = agent(tmp_path, "copilot", "copilot-cli-1.0/tool_ok", side, path)
    home = {"HOME": str(tmp_path / "home")}
    with Run(tmp_path, [*command, "-p", "Hi"], "--echo", "none", env=home) as run:
        assert run.wait() == 0
        assert run.summary["tokens"]["in"] == 2100
        assert run.summary["tokens"]["cached"] == 601
        assert run.complete["total_tokens"] == {"in": 2100, "out": 41}
        assert run.problems() == []


def test_a_folder_of_the_run_is_read_and_removed(tmp_path: Path) -> None:
    """Vibe writes its export to a folder that we name, and that is gone afterwards."""
    (tmp_path / "export").write_text(json.dumps(VIBE_EXPORT))
    script = f"""#!/bin/sh
for last; do :; done
cp {tmp_path}/export "$last/export.json"
cat {RECORDINGS}/mistral-vibe-3.0/text/stdout.jsonl
"""
    (tmp_path / "vibe").write_text(script)
    (tmp_path / "vibe").chmod(0o755)
    command = [str(tmp_path / "vibe"), "-p", "Hi", "--time-limit", "60"]
    with Run(tmp_path, command, "--echo", "none") as run:
        assert run.wait() == 0
        assert run.summary["tokens"]["in"] == 2100
        assert run.summary["cost_usd"] == 0.5
        assert not (run.archive / ".agent-wrap-side").exists()
        assert f"--output-dir {run.archive}/.agent-wrap-side" in run.stderr
        assert run.problems() == []


def test_a_broken_side_file_never_fails_a_run(tmp_path: Path) -> None:
    path = ".copilot/session-state/x/events.jsonl"
    command = agent(tmp_path, "copilot", "copilot-cli-1.0/text", b"\xff{", path)
    home = {"HOME": str(tmp_path / "home")}
    with Run(tmp_path, [*command, "-p", "Hi"], "--echo", "none", env=home) as run:
        assert run.wait() == 0
        assert run.summary["tokens"]["in"] == 0
        assert run.problems() == []


def test_the_folder_goes_with_a_killed_supervisor_too(tmp_path: Path) -> None:
    (tmp_path / "vibe").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'echo secret > "$last/export.json"\nkill -KILL $PPID\nsleep 30\n'
    )
    (tmp_path / "vibe").chmod(0o755)
    command = [str(tmp_path / "vibe"), "-p", "Hi", "--time-limit", "60"]
    with Run(tmp_path, command, "--echo", "none") as run:
        assert run.wait() == 137
        assert not (run.archive / ".agent-wrap-side").exists()
        assert run.complete["status"] == "error"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can pass through; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@only_root
def test_the_folder_is_the_agents_own(place: Path) -> None:
    (place / "vibe").write_text(
        "#!/bin/sh\nfor last; do :; done\nid -u\n"
        f"echo '{json.dumps(VIBE_EXPORT)}' > \"$last/export.json\"\n"
    )
    (place / "vibe").chmod(0o755)
    command = [str(place / "vibe"), "-p", "Hi", "--time-limit", "60"]
    with Run(place, command, "--echo", "none", "--user", "65534") as run:
        run.wait()
        assert run.raw == b"65534\n"
        assert run.summary["tokens"]["in"] == 2100
        assert not (run.archive / ".agent-wrap-side").exists()


@only_root
def test_it_is_read_as_the_runs_user(tmp_path: Path) -> None:
    from agent_wrap.identity import find_identity

    put(tmp_path / "a", "123", 1000)
    (tmp_path / "a").chmod(0o600)
    told = side_files.read(
        Teller,
        Surroundings(["a"], str(tmp_path)),
        since=0,
        patience=PATIENCE,
        identity=find_identity("65534"),
    )
    assert told.facts == []


class LateImporter(Adapter):
    """Needs a module to read that only its own user can import."""

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        return [SideFile(f"{ran.cwd}/a")]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        name = "only_for_root"  # a literal would be looked for by mypy
        module = importlib.import_module(name)
        for data in contents:
            yield Usage(input=module.count(data), scope="total")


@only_root
def test_code_that_the_runs_user_cannot_read(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that reading needs is imported while the process is still ours."""
    from agent_wrap.identity import find_identity

    put(place / "a", "123", 1000)
    (tmp_path / "only_for_root.py").write_text("count = len\n")
    tmp_path.chmod(0o700)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "only_for_root", raising=False)
    told = side_files.read(
        LateImporter,
        Surroundings(["a"], str(place)),
        since=0,
        patience=PATIENCE,
        identity=find_identity("65534"),
    )
    assert (told.facts, told.notes) == ([Usage(input=3, scope="total")], [])
