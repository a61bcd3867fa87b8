"""Continue: `cn -p PROMPT`, which prints its last answer and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import Prepared, SideFile, Surroundings
from agent_wrap.events import Event, Message, TextDelta, TurnStarted
from agent_wrap.jsonvalue import objects
from agent_wrap.shapes import get_dict, get_text, strip_terminal
from agent_wrap_adapters.argv import Options
from agent_wrap_adapters.command_line import CommandLine
from agent_wrap_adapters.side_usage import document, usage

_OPTIONS = Options(
    one="--config --org --rule --mcp --model --prompt --allow --ask --exclude --agent "
    "--format --fork"
)
_SUBCOMMANDS = ("checks", "login", "logout", "ls", "remote", "review", "serve")
_OTHER_JOBS = ("-h", "--help", "-v", "--version")
_USAGE = "promptTokens cachedTokens cacheWriteTokens completionTokens -"
_NOTE = "Response was not valid JSON"


class Continue(CommandLine):
    """Takes all of the output for one message."""

    reads = "text"
    programs = frozenset({"cn"})
    options = _OPTIONS
    model_options = ("--model",)
    promises_final_event = False
    versions_checked = ("1.5.47",)
    gives = "the last answer; no tools, no model; tokens from a side file; one turn"

    def __init__(self) -> None:
        self._lines: list[str] = []

    def feed_text(self, line: str) -> Iterator[Event]:
        """Take a line of the answer; errors go to stderr, with exit code 1."""
        found = objects(line.encode()) if line.startswith("{") else None
        wrapped = found is not None and len(found) == 1 and self.recognises(found[0])
        if found and wrapped:
            text = get_text(found[0], "response")
        else:
            text = strip_terminal(line).rstrip("\r")
        self._lines.append(text)
        yield TextDelta(text + "\n", "answer")

    def close(self) -> Iterator[Event]:
        """Give the answer."""
        text = "\n".join(self._lines).strip("\n")
        if text.strip():
            yield TurnStarted("answer")
            yield Message(text, "answer")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell an answer that `--format json` wraps, as it is none itself."""
        fields = event.keys() >= {"response", "status", "note"}
        return fields and get_text(event, "note").startswith(_NOTE)

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Print and exit. No `--format json`: it tells the model to answer in JSON."""
        words = list(command)
        found = cls.arguments(words)
        told = found.operands[0][1] if found.operands else None
        if told in _SUBCOMMANDS or found.has(*_OTHER_JOBS):
            return Prepared(words)
        asked = told if prompt is None else prompt
        added = []
        if asked is not None and not found.has("-p", "--print"):
            added.append("-p")
        words[found.start : found.start] = added
        if prompt is not None and told is None:
            words.extend(("--", prompt) if prompt.startswith("-") else (prompt,))
        return Prepared(words, prompt=asked, added=added)

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the sessions; which one is ours, only its content tells."""
        home = ran.place("CONTINUE_GLOBAL_DIR", ".continue")
        return [SideFile(f"{home}/sessions/*-*-*-*-*.json")]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give the tokens of the session that was held in this folder."""
        for data in contents:
            session = document(data)
            figures = get_dict(session, "usage")
            if figures and get_text(session, "workspaceDirectory") == ran.raw_cwd:
                cached = get_dict(figures, "promptTokensDetails")
                # Its cost is a guess for models that it has no price for: left out.
                yield usage({**figures, **cached}, _USAGE, cache_inside=True)
