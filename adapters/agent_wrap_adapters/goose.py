"""Goose: `goose run --output-format stream-json -t PROMPT`.

By its published source; no run was recorded.

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
    one="-t --text -i --instructions --recipe --sub-recipe --system --params -n --name "
    "--session-id --path --max-turns --max-tool-repetitions --with-extension "
    "--with-remote-extension --with-streamable-http-extension --with-builtin "
    "--provider --model --output-format --scheduled-job-id --container"
)
_OTHER_JOBS = ("-h", "--help", "--interactive", "-s", "--explain", "--render-recipe")
_TOLD = ("-t", "--text", "-i", "--instructions", "--recipe")


class Goose(LateReader):
    """Reads its lines: messages, whose text comes in pieces."""

    programs = frozenset({"goose"})
    options = _OPTIONS
    model_options = ("--model",)
    model_variables = ("GOOSE_MODEL",)
    gives = (
        "text, thinking, tools, tokens of the run in newer versions; no model; "
        "turns are answers between tools"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.goose_stream import GooseStream

        return GooseStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell its messages by how their contents name themselves."""
        message = event.get("message")
        if event.get("type") != "message" or not isinstance(message, dict):
            return False
        named = "role" in message and "created" in message
        return named and isinstance(message.get("content"), list)

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask `goose run` for JSON lines; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        if not found.operands or found.operands[0][1] != "run":
            return Prepared(words)
        if found.has(*_OTHER_JOBS):
            return Prepared(words)
        asked = prompt if prompt is not None else found.value("-t", "--text") or None
        stdin, given = None, []
        if prompt is not None and not found.has(*_TOLD):
            stdin, given = as_stdin(prompt), ["-i", "-"]
        elif prompt is not None and found.value("-i", "--instructions") == "-":
            stdin = as_stdin(prompt)
        added = []
        if not found.has("--output-format"):
            added.append("--output-format stream-json")
        at = found.operands[0][0] + 1
        words[at:at] = [*" ".join(added).split(), *given]
        return Prepared(words, prompt=asked, stdin=stdin, added=added)
