"""Runs from pools of processes, however their workers are made, and lose one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

import agent_wrap

from .calls import GOOD, HANG, Place
from .harness import scripted, wait_for

# Threads of other tests may still be there when a worker is forked; ours are not in it.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

METHODS = ["fork", "forkserver", "spawn"]
methods = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def places(tmp_path: Path) -> list[Place]:
    found = []
    for name in "abc":
        (tmp_path / name).mkdir()
        found.append(Place(tmp_path / name))
    return found


def context(method: str) -> multiprocessing.context.BaseContext:
    return get_context(method)


@methods
def test_results_come_back_from_a_pool(method: str, places: list[Place]) -> None:
    """The function itself is what workers are told to run, and results travel."""
    with ProcessPoolExecutor(2, mp_context=context(method)) as pool:
        futures = [
            pool.submit(
                agent_wrap.run, scripted(*GOOD, f"exit={number}"), **place.options
            )
            for number, place in enumerate(places)
        ]
        results = [future.result(20) for future in futures]
    assert [result.exit_code for result in results] == [0, 1, 2]
    assert [result.status for result in results] == ["success"] * 3
    for place in places:
        assert place.types()[-1] == "complete"
        assert place.alive() == {}


@methods
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_is_killed_takes_its_run_along(
    method: str, number: int, places: list[Place]
) -> None:
    place = places[0]
    worker = worker_of(method, place)
    worker.start()
    try:
        wait_for(place.output, "output")
        assert worker.pid is not None
        os.kill(worker.pid, number)
        worker.join(20)
        assert worker.exitcode == -number
        wait_for(lambda: not place.alive(), "the end of all")
    finally:
        worker.kill()
        worker.join(20)
        worker.close()
    assert place.types()[-2:] == ["tool", "complete"]


def worker_of(method: str, place: Place) -> BaseProcess:
    made: BaseProcess = context(method).Process(  # type: ignore[attr-defined]  # typeshed keeps it to the concrete contexts
        target=agent_wrap.run, args=(scripted(*HANG),), kwargs=place.options
    )
    return made


def test_a_pool_that_lost_a_worker_says_so_and_leaves_no_run(
    places: list[Place],
) -> None:
    with ProcessPoolExecutor(2, mp_context=context("spawn")) as pool:
        futures = [
            pool.submit(agent_wrap.run, scripted(*HANG), **place.options)
            for place in places[:2]
        ]
        for place in places[:2]:
            wait_for(place.output, "output")
        victim = next(iter(pool._processes.values()))
        victim.kill()
        for future in futures:
            with pytest.raises(BrokenProcessPool):
                future.result(20)
    for place in places[:2]:
        wait_for(lambda place=place: not place.alive(), "the end of all")  # type: ignore[misc]  # mypy infers no lambda with a default
        assert place.types()[-1] == "complete"
