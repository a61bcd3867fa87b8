"""GitHub Copilot CLI: `copilot -p PROMPT --output-format json`.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared, SideFile, Surroundings
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.late_reader import LateReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from agent_wrap.events import Event
    from agent_wrap_adapters.reading import Reader

_OPTIONS = Options(
    one="-p --prompt -i --interactive --model --reasoning-effort --context --agent "
    "--auto-tier -n --name --session-id -C --log-dir --log-level --stream "
    "--output-format --add-dir --attachment --disable-mcp-server --plugin-dir "
    "--additional-mcp-config --mcp-github-auth --max-autopilot-continues --mode "
    "--enable-mcp-server --max-ai-credits --usage-output-file --extension-sdk-path "
    "--add-github-mcp-toolset --add-github-mcp-tool --dynamic-retrieval",
    maybe="-r --resume --connect --share --bash-env --mouse",
    several="--allow-tool --deny-tool --available-tools --excluded-tools --allow-url "
    "--deny-url --secret-env-vars",
)
_OTHER_JOBS = ("-i", "--interactive", "--acp", "-h", "--help", "-v", "--version")


class CopilotCli(LateReader):
    """Reads the session events that `--output-format json` prints."""

    programs = frozenset({"copilot"})
    options = _OPTIONS
    session_options = ("--resume", "-r", "--continue", "--session-id")
    model_options = ("--model",)
    model_variables = ("COPILOT_MODEL",)
    versions_checked = ("1.0.102",)
    gives = (
        "text, thinking, tools live, model; tokens from a side file; turns "
        "are API calls"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.copilot_stream import CopilotStream

        return CopilotStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the agent by the envelope of its session's first events."""
        kind, data = event.get("type"), event.get("data")
        if not (isinstance(kind, str) and isinstance(data, dict)):
            return False
        return "parentId" in event and kind.startswith(("session.", "user."))

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON where the command runs one prompt; stdin is one without `-p`."""
        words = list(command)
        found = cls.arguments(words)
        told = found.value("-p", "--prompt") or None
        if found.operands or found.has(*_OTHER_JOBS):
            return Prepared(words)
        stdin = as_stdin(prompt) if prompt is not None and told is None else None
        asked = told if prompt is None else prompt
        added = []
        if asked is not None and not found.has("--output-format"):
            added = ["--output-format", "json"]
        words[found.start : found.start] = added
        phrases = [" ".join(added)] if added else []
        return Prepared(words, prompt=asked, stdin=stdin, added=phrases)

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the usage file that was asked for, else the session's events."""
        from agent_wrap_adapters.copilot_side import places

        found = cls.arguments(ran.command)
        return places(ran, found.value("--usage-output-file"))

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give tokens by model."""
        from agent_wrap_adapters.copilot_side import read

        return read(contents, ran)
