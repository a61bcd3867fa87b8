"""Reading an agent's command line: where its own arguments begin, what they say.

Imports nothing: it is used before the agent runs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Options:
    """Which options of a program take values: always one, maybe one, or several.

    Given as their names in one text, separated by blanks.
    """

    def __init__(self, one: str, maybe: str = "", several: str = "") -> None:
        self.one = frozenset(one.split())
        self.maybe = frozenset(maybe.split())
        self.several = frozenset(several.split())


class Arguments:
    """A program's arguments: `given` options with their values, and the operands.

    An operand is a pair of its place in the command and the word. `start` is the place
    of the first argument.
    """

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.given: dict[str, list[str]] = {}
        self.operands: list[tuple[int, str]] = []

    def has(self, *names: str) -> bool:
        """Is any of these options given?"""
        return any(name in self.given for name in names)

    def value(self, *names: str) -> str:
        """Give the last value of the first of these options that is given."""
        for name in names:
            if values := self.given.get(name):
                return values[-1]
        return ""


def after_program(command: Sequence[str], programs: frozenset[str]) -> int:
    """Give the place of the first argument of the program that a command really runs.

    Looks through `env A=b`, `npx`, `npm exec pkg --` and whatever else comes before.
    """
    names = [_name(word) for word in command]
    at = next((at for at, name in enumerate(names) if name in programs), len(names)) + 1
    while at < len(names) and names[at] in programs:  # npx -p PACKAGE NAME
        at += 1
    if list(command[at : at + 1]) == ["--"] and names[0] in ("npm", "pnpm"):
        at += 1
    return min(at, len(names))


def parse(command: Sequence[str], start: int, options: Options) -> Arguments:
    """Read the words from `start` on; an option that is not known takes no value."""
    found = Arguments(start)
    at = start
    while at < len(command):
        word = command[at]
        at += 1
        if word == "--":
            found.operands.extend(enumerate(command[at:], at))
            break
        if word == "-" or not word.startswith("-"):
            found.operands.append((at - 1, word))
            continue
        name, attached, value = word.partition("=")
        if not word.startswith("--") and name[:2] in options.one and len(word) > 2:
            name, attached, value = word[:2], "yes", word[2:].removeprefix("=")
        values = found.given.setdefault(name, [])
        if attached:
            values.append(value)
            continue
        for _ in range(_values(command, at, name, options)):
            values.append(command[at])
            at += 1
    return found


def as_stdin(prompt: str) -> bytes:
    """Encode a prompt for an agent's stdin, whatever the operator's bytes were."""
    return prompt.encode("utf-8", "replace")


def _values(command: Sequence[str], at: int, name: str, options: Options) -> int:
    """Count the words from `at` on that are values of an option."""
    if name in options.one:
        return 1 if at < len(command) else 0
    if name in options.maybe:
        return 1 if at < len(command) and not command[at].startswith("-") else 0
    end = at
    if name in options.several:
        while end < len(command) and not command[end].startswith("-"):
            end += 1
    return end - at


def _name(word: str) -> str:
    """Give `claude` for `/bin/claude`, `codex` for `@openai/codex@0.171.0`."""
    if "=" in word.split("/")[0]:
        return ""
    name = word.rsplit("/", 1)[-1]
    name = name.split("@")[0] or name
    for extension in (".js", ".mjs", ".cjs", ".exe"):
        name = name.removesuffix(extension)
    return name
