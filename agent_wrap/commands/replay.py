"""`agent-wrap replay STREAM`: the dialog that a recorded stream would have given."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from agent_wrap import registry
from agent_wrap.adapter import Adapter
from agent_wrap.errors import UsageError
from agent_wrap.reader import Detection
from agent_wrap.testing import replay


def main(argv: Sequence[str]) -> int:
    """Write the dialog; give the exit code that the run would have had."""
    options = _parser().parse_args(list(argv))
    data = _read(options.stream)
    meta = _meta(options.stream)
    ended = meta.get("exit_code", 0) if options.exit_code is None else options.exit_code
    code = ended if isinstance(ended, int) else 0
    adapter, detection = _adapter(options.adapter)
    result = replay(
        data,
        adapter,
        detection=detection,
        code=None if code < 0 else code,
        signal=-code if code < 0 else None,
        prompt=options.prompt,
    )
    if options.output:
        _write(options.output, result.lines)
    else:
        sys.stdout.buffer.write(result.lines)
        sys.stdout.flush()
    return result.outcome.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-wrap replay",
        description="Turn a recorded native stream into the dialog it would have given "
        "(its moments are 1970: time stands still), and exit as the run would have.",
    )
    parser.add_argument(
        "stream", metavar="STREAM", help="the agent's stdout; - is stdin"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="else standard output")
    parser.add_argument("--adapter", metavar="NAME", default="auto")
    parser.add_argument("--prompt", metavar="TEXT", help="what the agent was asked")
    parser.add_argument(
        "--exit-code",
        metavar="N",
        type=int,
        help="how the agent ended, a negative number for a signal (else meta.json's "
        "exit_code beside the stream, else 0)",
    )
    return parser


def _adapter(name: str) -> tuple[Adapter | None, Detection | None]:
    if name != "auto":
        return registry.find(name).load()(), None
    fallback = registry.find(registry.FALLBACK).load()
    return None, Detection(registry.recogniser(lambda name, adapter: None), fallback)


def _read(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _meta(stream: str) -> dict[str, Any]:
    path = os.path.join(os.path.dirname(stream), "meta.json")
    try:
        with open(path, "rb") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: str, data: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
