"""What waits for a person, and until when."""

from __future__ import annotations

from agent_wrap.asked import Asked
from agent_wrap.events import ApprovalAsked, QuestionAsked

FIRST, SECOND = ApprovalAsked("a", "Bash"), QuestionAsked("q")


def test_each_has_its_own_time() -> None:
    asked = Asked(10)
    assert not asked
    assert asked.until_next(0) is None
    asked.add(FIRST, 0)
    asked.add(SECOND, 4)
    assert asked.until_next(3) == 7
    assert asked.due(9.5) == []
    assert asked.due(10) == [FIRST]
    assert asked.until_next(10) == 4
    assert asked.until_next(20) == 0
    assert asked.due(20) == [SECOND]
    assert not asked


def test_what_is_settled_is_settled_once() -> None:
    asked = Asked(10)
    asked.add(FIRST, 0)
    assert asked.settle("a")
    assert not asked.settle("a")
    assert asked.due(100) == []


def test_all_at_once() -> None:
    asked = Asked(10)
    asked.add(FIRST, 0)
    asked.add(SECOND, 0)
    assert asked.settle_all() == [FIRST, SECOND]
    assert asked.settle_all() == []
