"""Only the newest keys are kept."""

from __future__ import annotations

from agent_wrap.newest import Newest


def test_the_oldest_key_goes_first() -> None:
    newest: Newest[str, int] = Newest(2)
    for number, key in enumerate("abac"):
        newest.add(key, number)
    assert dict(newest) == {"b": 1, "c": 3}
