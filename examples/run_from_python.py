"""Run an agent from Python: `run`, `arun` and `open_run`.

    .venv/bin/python examples/run_from_python.py

Each call executes a guardian process of its own, the same program as the command
line; nothing is forked here, and signal handlers are left alone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anyio

import agent_wrap
from agent_wrap.events import Message, ToolFinished

AGENT = [sys.executable, str(Path(__file__).with_name("my_agent.py"))]


def wait_for_it(archive: Path) -> None:
    """Run an agent to its end."""
    result = agent_wrap.run(AGENT, archive=archive, timeout=60)
    print(f"run: {result.status}, exit code {result.exit_code}, {result.turns} turns")
    print(f"     {result.tokens['in']} tokens in, {result.tokens['out']} out")
    print(f"     {Path(result.dialog_path).name}: {result.entries} entries")


async def several_at_once(archive: Path) -> None:
    """Run agents beside each other, each with an archive of its own."""

    async def one(number: int) -> None:
        result = await agent_wrap.arun(AGENT, archive=archive / f"run-{number}")
        results.append(result)

    results: list[agent_wrap.RunResult] = []
    async with anyio.create_task_group() as tasks:
        for number in range(2):
            tasks.start_soon(one, number)
    print(f"arun: {sum(result.ok for result in results)} of {len(results)} succeeded")


async def follow_it(archive: Path) -> None:
    """See the agent's events while it runs."""
    async with agent_wrap.open_run(AGENT, archive=archive) as run:
        async for event in run:
            if isinstance(event, Message):
                print(f"open_run: it says {event.text!r}")
            elif isinstance(event, ToolFinished):
                print(f"open_run: a tool {'succeeded' if event.ok else 'failed'}")
        result = await run.result()
    print(f"open_run: {result.status}")


def main() -> None:
    """Show all three."""
    with tempfile.TemporaryDirectory() as folder:
        wait_for_it(Path(folder, "one"))
        anyio.run(several_at_once, Path(folder, "two"))
        anyio.run(follow_it, Path(folder, "three"))


if __name__ == "__main__":
    main()
