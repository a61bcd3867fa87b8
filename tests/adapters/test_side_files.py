"""What each agent leaves beside its stdout: where it lies, and what it means."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import registry
from agent_wrap.accounting import Account
from agent_wrap.adapter import Surroundings
from agent_wrap.events import Event

from ..side_contents import (
    CONTINUE_SESSION,
    COPILOT_CALLS,
    COPILOT_END,
    COPILOT_METRICS,
    DROID_SETTINGS,
    KIMI_RECORD,
    OPENHANDS_STATE,
    VIBE_CALLS,
    VIBE_EXPORT,
    as_lines,
)

RECORDINGS = Path(__file__).parent.parent / "recordings"


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
