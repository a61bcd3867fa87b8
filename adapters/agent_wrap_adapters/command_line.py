"""What adapters of programs with options share: their arguments, the model in them.

Imports nothing but argv: it is used before the agent runs.
"""

from __future__ import annotations

from agent_wrap import Adapter
from agent_wrap_adapters.argv import Arguments, Options, after_program, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar


class CommandLine(Adapter):
    """An adapter that knows the options of its program."""

    options: ClassVar[Options]
    model_options: ClassVar[tuple[str, ...]] = ("--model", "-m")

    @classmethod
    def arguments(cls, command: Sequence[str]) -> Arguments:
        """Read the program's own arguments in a command."""
        return parse(command, after_program(command, cls.programs), cls.options)

    @classmethod
    def model_from(cls, command: Sequence[str]) -> str:
        """Give what the option for the model says."""
        return cls.arguments(command).value(*cls.model_options)
