"""Every recording gives its golden dialog, whole and in chunks of any size."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_wrap import Adapter, validate
from agent_wrap.testing import (
    CHUNKS,
    Recording,
    check_golden,
    find_orphans,
    find_recordings,
    replay_recording,
)
from agent_wrap_adapters.claude_code import ClaudeCode
from agent_wrap_adapters.codex import Codex

ROOT = Path(__file__).parent.parent / "recordings"
ADAPTERS: dict[str, type[Adapter]] = {"claude-code": ClaudeCode, "codex": Codex}
RECORDINGS = find_recordings(ROOT)


def agent_of(recording: Recording) -> str:
    """Give `claude-code` for `claude-code-2.1.332/tool_ok`."""
    return recording.name.split("/")[0].rpartition("-")[0]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.name)
def test_golden(recording: Recording, update_golden: bool) -> None:
    agent = agent_of(recording)
    whole = replay_recording(recording, ADAPTERS[agent], agent=agent)
    check_golden(recording, whole.lines, update=update_golden)
    assert not whole.failures
    assert not whole.unknown_types
    assert not whole.counts["unparsable"]
    assert not validate.check(whole.lines)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.name)
def test_chunks(recording: Recording, chunk: int) -> None:
    agent = agent_of(recording)
    replayed = replay_recording(recording, ADAPTERS[agent], agent=agent, chunk=chunk)
    check_golden(recording, replayed.lines)


def test_no_orphans() -> None:
    assert find_orphans(ROOT) == []


def test_all_recordings_are_here() -> None:
    agents = {agent_of(recording) for recording in RECORDINGS}
    assert agents == set(ADAPTERS)
    assert len(RECORDINGS) == 85
