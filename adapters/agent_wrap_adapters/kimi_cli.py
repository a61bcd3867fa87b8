"""kimi-cli, before it became another program: `kimi --print -p PROMPT`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import Prepared
from agent_wrap.events import Event, Notice, Unknown
from agent_wrap.shapes import get_dicts, get_text, strip_terminal
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.chat_messages import read_answer, read_result, text_of
from agent_wrap_adapters.command_line import CommandLine

_OPTIONS = Options(
    one="-m --model -p --prompt -c --command --output-format --input-format -w "
    "--work-dir --add-dir --agent --agent-file --config --config-file --mcp-config "
    "--mcp-config-file --max-steps-per-turn --max-retries-per-step --skills-dir "
    "--max-ralph-iterations",
    maybe="-S --session -r --resume",
)
_PROMPT = ("-p", "--prompt", "-c", "--command")
_WIDTH, _KEPT = 80, 2000
_FAILED = "<system>ERROR: "


class KimiCli(CommandLine):
    """Reads chat messages; errors are lines of plain text."""

    programs = frozenset({"kimi", "kimi-cli"})
    options = _OPTIONS
    versions_checked = ("1.50.0",)
    tools_late = True
    promises_final_event = False
    gives = (
        "text, thinking, tools (start and result together); no model, tokens or final "
        "event; turns are steps"
    )

    def __init__(self) -> None:
        self._steps = 0
        self._complaint = ""

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        role = get_text(event, "role")
        if role == "assistant":
            self._steps += 1
            yield from read_answer(event, f"step-{self._steps}")
        elif role == "tool":
            yield read_result(event, not text_of(event).startswith(_FAILED))
        else:
            yield Unknown(role or "(no role)")

    def feed_text(self, line: str) -> Iterator[Event]:
        """Read a line of an error: long ones are cut at 80 columns, even in words."""
        text = strip_terminal(line).strip("\r\n")
        if text.strip():
            self._complaint = (self._complaint + text)[-_KEPT:]
            yield Notice(self._complaint)
            self._complaint += "" if len(text) == _WIDTH else " "

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the agent by the first part of a tool's result, or by its thinking."""
        if event.get("role") == "tool":
            return text_of(event).startswith("<system>")
        parts = get_dicts(event, "content")
        return event.get("role") == "assistant" and any("think" in p for p in parts)

    @classmethod
    def adapts(cls, command: Sequence[str]) -> bool:
        """Tell this `kimi` from its successor, which has no `--print`."""
        return "--print" in command

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON lines where the command prints; stdin is a prompt as well."""
        words = list(command)
        found = cls.arguments(words)
        told = found.value(*_PROMPT) or None
        if found.operands or found.has("--acp", "-h", "--help", "-V", "--version"):
            return Prepared(words, prompt=told)
        asked = told if prompt is None else prompt
        stdin = as_stdin(prompt) if prompt is not None and told is None else None
        added = []
        if asked is not None and not found.has("--print", "--quiet"):
            added.append("--print")
        if (added or found.has("--print")) and not found.has("--output-format"):
            added.append("--output-format stream-json")
        words[found.start : found.start] = " ".join(added).split()
        unbuffered = {"PYTHONUNBUFFERED": "1"}
        return Prepared(
            words, prompt=asked, stdin=stdin, environment=unbuffered, added=added
        )
