"""How the tests of a whole run start the scripted agent, and what decided its end."""

from __future__ import annotations

from .harness import Run

CLAUDE = ("--adapter", "claude-code")
GOOD = ("init", "text=Hi", "result")
HANG = "sleep=60"
STUBBORN = [
    *("sh", "-c"),
    "trap '' INT; trap 'touch told' TERM; echo Hi; while :; do sleep 1; done",
]
"""An agent that goes on, and leaves a file when it is told to end."""


def outcome(done: Run) -> tuple[str, int | None, str]:
    """Status, exit code and reason, as the record and the caller have them."""
    return done.complete["status"], done.code, done.summary["reason"]
