"""Qwen Code: `qwen -o stream-json PROMPT`.

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
    one="-m --model -p --prompt -i --prompt-interactive --system-prompt --proxy "
    "--append-system-prompt --output-style --sandbox-image --approval-mode --channel "
    "--mcp-config --openai-logging-dir --openai-api-key --openai-base-url "
    "--input-format -o --output-format --json-fd --json-file --json-schema "
    "--input-file --session-id --max-session-turns --max-wall-time --max-tool-calls "
    "--max-subagent-depth --auth-type --telemetry-target --telemetry-otlp-endpoint "
    "--telemetry-otlp-protocol --telemetry-outfile",
    maybe="-r --resume --worktree",
    several="--fallback-model --allowed-mcp-server-names --allowed-tools -e "
    "--extensions --include-directories --add-dir --core-tools --exclude-tools "
    "--disabled-slash-commands",
)
_SUBCOMMANDS = (
    *("auth", "board", "channel", "extensions", "hooks", "mcp"),
    *("review", "sandbox", "serve", "sessions", "update"),
)
_OTHER_JOBS = (
    *("-h", "--help", "-v", "--version", "-l", "--list-extensions"),
    *("-i", "--prompt-interactive"),
)


class QwenCode(LateReader):
    """Reads Qwen Code's stream-json, whole and partial messages."""

    programs = frozenset({"qwen", "qwen-code"})
    options = _OPTIONS
    session_options = ("--resume", "-r", "--continue", "-c", "--session-id")
    versions_checked = ("0.15.10", "0.24.4")
    gives = (
        "text, thinking, tools (of sub-agents where they run in the foreground), "
        "model, tokens of each answer and of the run; turns are API calls"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.qwen_stream import QwenStream

        return QwenStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell it by the version in its `init`."""
        return event.get("type") == "system" and "qwen_code_version" in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for the stream; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        query = [word for _, word in found.operands]
        if found.has(*_OTHER_JOBS) or (query and query[0] in _SUBCOMMANDS):
            return Prepared(words)
        told = found.value("-p", "--prompt") or " ".join(query)
        stdin = None
        if prompt is not None and not told:
            stdin = _as_input(prompt, found.value("--input-format"))
        added = []
        if not found.has("-o", "--output-format"):
            words[found.start : found.start] = ["-o", "stream-json"]
            added.append("-o stream-json")
        asked = prompt if prompt is not None else told or None
        return Prepared(words, prompt=asked, stdin=stdin, added=added)


def _as_input(prompt: str, input_format: str) -> bytes:
    """Encode the prompt as the agent's stdin wants it."""
    if input_format != "stream-json":
        return as_stdin(prompt)
    import json

    message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
    line = {"type": "user", "message": message, "parent_tool_use_id": None}
    return json.dumps(line | {"session_id": ""}).encode() + b"\n"
