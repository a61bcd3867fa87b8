"""From a name, a program or the first lines of a stream to an adapter.

Adapters are entry points of the group `agent_wrap.adapters`, the built-in ones too:

    my-agent = "my_package.my_module:MyAgent [my-agent, my-agent-npm]"

The brackets (an entry point's extras) list the programs it adapts, so that choosing
by program imports nothing; an entry without brackets is imported and asked.
The entry points are read from `*.dist-info` by a listing: `importlib.metadata` costs
seven interpreter starts before the agent runs (docs/adr/0002).
"""

from __future__ import annotations

import os
import sys

from agent_wrap.errors import AdapterError
from agent_wrap.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from agent_wrap.adapter import Adapter

GROUP = "agent_wrap.adapters"
FALLBACK = "plain"
"""The adapter for a stream that no other one recognises."""

ACP = "acp"
"""The adapter for every agent that is started to speak the Agent Client Protocol."""

_RUNNERS: dict[str, tuple[int, str]] = {
    "env": (0, "-u --unset -C --chdir -S"),
    "nice": (0, "-n"),
    "nohup": (0, ""),
    "npx": (0, "-p --package"),
    "bunx": (0, "-p --package"),
    "uvx": (0, "--from --with --python -p"),
    "stdbuf": (0, "-i -o -e"),
    "timeout": (1, "-s --signal -k --kill-after"),
}
"""Programs that run another one: how many operands of their own come first, and
which of their options take the next word."""

_SUBCOMMAND_RUNNERS = {
    ("npm", "exec"): "-p --package",
    ("pnpm", "dlx"): "--package",
    ("pnpm", "exec"): "",
    ("yarn", "dlx"): "-p --package",
    ("uv", "run"): "--with --python -p",
    ("bun", "x"): "",
}


class Entry:
    """One line of the registry: where an adapter's class is, and its programs."""

    def __init__(self, name: str, target: str, programs: frozenset[str] | None) -> None:
        self.name = name
        self.target = target
        self._programs = programs

    def load(self) -> type[Adapter]:
        """Import the class. Raises AdapterError with the import's own words."""
        return load_class(self.name, self.target)

    @property
    def programs(self) -> frozenset[str]:
        """The programs it adapts; an entry that does not list them is imported."""
        if self._programs is None:
            try:
                self._programs = self.load().programs
            except AdapterError:  # somebody else's broken package must not end a run
                self._programs = frozenset()
        return self._programs


def load_class(name: str, target: str) -> type[Adapter]:
    """Import `package.module:Class`. Raises AdapterError."""
    module_name, _, class_name = target.partition(":")
    try:
        __import__(module_name)  # `importlib` is a module more that the agent waits for
        found = getattr(sys.modules[module_name], class_name)
    except (Exception, SystemExit) as error:
        reason = f"cannot be loaded from {target}: {type(error).__name__}: {error}"
        raise AdapterError(name, reason) from error
    if not callable(getattr(found, "feed", None)):
        raise AdapterError(name, f"{target} has no method feed(event)")
    return found  # type: ignore[no-any-return]  # checked by hand just above


def known() -> dict[str, Entry]:
    """Give all installed adapters by name; the first one found on the path wins."""
    found: dict[str, Entry] = {}
    for text in _entry_point_files():
        for entry in _parse(text):
            found.setdefault(entry.name, entry)
    return found


def find(name: str) -> Entry:
    """Give an adapter by its name, or by `package.module:Class`.

    Raises AdapterError, which names the known ones.
    """
    if ":" in name:
        return Entry(name, name, None)
    entries = known()
    if name not in entries:
        raise AdapterError(name, "is not installed", tuple(sorted(entries)))
    return entries[name]


