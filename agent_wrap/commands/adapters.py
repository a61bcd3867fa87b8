"""`agent-wrap adapters`: the known adapters, what each reads and gives."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from agent_wrap import registry
from agent_wrap.drift import how_checked
from agent_wrap.errors import AdapterError


def main(argv: Sequence[str]) -> int:
    """List the installed adapters; give 0."""
    parser = argparse.ArgumentParser(
        prog="agent-wrap adapters",
        description="List the installed adapters: programs, versions checked against "
        "real recordings, and what their streams give.",
    )
    parser.parse_args(list(argv))
    for name, entry in sorted(registry.known().items()):
        print(name)
        try:
            adapter = entry.load()
        except AdapterError as error:
            print(f"  broken: {error.reason}")
            continue
        ends = "required" if adapter.promises_final_event else "none promised"
        for label, value in (
            ("programs", ", ".join(sorted(adapter.programs)) or "(any)"),
            ("checked", how_checked(adapter)),
            ("gives", adapter.gives or "-"),
            ("final event", ends),
            ("class", entry.target),
        ):
            print(f"  {label + ':':<13}{value}")
    return 0
