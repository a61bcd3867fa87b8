"""The counters that the guardian reads when its supervisor is gone."""

from __future__ import annotations

import os

from agent_wrap.ledger import Ledger

LARGE = 2**62


def test_a_new_one_knows_nothing() -> None:
    ledger = Ledger()
    assert (ledger.turns, ledger.tokens, ledger.agent) == (0, (0, 0), 0)
    assert not ledger.completed


def test_what_a_killed_child_told_last() -> None:
    ledger, other = Ledger(), Ledger()
    pid = os.fork()
    if pid == 0:
        ledger.agent = 4711
        ledger.count(1, 2, 3)
        ledger.count(7, LARGE, LARGE - 1)
        ledger.complete()
        other.count(1, 2**70, 0)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert (ledger.turns, ledger.tokens) == (7, (LARGE, LARGE - 1))
    assert (ledger.agent, ledger.completed) == (4711, True)
    assert (other.turns, other.completed) == (1, False)
    assert other.tokens[0] == 2**63 - 1
