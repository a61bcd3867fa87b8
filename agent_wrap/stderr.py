"""What we say to the operator: one line on stderr, and never at the run's expense."""

from __future__ import annotations

import os

MOST_SAID = 4096


def say(text: str) -> None:
    """Tell the operator something, one line on stderr, if that can be done at once."""
    import select

    line = f"agent-wrap: {text}\n".encode("utf-8", "backslashreplace")
    try:
        if select.select([], [2], [], 0)[1]:  # then a short line does not block
            os.write(2, line[:MOST_SAID])
    except (OSError, ValueError):  # closed or gone
        pass
