"""Measures speed and memory as ratios: `python -m tests.benchmarks --help`.

Each round runs every side once, one after the other; a figure is the median of its
rounds. Nothing is asserted but that the dialogs are right: a busy machine says little.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from . import peers
from .figures import Figure, fan_out, latency, memory, start, throughput

KINDS = ("start", "latency", "memory", "throughput", "readers")


def _figures(arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    rounds: int = arguments.rounds
    others = {} if arguments.alone else peers.installed()
    if "start" in arguments.kinds:
        yield from start(rounds * 3, others)
    if "latency" in arguments.kinds:
        yield from latency(rounds, others)
    if "memory" in arguments.kinds:
        yield from memory(folder, rounds, others)
    if "throughput" in arguments.kinds:
        yield from throughput(folder, rounds, arguments.stream, others)
    if "readers" in arguments.kinds:
        yield from fan_out(rounds)


def main() -> None:
    """Print a table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stream", default="", help="only streams so named")
    parser.add_argument("--alone", action="store_true", help="without the peers")
    parser.add_argument("--json", type=Path, help="a file for every round's value")
    arguments = parser.parse_args()
    arguments.kinds = arguments.kinds or KINDS
    if unknown := set(arguments.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    print(f"Python {platform.python_version()}, medians\n")
    print("| figure | side | goal | median | lowest | highest |")
    print("|---|---|---|---|---|---|")
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for figure in _figures(arguments, Path(folder)):
            done.append(asdict(figure))
            goal = "" if figure.goal is None else f"{figure.goal:g}"
            low, high = min(figure.values), max(figure.values)
            print(
                f"| {figure.name} | {figure.side} | {goal} | {figure.median:.2f}"
                f" | {low:.2f} | {high:.2f} |",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(done, indent=1) + "\n")


main()