def program_of(command: Sequence[str]) -> str:
    """Give the base name of the program that a command really runs.

    Looks through `env`, `npx`, `timeout` and the like, through npm scopes and
    versions (`@scope/name@1.2`), and through the extension of a script.
    """
    words = [word for word in command if word]
    while words:
        name = os.path.basename(words[0])
        with_value = _SUBCOMMAND_RUNNERS.get((name, "".join(words[1:2])))
        if with_value is not None:
            words = _operands(words[2:], with_value)
        elif name in _RUNNERS:
            own, with_value = _RUNNERS[name]
            words = _operands(words[1:], with_value)[own:]
        else:
            return _plain_name(words[0])
    return ""


def by_program(command: Sequence[str]) -> Entry | None:
    """Give the adapter that names the command's program, or None."""
    program = program_of(command)
    entries = known()
    if _speaks_acp(command, program):
        return entries.get(ACP)
    fitting = [e for e in entries.values() if program and program in e.programs]
    for entry in fitting:
        # Successors share their predecessor's name: then the command must tell.
        if len(fitting) == 1 or entry.load().adapts(command):
            return entry
    return None


def _speaks_acp(command: Sequence[str], program: str) -> bool:
    """Is a program started to speak ACP: by its name, a flag, or its first word?

    Not by any word: a prompt may be `acp`.
    """
    if program.endswith("-acp") or {"--acp", "--experimental-acp"} & set(command):
        return True
    return any(
        _plain_name(word) == program and "acp" in command[at : at + 1]
        for at, word in enumerate(command, 1)
    )


def recogniser(
    chosen: Callable[[str, Adapter], None],
) -> Callable[[dict[str, Any]], Adapter | None]:
    """Make a function that finds the adapter of a native event, or gives None.

    `chosen` is told the name of the adapter that was found. All adapters are
    imported at the first call: only a stream of an unknown program needs that.
    """
    classes: list[tuple[str, type[Adapter]]] = []

    def recognise(event: dict[str, Any]) -> Adapter | None:
        if not classes:
            classes.extend(_load_all())
        for name, adapter_class in classes:
            try:
                if adapter_class.recognises(event):
                    adapter = adapter_class()
                    chosen(name, adapter)
                    return adapter
            except Exception:  # a broken adapter must not hide the others
                continue
        return None

    return recognise


def _load_all() -> Iterator[tuple[str, type[Adapter]]]:
    for entry in known().values():
        try:
            yield entry.name, entry.load()
        except AdapterError:
            continue


def _operands(words: list[str], with_value: str) -> list[str]:
    """Drop a runner's own options, their values, and `NAME=VALUE` words."""
    take_next = with_value.split()
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return words[at + 1 :]
        if word in take_next:
            at += 2
        elif word.startswith("-") or ("=" in word and "/" not in word.split("=")[0]):
            at += 1
        else:
            break
    return words[at:]


def _plain_name(word: str) -> str:
    name = os.path.basename(word)
    name = name.split("@")[0] or name
    for extension in (".js", ".mjs", ".cjs", ".py", ".exe"):
        name = name.removesuffix(extension)
    return name


def _entry_point_files() -> Iterator[str]:
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            yield from _in_zip(folder)
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                path = f"{folder or '.'}/{name}/entry_points.txt"
                try:
                    with open(path, "rb", buffering=0) as file:
                        yield file.read().decode()
                except (OSError, ValueError):
                    continue


def _in_zip(path: str) -> Iterator[str]:
    """Give our own entry points when we were imported from a zip: the single file."""
    importer = sys.path_importer_cache.get(path)
    name = f"agent_wrap-{__version__}.dist-info/entry_points.txt"
    try:
        data: bytes = importer.get_data(f"{path}/{name}")  # type: ignore[union-attr]  # not every importer reads data
    except (AttributeError, OSError):
        return
    yield data.decode()


def _parse(text: str) -> Iterator[Entry]:
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            target, bracket, extras = value.partition("[")
            words = extras.rstrip("] ").replace(",", " ").split()
            programs = frozenset(words) if bracket else None
            yield Entry(name.strip(), target.strip(), programs)
