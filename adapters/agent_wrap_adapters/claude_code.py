"""Claude Code: `claude -p PROMPT --output-format stream-json --verbose`.

With `--input-format stream-json` it is spoken to over its stdin: the prompt goes in as
a message, and what it asks for is answered.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.command_line import CommandLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from agent_wrap.events import Event

_OPTIONS = Options(
    one="--model --output-format --input-format --max-turns --max-budget-usd --agent "
    "--agents --append-system-prompt --append-system-prompt-file --system-prompt "
    "--system-prompt-file --debug-file --effort --fallback-model --json-schema "
    "--max-thinking-tokens --thinking --name -n --permission-mode --plugin-dir "
    "--permission-prompt-tool --session-id --setting-sources --settings",
    maybe="--resume -r --debug -d --from-pr --worktree -w --remote --teleport",
    several="--allowedTools --allowed-tools --disallowedTools --disallowed-tools "
    "--tools --add-dir --mcp-config --betas --file",
)
_SUBCOMMANDS = (
    "agents",
    "auth",
    "auto-mode",
    "config",
    "doctor",
    "install",
    "mcp",
    "migrate-installer",
    "plugin",
    "plugins",
    "project",
    "remote-control",
    "setup-token",
    "ultrareview",
    "update",
    "upgrade",
)
_PROMPTERS = ("--permission-prompt-tool", "--dangerously-skip-permissions")
_ASKS_ONLY = ("-h", "--help", "-v", "--version")


class ClaudeCode(CommandLine):
    """Reads Claude Code's stream-json, whole and partial messages."""

    programs = frozenset({"claude", "claude-code"})
    options = _OPTIONS
    session_options = ("--resume", "-r", "--continue", "-c", "--session-id")
    model_options = ("--model",)
    model_variables = ("ANTHROPIC_MODEL",)
    versions_checked = ("2.1.197", "2.1.332")
    gives = (
        "text, thinking, tools, sub-agents' tools, model, tokens of each answer "
        "and of the run, cost; turns are API calls"
    )

    def __init__(self) -> None:
        from agent_wrap_adapters.claude_stream import ClaudeStream

        self._stream = ClaudeStream()

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one line states."""
        return self._stream.feed(event)

    def start(self) -> Iterator[Event]:
        """Begin the conversation, where there is one."""
        return self._stream.control.start(self.brief)

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """Answer a request for permission, a question or a form."""
        return self._stream.control.answer(interaction_id, resolution, content)

    def cancel(self) -> Iterator[Event]:
        """Interrupt the agent."""
        return self._stream.control.cancel()

    def close(self) -> Iterator[Event]:
        """Give what the agent was saying when its stream ended."""
        return self._stream.close()

    @classmethod
    def speaks_two_way(cls, command: Sequence[str]) -> bool:
        """Does the command read messages rather than a prompt?"""
        found = cls.arguments(command)
        reads = found.value("--input-format") == "stream-json"
        return reads and found.has("-p", "--print")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell Claude Code's `init` from those of the formats made after it."""
        if event.get("type") != "system" or event.get("subtype") != "init":
            return False
        if "claude_code_version" in event:
            return True
        qwen, droid = "qwen_code_version" in event, "reasoning_effort" in event
        amp = "tools" in event and "model" not in event
        cursor = "apiKeySource" in event and "tools" not in event
        return "session_id" in event and not (qwen or droid or amp or cursor)

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for the stream where the command leaves the format open."""
        words = list(command)
        found = cls.arguments(words)
        told = _prompt_in(words, found.start) or next(
            (w for _, w in found.operands), None
        )
        prints = found.has("-p", "--print")
        other_job = told in _SUBCOMMANDS and not prints
        if other_job or found.has(*_ASKS_ONLY):
            return Prepared(words)
        two_way = found.value("--input-format") == "stream-json"
        stdin = None
        if prompt is not None and told is None and not two_way:
            stdin = as_stdin(prompt)
        asked = told if prompt is None else prompt
        added: list[str] = []
        if not prints and asked is not None:
            added.append("-p")
        output = found.value("--output-format")
        if output not in ("", "stream-json") or not (prints or added):
            return Prepared(words, prompt=asked, stdin=stdin)
        if not output:
            added.extend(("--output-format", "stream-json"))
            # Only partial messages tell how much was written, should the run be killed.
            if not found.has("--include-partial-messages"):
                added.append("--include-partial-messages")
        if not found.has("--verbose"):  # without it: an error, and no output at all
            added.append("--verbose")
        if two_way and not found.has(*_PROMPTERS):  # else it decides alone
            added.extend(("--permission-prompt-tool", "stdio"))
        words[found.start : found.start] = added
        return Prepared(words, prompt=asked, stdin=stdin, added=_phrases(added))


def _prompt_in(words: list[str], start: int) -> str | None:
    """Give the word after `-p`: a prompt, whatever options stand before."""
    for at in range(start, len(words) - 1):
        if words[at] in ("-p", "--print") and not words[at + 1].startswith("-"):
            return words[at + 1]
        if words[at] == "--":
            break
    return None


def _phrases(added: list[str]) -> list[str]:
    """Join an option and its value to one phrase."""
    return " ".join(added).replace(" -", "\n-").split("\n")
