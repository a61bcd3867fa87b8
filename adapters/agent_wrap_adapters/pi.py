"""Pi: `pi --mode json -p PROMPT`.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.late_reader import LateReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_wrap_adapters.reading import Reader

_OPTIONS = Options(
    one="--provider --model --api-key --system-prompt --append-system-prompt --mode "
    "--session --session-id --fork --session-dir --name -n --models --tools -t "
    "--exclude-tools -xt --thinking --extension -e --skill --prompt-template --theme "
    "--use-theme --export --tui-mode",
    maybe="--list-models",
)
_SUBCOMMANDS = (
    *("install", "remove", "uninstall", "update"),
    *("list", "config", "auth", "mcp"),
)
_OTHER_JOBS = ("-h", "--help", "-v", "--version", "--export", "--list-models")


class Pi(LateReader):
    """Reads Pi's JSON mode."""

    programs = frozenset({"pi", "pi-coding-agent"})
    options = _OPTIONS
    session_options = (
        *("--session", "--continue", "-c", "--resume"),
        *("-r", "--session-id", "--fork", "--no-session"),
    )
    model_options = ("--model",)
    versions_checked = ("0.74.2", "1.6.0")
    gives = (
        "text, thinking, tools, model, tokens and cost of each answer; turns are API "
        "calls"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.pi_stream import PiStream

        return PiStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell it by the header of its session."""
        header = event.get("type") == "session" and isinstance(event.get("cwd"), str)
        return header and isinstance(event.get("version"), int) and "id" in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON lines; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        operands = [word for _, word in found.operands]
        other_job = bool(operands) and operands[0] in _SUBCOMMANDS
        if found.has(*_OTHER_JOBS) or (other_job and not found.has("-p", "--print")):
            return Prepared(words)
        # Each further message is a prompt of its own, said when the agent has answered.
        messages = [word for word in operands if not word.startswith("@")]
        stdin = as_stdin(prompt) if prompt is not None and not operands else None
        if prompt is None and messages == operands and operands:
            prompt = messages[0]
        added = []
        if not found.has("--mode"):
            words[found.start : found.start] = ["--mode", "json"]
            added.append("--mode json")
        return Prepared(words, prompt=prompt, stdin=stdin, added=added)
