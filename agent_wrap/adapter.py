"""What an adapter is: one method that turns native events into facts.

An adapter is pure: no clock, no file, no process, no event loop. It is called from
one thread, one line after the other, and never raises its way out of a run: what it
raises becomes `Unparsed` and is counted. Loaded before the agent runs, so this
module imports nothing that costs time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar, Literal, Protocol

    from agent_wrap.events import Event

    class Feeds(Protocol):
        """The one thing that an adapter must do."""

        def feed(self, event: dict[str, Any]) -> Iterable[Event]:
            """Give the facts that one native event states, in order."""
            ...


class Prepared:
    """A command made ready for a run.

    `command` is what is executed; `stdin` what the agent reads (None: nothing);
    `prompt` what it was asked, where that is known; `added` what was changed, one
    phrase each, to be said on stderr.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        prompt: str | None = None,
        stdin: bytes | None = None,
        environment: dict[str, str] | None = None,
        added: Sequence[str] = (),
    ) -> None:
        self.command = list(command)
        self.prompt = prompt
        self.stdin = stdin
        self.environment = environment or {}
        self.added = list(added)


class Brief:
    """What a two-way agent is told when it starts: its task, and where it works.

    `two_way` is false where its stream is only read; `session` is a session of the
    agent to go on with, where there is one.
    """

    def __init__(
        self,
        prompt: str = "",
        cwd: str = "",
        *,
        two_way: bool = False,
        session: str = "",
    ) -> None:
        self.prompt = prompt
        self.cwd = cwd
        self.two_way = two_way
        self.session = session


class Surroundings:
    """Where an agent ran: what the places of its side files are made from.

    `cwd`, `folder` and what `place` gives are ready to stand in a pattern: their own
    `*`, `?` and `[` match themselves. `folder` is the run's own, for `SIDE_FOLDER`.
    """

    def __init__(
        self,
        command: Sequence[str] = (),
        cwd: str = "",
        environment: Mapping[str, str] | None = None,
        session_id: str = "",
        folder: str = "",
    ) -> None:
        self.command = list(command)
        self.raw_cwd = cwd
        self.cwd = _escape(cwd)
        self.environment = environment or {}
        self.folder = _escape(folder)
        # It comes from the agent's bytes: nothing but a plain name leads anywhere.
        plain = session_id.replace("-", "").replace("_", "").isalnum()
        self.session_id = session_id if plain and session_id.isascii() else ""

    @property
    def session(self) -> str:
        """The session's id, or a pattern for any."""
        return self.session_id or "*"

    def place(self, variable: str, below_home: str) -> str:
        """Give the folder that a variable names, else one below the home folder."""
        named = self.environment.get(variable) if variable else ""
        home = self.environment.get("HOME") or "/nonexistent"
        return _escape(self.absolute(named or f"{home}/{below_home}"))

    def absolute(self, path: str) -> str:
        """Give a path as seen from where the agent ran."""
        return path if path.startswith("/") else f"{self.raw_cwd}/{path}"

    def given(self, path: str) -> str:
        """Give a path that the command names as a pattern that matches only it."""
        return _escape(self.absolute(path))


class SideFile:
    """A place where an agent leaves what its stdout lacks.

    `pattern` (as of `glob`) names a file, or a folder whose files `inside` names. The
    newest that was written since the run began is read.
    """

    def __init__(self, pattern: str, inside: str = "") -> None:
        self.pattern = pattern
        self.inside = inside


SIDE_FOLDER = "{side_folder}"
"""A word of a prepared command that becomes a folder of the run's own."""


class Adapter:
    """Base class of adapters. Only `feed` has to be written."""

    programs: ClassVar[frozenset[str]] = frozenset()
    """Base names of the programs (and npm packages) that speak this format."""

    reads: ClassVar[Literal["json", "text"]] = "json"
    """`text`: every line goes to `feed_text`, JSON or not."""

    two_way: ClassVar[bool] = False
    """True: the agent is spoken to over its stdin (`start`, `Send`, `answer`)."""

    names_agent: ClassVar[bool] = False
    """True: the stream says which agent it is, and `init` waits for that name."""

    brief = Brief()
    """What `start` tells a two-way agent; set before it is called."""

    promises_final_event: ClassVar[bool] = True
    """True: an exit without `RunFinished` is an error, even with code 0."""

    result_grace: ClassVar[float] = 10.0
    """Seconds that the process may live on after `RunFinished`."""

    tools_late: ClassVar[bool] = False
    """True: the agent holds a tool's start back until the tool has ended."""

    model_variables: ClassVar[tuple[str, ...]] = ()
    """Environment variables that name the model where the command does not."""

    versions_checked: ClassVar[tuple[str, ...]] = ()
    """Versions of the agent whose recordings are among the tests."""

    gives: ClassVar[str] = ""
    """What the stream tells and what it does not, one line for people."""

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one native event states, in order.

        Yield nothing for an event that is known and says nothing; yield `Unknown`
        for a type that is not known.
        """
        raise NotImplementedError

    def feed_text(self, line: str) -> Iterable[Event]:
        """Read a line that is no JSON object. Default: noise."""
        return ()

    def start(self) -> Iterable[Event]:
        """Before the first line: what a two-way agent is sent."""
        return ()

    def pause(self) -> Iterable[Event]:
        """The stream went quiet: give what is held only for a nicer grouping."""
        return ()

    def close(self) -> Iterable[Event]:
        """End of the stream: give what was held back."""
        return ()

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterable[Event]:
        """Tell a two-way agent what was decided on something it asked.

        `resolution` is `approved`, `denied`, `cancelled` (nobody decides), or
        `answered`: then `content` is a form's fields, or the answers to questions, by
        their numbers from 0 on as texts.
        """
        return ()

    def cancel(self) -> Iterable[Event]:
        """Ask a two-way agent to stop, before any signal is sent."""
        return ()

    @classmethod
    def speaks_two_way(cls, command: Sequence[str]) -> bool:
        """Is this command spoken to over its stdin? Default: what `two_way` says."""
        return cls.two_way

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Is this native event one that only this format has?"""
        return False

    @classmethod
    def adapts(cls, command: Sequence[str]) -> bool:
        """Is this command one of ours? Asked when several adapters name a program."""
        return True

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Make a command of this agent ready: missing flags, the prompt's way in.

        Called only for programs named in `programs`. With `prompt` None, find the
        prompt in the command where it is there.
        """
        return Prepared(command, prompt=prompt)

    @classmethod
    def resume(cls, command: Sequence[str], session_id: str) -> Sequence[str] | None:
        """Give the command that goes on with a session of the agent.

        None: it has no way. A two-way agent that is told in its own protocol
        (`brief.session`) gives the command as it is. Called before `prepare`, for
        programs named in `programs` and for two-way agents.
        """
        return None

    @classmethod
    def model_from(cls, command: Sequence[str]) -> str:
        """Give the model that the command names, or an empty string."""
        return ""

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name where figures are that stdout lacks, the best place first."""
        return ()

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterable[Event]:
        """Give the `Usage` and `SessionStarted` that side files state.

        Called after the run, with all files of one place. Nothing given: they are
        not this run's, and the next place is looked at.
        """
        return iter(())


def _escape(path: str) -> str:
    """Make a path match itself in a pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)
