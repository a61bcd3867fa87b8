"""The last events of a session, within bounds."""

from __future__ import annotations

from agent_wrap.serve.log import Log


def test_the_log_is_bounded() -> None:
    log = Log(max_events=100, max_bytes=10_000)
    for number in range(1, 1001):
        log.append(b"%d" % number)
        assert log.last == number
    assert log.last - log.first < 100
    assert log.after(998, 1 << 20) == [b"999", b"1000"]
    assert log.after(998, 1) == [b"999"]
    assert not log.holds_after(log.first - 2)
    assert log.holds_after(log.first - 1)
    assert not log.holds_after(1001)
    log.append(b"x" * 20_000)
    assert log.after(1000, 1) == [b"x" * 20_000]
