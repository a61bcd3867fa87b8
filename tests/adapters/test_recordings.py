"""Every recording gives its golden dialog, whole and in chunks of any size.

What `meta.json` expects was worked out by hand: how the agent ended, and the tokens
that the scripted model counted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_wrap import registry, validate
from agent_wrap.reader import Detection
from agent_wrap.testing import (
    CHUNKS,
    Recording,
    check_golden,
    figures,
    find_orphans,
    find_recordings,
    replay,
    replay_recording,
)

ROOT = Path(__file__).parent.parent / "recordings"
KNOWN = registry.known()
RECORDINGS = find_recordings(ROOT)


def agent_of(recording: Recording) -> str:
    """Give the adapter of a recording: what its folder's name begins with.

    `meta.json` names it where the folder does not.
    """
    folder = recording.name.split("/")[0]
    fitting = [name for name in KNOWN if folder.startswith(f"{name}-")]
    return str(recording.meta.get("adapter") or max(fitting, key=len, default=folder))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.name)
def test_golden(recording: Recording, update_golden: bool) -> None:
    agent = agent_of(recording)
    whole = replay_recording(recording, KNOWN[agent].load(), agent=agent)
    check_golden(recording, whole.lines, update=update_golden)
    assert not whole.failures
    assert not whole.unknown_types
    assert not whole.counts["unparsable"]
    assert not validate.check(whole.lines)


@pytest.mark.parametrize(
    "recording", [r for r in RECORDINGS if "expect" in r.meta], ids=lambda r: r.name
)
def test_figures(recording: Recording) -> None:
    agent = agent_of(recording)
    is_ = figures(replay_recording(recording, KNOWN[agent].load(), agent=agent))
    expected = recording.meta["expect"]
    assert {name: is_[name] for name in expected} == expected


def test_every_agent_has_figures_of_a_good_and_a_bad_end() -> None:
    ends = {
        (agent_of(recording), recording.meta["expect"]["status"])
        for recording in RECORDINGS
        if "expect" in recording.meta
    }
    agents = {agent_of(recording) for recording in RECORDINGS}
    assert ends >= {(a, end) for a in agents for end in ("success", "error")}


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.name)
def test_chunks(recording: Recording, chunk: int) -> None:
    agent = agent_of(recording)
    replayed = replay_recording(
        recording, KNOWN[agent].load(), agent=agent, chunk=chunk
    )
    check_golden(recording, replayed.lines)


def test_no_orphans() -> None:
    assert find_orphans(ROOT) == []


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.name)
def test_the_stream_alone_tells_the_adapter(recording: Recording) -> None:
    """Detection by the first lines finds the right one, or says `plain`."""
    found: list[str] = []
    detection = Detection(
        registry.recogniser(lambda name, adapter: found.append(name)),
        KNOWN[registry.FALLBACK].load(),
    )
    replay(recording.stream, None, detection=detection)
    assert found in ([agent_of(recording)], [])
