"""Factory's Droid: `droid exec --output-format stream-json PROMPT`.

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
    one="-o --output-format --input-format -f --file --auto -s --session-id --fork -m "
    "--model -r --reasoning-effort --spec-model --spec-reasoning-effort --only-tools "
    "--add-tools --remove-tools --cwd --worktree-dir --tag --log-group-id "
    "--worker-model --worker-reasoning-effort --validator-model "
    "--validator-reasoning-effort --append-system-prompt --append-system-prompt-file",
    maybe="-w --worktree",
)
_OTHER_JOBS = ("-h", "--help", "--list-tools")


class Droid(LateReader):
    """Reads its lines; all of one answer have the same id."""

    programs = frozenset({"droid"})
    options = _OPTIONS
    session_options = ("--session-id", "-s", "--fork")
    session_job = "exec"
    versions_checked = ("0.215.0",)
    gives = (
        "text, thinking, tools, model, tokens of the run (of one that is ended "
        "early from a side file); turns are API calls"
    )

    @staticmethod
    def reader() -> Reader:
        """Make the reader of one process."""
        from agent_wrap_adapters.droid_stream import DroidStream

        return DroidStream()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell its `init` by the effort that it names."""
        first = event.get("type") == "system" and event.get("subtype") == "init"
        return first and "reasoning_effort" in event and "session_id" in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask `droid exec` for JSON lines; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        if not found.operands or found.operands[0][1] != "exec":
            return Prepared(words)
        if found.has(*_OTHER_JOBS):
            return Prepared(words)
        told = found.operands[1][1] if found.operands[1:] else None
        stdin = None
        if prompt is not None and told is None and not found.has("-f", "--file"):
            stdin = as_stdin(prompt)
        added = []
        if not found.has("-o", "--output-format", "--input-format"):
            added.append("--output-format stream-json")
        at = found.operands[0][0] + 1
        words[at:at] = " ".join(added).split()
        asked = told if prompt is None else prompt
        return Prepared(words, prompt=asked, stdin=stdin, added=added)

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the session's settings, which count its tokens."""
        if not ran.session_id:
            return []
        sessions = ran.place("", ".factory/sessions")
        return [SideFile(f"{sessions}/*/{ran.session_id}.settings.json")]

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give the tokens so far."""
        from agent_wrap_adapters.droid_stream import read_settings

        return read_settings(contents)
