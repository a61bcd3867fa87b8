"""Errors say what to do: a word that was misspelt is told by what is near it."""

from __future__ import annotations

import pytest

from agent_wrap.errors import did_you_mean

KNOWN = ("--timeout", "--task", "--no-adapt", "--no-redact", "view", "validate")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--timout", "Did you mean --timeout? "),
        ("vew", "Did you mean view? "),
        ("--no-such", ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_what_is_near_is_said(word: str, said: str) -> None:
    assert did_you_mean(word, KNOWN) == said


def test_a_long_word_costs_nothing() -> None:
    assert did_you_mean("--" + "t" * 1_000_000, KNOWN) == ""
