"""Only the newest keys are kept."""

from __future__ import annotations

from agent_wrap.newest import Newest


def test_the_oldest_keys_go_first() -> None:
    newest: Newest[str, int] = Newest(2)
    for number, key in enumerate("abacd"):
        newest.add(key, number)
    assert dict(newest) == {"a": 2, "b": 1, "c": 3, "d": 4}
    newest.add("e", 5)
    assert dict(newest) == {"d": 4, "e": 5}


def test_however_many_come_few_stay() -> None:
    newest: Newest[int, int] = Newest(10)
    for number in range(1000):
        newest.add(number, number)
        assert set(range(max(number - 9, 0), number + 1)) <= newest.keys()
        assert len(newest) <= 20
