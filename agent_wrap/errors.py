"""What can go wrong, one class per culprit. They carry fields; text is for people.

    AgentWrapError
    ├── UsageError      the caller: an option, a file or a value it gave
    ├── ArchiveError    the place: the archive cannot be written or is in use
    ├── SpawnError      the command: not found, or it cannot be executed
    ├── AdapterError    an adapter that cannot be found or loaded
    └── DialogError     us: a request that the dialog's state does not allow

The agent's bytes never raise: they become events (`Unparsed`, `Unknown`).
This module is imported before the agent runs, so it imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 40
"""Characters of a word that may be a misspelt one; comparing takes their square."""


class AgentWrapError(Exception):
    """Base of all errors that this package raises on purpose.

    `exit_code` is what the command line returns for it (docs/command-line.md).
    """

    exit_code = 125


class UsageError(AgentWrapError):
    """The caller asked for something that cannot be done as asked.

    `what` says what is wrong, `hint` what to do instead.
    """

    exit_code = 2

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(f"{what}. {hint}" if hint else what)
        self.what = what
        self.hint = hint


class ArchiveError(AgentWrapError):
    """The archive cannot hold the record: the agent is not started.

    `path` is the file or folder, `reason` the system's word or ours.
    """

    exit_code = 125

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        tail = f". {hint}" if hint else ""
        super().__init__(f"archive: {path}: {reason}{tail}")
        self.path = path
        self.reason = reason
        self.hint = hint


class SpawnError(AgentWrapError):
    """The command could not be started.

    `errno` is the system's number, `exit_code` 127 when it was not found and 126
    when it was found but cannot be executed (the shells' convention).
    """

    def __init__(self, command: str, errno: int, reason: str, exit_code: int) -> None:
        super().__init__(f"{command}: {reason}")
        self.command = command
        self.errno = errno
        self.reason = reason
        self.exit_code = exit_code


class AdapterError(AgentWrapError):
    """No such adapter, or its code cannot be loaded."""

    exit_code = 2

    def __init__(self, name: str, reason: str, known: tuple[str, ...] = ()) -> None:
        hint = f". Known: {', '.join(known)}" if known else ""
        super().__init__(f"adapter {name!r}: {reason}{hint}")
        self.name = name
        self.reason = reason
        self.known = known


class DialogError(AgentWrapError):
    """A bug of ours: the dialog was asked for what its state does not allow."""

    def __init__(self, state: str, request: str) -> None:
        super().__init__(f"the dialog is {state}: it cannot {request}")
        self.state = state
        self.request = request


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give a sentence with the known word that is near this one; empty: none is."""
    if len(word) > _LONGEST:
        return ""
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1, 0.75)
    return f"Did you mean {near[0]}? " if near else ""
