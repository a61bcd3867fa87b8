"""Mistral Vibe: `vibe -p PROMPT --output streaming`.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import SIDE_FOLDER, Prepared, SideFile, Surroundings
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.late_reader import LateReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from agent_wrap.events import Event
    from agent_wrap_adapters.reading import Reader

_OPTIONS = Options(
    one="--workdir --output --max-turns --max-price --max-tokens --time-limit --agent "
    "--prompt-file --output-dir --enabled-tools --disabled-tools --add-dir",
    maybe="-p --prompt --resume --worktree",
)
_HEADLESS = ("-p", "--prompt", "--prompt-file")
_SAME_RELEASE = ("--time-limit", "--prompt-file")
"""Options that came with `--output-dir` (2.26): an older release refuses it."""


class MistralVibe(LateReader):
    """Reads finished items of a session; chat messages of releases before 2.26."""

    programs = frozenset({"vibe", "mistral-vibe"})
    options = _OPTIONS
    session_options = ("--resume", "-c", "--continue")
    model_options = ()
    versions_checked = ("2.0.2", "2.26.1", "3.0.2")
    promises_final_event = False
    gives = (
        "text, thinking, tools once they ended (since 2.26); no model or final "
        "event; tokens from a side file, cost from a side file with --output-dir; "
        "turns are answers of the model"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.vibe_stream import VibeStream

        return VibeStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the agent by fields that every line has."""
        if "generationStatus" in event:
            return "sessionId" in event and "inputEntryId" in event
        fields = ("reasoning_content", "tool_call_id", "message_id")
        return "role" in event and all(field in event for field in fields)

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for a stream where the command runs one prompt; stdin is one as well."""
        words = list(command)
        found = cls.arguments(words)
        told = found.value("-p", "--prompt") or None
        headless, in_file = found.has(*_HEADLESS), found.has("--prompt-file")
        if headless and told is None and found.operands:
            told = found.operands[0][1]
        if found.operands and not headless:  # a session for people, or a subcommand
            return Prepared(words)
        stdin = None
        if prompt is not None and told is None and not in_file:
            stdin = as_stdin(prompt)
        added = []
        if not headless and prompt is not None:
            added.append("-p")
        if (headless or added) and not found.has("--output"):
            added.append("--output streaming")
        if found.has(*_SAME_RELEASE) and not found.has("--output-dir"):
            added.append(f"--output-dir {SIDE_FOLDER}")
        words += " ".join(added).split()  # `-p` takes the next word for its prompt
        return Prepared(
            words,
            prompt=told if prompt is None else prompt,
            stdin=stdin,
            environment={"PYTHONUNBUFFERED": "1"},
            added=added,
        )

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the export of the run, else the journal of its session."""
        from agent_wrap_adapters.vibe_side import places

        found = cls.arguments(ran.command)
        resumes = found.has("--resume", "--continue", "-c")
        return places(ran, found.value("--output-dir"), resumes=resumes)

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give tokens and cost of the run."""
        from agent_wrap_adapters.vibe_side import read

        return read(contents)
