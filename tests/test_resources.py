"""Samples of memory and CPU: bounded, in order, and no peak is lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap import resources
from agent_wrap.resources import MOST_SAMPLES, Sampler

from .harness import wait_for

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=5000))
def test_a_series_of_any_length_is_bounded_and_keeps_its_peak(rss: list[int]) -> None:
    sampler = Sampler()
    for number, size in enumerate(rss):
        sampler._keep((number * 1000, number / 2, size, 1))
    sampler.end(len(rss))
    *looks, end = sampler.samples
    assert len(looks) <= MOST_SAMPLES
    assert end[0] == len(rss) * 1000
    assert max(look[2] for look in looks) == max(rss)
    moments = [look[0] for look in looks]
    assert moments == sorted(set(moments))
    assert moments[-1] == (len(rss) - 1) * 1000
    assert [look[1] for look in looks] == [moment / 2000 for moment in moments]


@LINUX
def test_a_living_tree_is_seen() -> None:
    code = "x = bytearray(50_000_000)\nwhile True: sum(range(1000))"
    command = ["sh", "-c", f"{sys.executable} -S -c '{code}'; true"]
    sampler = Sampler()
    child = subprocess.Popen(command, start_new_session=True)
    try:

        def is_seen() -> bool:
            sampler.sample(os.getpid(), 1.0)
            at, cpu, rss, processes = sampler.samples[-1]
            return at == 1000 and cpu > 0.1 and rss > 50_000_000 and processes >= 2

        wait_for(is_seen, "memory and CPU of a child's child")
    finally:
        os.killpg(child.pid, 9)
        child.wait()


@LINUX
def test_a_process_that_is_gone_uses_nothing() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert resources._used(child.pid) == (0, 0.0)
