"""Codex under the wrapper: what is true of it alone."""

from __future__ import annotations

import pytest

from .agents import CODEX
from .conftest import Prepare
from .harness import Outcome

pytestmark = pytest.mark.live


def test_a_sub_agent_is_the_tools_that_steer_it(codex: Prepare) -> None:
    """Its tokens are not in the totals of the stream, its text is nowhere."""
    # Only the older models are offered this tool.
    run = codex("subagent_awaited").run((*CODEX.command, "-m", "gpt-5.1-codex"))

    assert run.outcome() == Outcome(
        "success",
        0,
        2,
        (4006, 406),
        ["I delegate.", "The sub-agent counted."],
        [("spawn_agent", "success"), ("wait", "success"), ("close_agent", "success")],
    )
    assert run.entries[0]["data"]["model"] == "gpt-5.1-codex"
    assert run.problems() == []


def test_the_stream_flag_need_not_be_given(codex: Prepare) -> None:
    """The adapter adds it."""
    command = [word for word in CODEX.command if word != "--json"]
    run = codex("text").run(command)

    assert run.outcome() == CODEX.endings["text"], run.stderr
    assert run.problems() == []
