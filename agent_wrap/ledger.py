"""What the guardian must know when the supervisor is gone: shared memory, no file.

One anonymous page, mapped before the fork; each number is eight aligned bytes, so a
reader never sees half of one.
"""

from __future__ import annotations

import mmap

_SIZE = 4096
_MOST = 2**63 - 1
_DONE, _TURNS, _TOKENS_IN, _TOKENS_OUT, _AGENT = range(5)


class Ledger:
    """The run's counters, as last told by the supervisor."""

    def __init__(self) -> None:
        self._numbers = memoryview(mmap.mmap(-1, _SIZE)).cast("q")

    def count(self, turns: int, tokens_in: int, tokens_out: int) -> None:
        """Tell what the run has used so far."""
        numbers = self._numbers
        numbers[_TURNS] = min(turns, _MOST)
        numbers[_TOKENS_IN] = min(tokens_in, _MOST)
        numbers[_TOKENS_OUT] = min(tokens_out, _MOST)

    @property
    def turns(self) -> int:
        """Turns so far."""
        return self._numbers[_TURNS]

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens so far, (in, out)."""
        return self._numbers[_TOKENS_IN], self._numbers[_TOKENS_OUT]

    @property
    def completed(self) -> bool:
        """Is the dialog complete?"""
        return bool(self._numbers[_DONE])

    def complete(self) -> None:
        """Tell that the dialog is complete and nobody needs to finish it."""
        self._numbers[_DONE] = 1

    @property
    def agent(self) -> int:
        """The agent's pid, 0 while it has not been started."""
        return self._numbers[_AGENT]

    @agent.setter
    def agent(self, pid: int) -> None:
        self._numbers[_AGENT] = pid
