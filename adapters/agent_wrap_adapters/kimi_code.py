"""Kimi Code: `kimi -p PROMPT --output-format stream-json`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import Prepared, SideFile, Surroundings
from agent_wrap.events import (
    Event,
    HookUpdated,
    Notice,
    RunFinished,
    SessionStarted,
    Unknown,
)
from agent_wrap.shapes import get_text
from agent_wrap_adapters.argv import Options
from agent_wrap_adapters.chat_messages import read_answer, read_result, text_of
from agent_wrap_adapters.command_line import CommandLine
from agent_wrap_adapters.kimi_side import places, read

_OPTIONS = Options(
    one="-m --model -p --prompt --output-format --skills-dir --agent --agent-file "
    "--add-dir",
    maybe="-S --session -r --resume",
)
_HOOK = re.compile(r"([A-Z][A-Za-z]+) hook( blocked)?\n\n(.*)", re.DOTALL)

# The agent's own words for a failed tool; the stream has no flag.
_FAILED = re.compile(
    r"""Tool\ "[^"\n]*"\ not\ found
    | Invalid\ args\ for\ tool\ "[^"\n]*":\ .*
    | "[^"\n]*"\ does\ not\ exist\.
    | (?: .*\n )? (?:
        Command\ failed\ with\ exit\ code:\ -?\d+\.
        | Command\ killed\ by\ timeout\ \([^()\n]*\)
        | Interrupted\ by\ user
        | Session\ closed
    )""",
    re.VERBOSE | re.DOTALL,
)


class KimiCode(CommandLine):
    """Reads chat messages, and `meta` lines about the session."""

    programs = frozenset({"kimi", "kimi-code"})
    options = _OPTIONS
    session_options = ("--session", "-S", "-r", "--resume", "--continue", "-C")
    versions_checked = ("2.1.0",)
    tools_late = True
    gives = (
        "text, tools (start and result together at the end of a step); no thinking; "
        "model and tokens from a side file; turns are steps"
    )

    def __init__(self) -> None:
        self._steps = 0
        self._goal = ""

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        role, kind = get_text(event, "role"), get_text(event, "type")
        if role == "assistant":
            hook = _HOOK.fullmatch(text_of(event))
            if hook and not event.get("tool_calls"):
                yield _hook(hook)
                return
            self._steps += 1
            yield from read_answer(event, f"step-{self._steps}")
        elif role == "tool":
            yield read_result(event, not _FAILED.fullmatch(text_of(event)))
        elif kind == "system.version":
            yield SessionStarted(agent_version=get_text(event, "version"))
        elif kind == "turn.step.retrying":
            yield Notice(get_text(event, "error_message"))
        elif kind == "goal.summary":
            self._goal = get_text(event, "status")
        elif kind == "session.resume_hint":  # the last line, of a run that ended well
            yield SessionStarted(session_id=get_text(event, "session_id"))
            reached = self._goal in ("", "complete")
            yield RunFinished(reached, "" if reached else f"goal: {self._goal}")
        else:
            yield Unknown("/".join(filter(None, (role, kind))) or "(no type)")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the agent by its `meta` lines; the first line is one."""
        kind = event.get("type")
        told = isinstance(kind, str) and kind.startswith(
            ("system.", "session.", "turn.")
        )
        return told and event.get("role") == "meta"

    @classmethod
    def adapts(cls, command: Sequence[str]) -> bool:
        """Tell this `kimi` from its predecessor, which needs `--print`."""
        return "--print" not in command

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON lines where there is a prompt; it can only be an argument."""
        words = list(command)
        found = cls.arguments(words)
        told = found.value("-p", "--prompt") or None
        # `--print` is of the program that had this name before.
        if found.operands or found.has("--print", "-h", "--help", "-V", "--version"):
            return Prepared(words, prompt=told)
        asked = told if prompt is None else prompt
        if asked is None:
            return Prepared(words)
        if told is None:
            words[found.start : found.start] = ["-p", asked]
        added = []
        if not found.has("--output-format"):
            added = ["--output-format", "stream-json"]
        words[found.start : found.start] = added
        return Prepared(words, prompt=asked, added=[" ".join(added)] if added else [])

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the session's wires."""
        return places(ran)

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give the tokens of each step of each agent."""
        return read(contents)


def _hook(told: re.Match[str]) -> HookUpdated:
    """Read the result of a hook: it is printed as if the assistant had said it."""
    name, blocked, text = told.groups()
    return HookUpdated(name, "failed" if blocked else "completed", name, text)
