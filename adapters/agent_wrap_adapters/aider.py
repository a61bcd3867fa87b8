"""Aider: `aider --no-pretty --message PROMPT`, text only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_wrap import Prepared
from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    SessionStarted,
    TextDelta,
    TurnStarted,
    Usage,
)
from agent_wrap.shapes import strip_terminal
from agent_wrap_adapters.argv import Options
from agent_wrap_adapters.command_line import CommandLine

_OPTIONS = Options(
    one="--model --weak-model --editor-model --openai-api-key --anthropic-api-key "
    "--openai-api-base --openai-api-type --openai-api-version "
    "--openai-api-deployment-id --openai-organization-id --set-env --api-key "
    "--list-models --models --alias --model-settings-file --model-metadata-file "
    "--reasoning-effort --thinking-tokens --timeout --edit-format --chat-mode "
    "--editor-edit-format --cache-keepalive-pings --max-chat-history-tokens "
    "--map-tokens --map-refresh --map-multiplier-no-files --input-history-file "
    "--chat-history-file --llm-history-file --aiderignore --commit-prompt "
    "--lint-cmd --test-cmd --analytics-log --apply --file --read --load "
    "--chat-language --commit-language --encoding --line-endings -c --config "
    "--env-file --editor --code-theme -m --message --msg -f --message-file"
)
_MESSAGE, _FILE = ("-m", "--message", "--msg"), ("-f", "--message-file")
_OTHER_JOBS = ("-h", "--help", "--version", "--list-models", "--models", "--gui")
_COUNT = r"([\d.]+[kM]?)"
_TOKENS = re.compile(
    rf"Tokens: {_COUNT} sent(?:, {_COUNT} cache write)?(?:, {_COUNT} cache hit)?, "
    rf"{_COUNT} received\.(?: Cost: \$([\d.]+) message)?"
)
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with .+ edit format")
_ERROR = re.compile(r"litellm\.\w+: |Model \S+ has hit a token limit!")
_OWN = re.compile(
    r"(Applied edit|Did not apply edit|Skipping edits) to |Commit [0-9a-f]{7,} |"
    r"Only \d+ reflections allowed|You can use /undo |https://aider\.chat/\S+$"
)
"""How lines of its own begin, between one answer and the next."""


class Aider(CommandLine):
    """Reads what stands between its banner and its lines of token counts."""

    reads = "text"
    programs = frozenset({"aider", "aider-chat"})
    options = _OPTIONS
    model_options = ("--model",)
    model_variables = ("AIDER_MODEL",)
    promises_final_event = False
    versions_checked = ("0.86.2",)
    gives = (
        "text, a message an answer, model, tokens of each answer (rounded above a "
        "thousand), cost; no tools; turns are answers"
    )

    def __init__(self) -> None:
        self._version = ""
        self._in_banner = True
        self._turns = 0
        self._text: list[str] = []
        self._error: list[str] = []

    def feed_text(self, line: str) -> Iterator[Event]:
        """Take a line: of the banner, of an answer, or what ends an answer."""
        text = strip_terminal(line).rstrip("\r")
        if self._in_banner and self._version and _ERROR.match(text):
            self._end_banner()
        if self._in_banner:
            yield from self._banner(text)
        elif tokens := _TOKENS.match(text):
            yield from self._answered(tokens)
        elif text.startswith("Retrying in ") and self._error:
            yield Notice(" ".join(self._error))
            self._text.clear()  # the answer that failed begins anew
            self._error.clear()
        elif self._error or _ERROR.match(text):
            self._error.append(text.strip())
        elif _OWN.match(text) and text.endswith("\n".join(self._text).strip()):
            self._text.clear()  # at most the name of the file it speaks of
            yield Notice(text)
        else:
            self._text.append(text)
            yield TextDelta(text + "\n", self._message_id)

    def close(self) -> Iterator[Event]:
        """Give an answer that has no count. Failed runs exit 0: the text tells."""
        if self._in_banner:
            if any(self._text):
                yield Notice(" ".join(filter(None, self._text))[-500:])
        elif any(map(str.strip, self._text)):
            yield from self._say()
        if self._error:
            yield RunFinished(False, " ".join(filter(None, self._error)))

    @property
    def _message_id(self) -> str:
        return f"answer-{self._turns + 1}"

    def _banner(self, text: str) -> Iterator[Event]:
        """Read on to the blank line after the versions and the model."""
        name, _, version = text.partition(" v")
        if name == "Aider":
            self._version = version
        elif model := _MODEL.match(text):
            yield SessionStarted(model=model[1], agent_version=self._version)
        elif not text and self._version:
            self._end_banner()
            return
        self._text.append(text)

    def _end_banner(self) -> None:
        self._in_banner = False
        self._text.clear()

    def _answered(self, tokens: re.Match[str]) -> Iterator[Event]:
        sent, written, cached, received = (_count(tokens[n]) for n in (1, 2, 3, 4))
        yield Usage(
            input=max(sent - cached - written, 0),
            cached=cached,
            cache_written=written,
            output=received,
            cost=float(tokens[5]) if tokens[5] else None,
            message_id=self._message_id,
        )
        self._error.clear()
        yield from self._say()

    def _say(self) -> Iterator[Event]:
        text = "\n".join(self._text).strip("\n")
        self._text.clear()
        yield TurnStarted(self._message_id)
        if text.strip():
            yield Message(text, self._message_id)
        self._turns += 1

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for plain output; a given prompt is the message."""
        words = list(command)
        found = cls.arguments(words)
        if found.has(*_OTHER_JOBS):
            return Prepared(words)
        told = found.value(*_MESSAGE) or None
        asked = told if prompt is None else prompt
        headless = asked is not None or found.has(*_FILE)
        added = []
        if headless and not found.has("--pretty", "--no-pretty"):
            added.append("--no-pretty")
        given = []
        if prompt is not None and not found.has(*_MESSAGE, *_FILE):
            given = ["--message", prompt]
        words[found.start : found.start] = [*added, *given]
        return Prepared(
            words, prompt=asked, environment={"PYTHONUNBUFFERED": "1"}, added=added
        )


def _count(text: str | None) -> int:
    """Give 1200 for `1.2k`."""
    if not text:
        return 0
    factor = {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)
    return round(float(text.rstrip("kM")) * factor)
