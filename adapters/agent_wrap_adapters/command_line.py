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
    session_options: ClassVar[tuple[str, ...]] = ()
    """The option that goes on with a session, and all others that choose one."""
    session_job: ClassVar[str] = ""
    """The subcommand that has it."""

    @classmethod
    def arguments(cls, command: Sequence[str]) -> Arguments:
        """Read the program's own arguments in a command."""
        return parse(command, after_program(command, cls.programs), cls.options)

    @classmethod
    def resume(cls, command: Sequence[str], session_id: str) -> Sequence[str] | None:
        """Name the session; None: another job, or a session is chosen already."""
        found = cls.arguments(command)
        if not cls.session_options or found.has(*cls.session_options):
            return None
        words, at = list(command), found.start
        if cls.session_job:
            if not found.operands or found.operands[0][1] != cls.session_job:
                return None
            at = found.operands[0][0] + 1
        words[at:at] = [cls.session_options[0], session_id]
        return words

    @classmethod
    def model_from(cls, command: Sequence[str]) -> str:
        """Give what the option for the model says."""
        return cls.arguments(command).value(*cls.model_options)
