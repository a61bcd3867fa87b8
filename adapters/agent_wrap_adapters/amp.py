"""Amp: `amp -x PROMPT --stream-json`, made after Claude Code's format.

By its documentation and the types of its SDK; no run was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent_wrap import Prepared
from agent_wrap.events import Event, Prompt, RunFinished, SessionStarted, Usage
from agent_wrap.shapes import get_count, get_dict, get_text
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.command_line import CommandLine
from agent_wrap_adapters.stream_json import StreamJson, unknown, usage_of

_OPTIONS = Options(
    one="--settings-file --mcp-config --log-level --log-file --mode -m --visibility "
    "--toolbox --skills --label -l",
    maybe="-x --execute",
)
_OTHER_JOBS = ("-h", "--help", "-V", "--version")
_SUBCOMMANDS = ("threads", "thread", "t", "continue", "c")
_EXECUTE = ("-x", "--execute")
_STREAM = ("--stream-json", "--stream-json-thinking")


class Amp(StreamJson, CommandLine):
    """Reads its lines; each answer comes whole, and without an id."""

    programs = frozenset({"amp"})
    options = _OPTIONS
    model_options = ()
    gives = (
        "text, thinking, tools, sub-agents' tools, tokens of each answer; model where "
        "an answer names it; turns are API calls"
    )

    def __init__(self) -> None:
        super().__init__()
        self._model = ""
        self._has_usage = False
        self.types |= {"system": self._system, "result": self._result}

    def assistant(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read an answer; the first one may name the model."""
        model = get_text(get_dict(event, "message"), "model")
        if model and not self._model and not get_text(event, "parent_tool_use_id"):
            self._model = model
            yield SessionStarted(model=model)
        yield from super().assistant(event)

    def usage(self, message: dict[str, Any], message_id: str) -> Iterator[Event]:
        """Read what an answer used."""
        if figures := get_dict(message, "usage"):
            self._has_usage = True
            yield _usage(figures, message_id)

    def user_text(self, event: dict[str, Any], text: str) -> Iterator[Event]:
        """Read the prompt, which is echoed."""
        yield Prompt(text)

    def _system(self, event: dict[str, Any]) -> Iterator[Event]:
        if get_text(event, "subtype") == "init":
            yield SessionStarted(
                session_id=get_text(event, "session_id"), cwd=get_text(event, "cwd")
            )
        else:
            yield unknown(get_text(event, "subtype"), "system/")

    def _result(self, event: dict[str, Any]) -> Iterator[Event]:
        subtype, figures = get_text(event, "subtype"), get_dict(event, "usage")
        ok = subtype == "success" and event.get("is_error") is not True
        said = get_text(event, "error") or get_text(event, "result")
        totals = None
        if figures and not self._has_usage:  # of what, is not documented
            totals = replace(_usage(figures, ""), scope="total")
        yield RunFinished(
            ok,
            "" if ok else said,
            reason=subtype,
            totals=totals,
            turns=get_count(event, "num_turns") or None,
        )

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell its `init`, the only one of the family that names tools but no model."""
        if event.get("type") != "system" or event.get("subtype") != "init":
            return False
        return "tools" in event and "mcp_servers" in event and "model" not in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON lines; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        operands = [w for _, w in found.operands if w not in _SUBCOMMANDS]
        executes = found.has(*_EXECUTE)
        if found.has(*_OTHER_JOBS) or (operands and not executes):
            return Prepared(words)  # another subcommand, or a person at a terminal
        told = found.value(*_EXECUTE) or (operands[0] if operands else None)
        asked = told if prompt is None else prompt
        added = []
        if prompt is not None and not executes:
            added.append("-x")
        if (added or executes) and not found.has(*_STREAM):
            added.append("--stream-json")
        words.extend(added)
        stdin = as_stdin(prompt) if prompt is not None and told is None else None
        return Prepared(words, prompt=asked, stdin=stdin, added=added)


def _usage(figures: dict[str, Any], message_id: str) -> Usage:
    """Read usage; in the documented example `input_tokens` has the cache in it."""
    usage = usage_of(figures, message_id)
    rest = usage.input - usage.cached - usage.cache_written
    return replace(usage, input=rest) if rest >= 0 else usage
