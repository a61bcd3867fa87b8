"""What is found out and noted once the agent is gone, and the summary that tells it."""

from __future__ import annotations

from agent_wrap import drift, side_files
from agent_wrap.adapter import Adapter, Surroundings
from agent_wrap.assembly import Assembly
from agent_wrap.encode import encode
from agent_wrap.outcome import Cause
from agent_wrap.plan import clean_prompt_file
from agent_wrap.stderr import say
from agent_wrap.summary import Measured, build
from agent_wrap.writer import STDERR, STDOUT, SUMMARY, Archive

ORDERLY = (Cause.EXITED, Cause.RESULT_GRACE)
"""The agent itself has ended the run, and said what it had to say."""

SIDE_PATIENCE = 1.0
"""What side files may cost; after a limit or a stop signal somebody waits for us."""


class Closing:
    """The last look at a run. `notes` is what it finds odd, for the summary."""

    def __init__(self, parts: Assembly, archive: Archive, notes: list[str]) -> None:
        self.notes = notes
        self._parts = parts
        self._plan = parts.plan
        self._recorder = parts.recorder
        self._archive = archive

    def look_back(self, cause: Cause | None) -> None:
        """Learn and note what only the end shows of an agent that has run."""
        self._check_that_limits_could_be_kept()
        for name, log in (
            (STDOUT, self._archive.stdout),
            (STDERR, self._archive.stderr),
        ):
            if log.lost:
                why = log.error.strerror if log.error else "unknown"
                self.notes.append(f"{name} lacks {log.lost} bytes: {why}")
        adapter = self._recorder.reader.adapter
        if adapter is not None:
            self._read_side_files(type(adapter), orderly=cause in ORDERLY)

    def look_for_drift(self) -> None:
        """Say what is not as the adapter knows it: version, events, lines."""
        reader, session = self._recorder.reader, self._recorder.story.session
        if reader.adapter is not None:
            kind, name = type(reader.adapter), self._plan.adapter_name
            unknown = reader.unknown_types
            self._say(drift.warning(kind, name, session.agent_version, unknown))
        unread = reader.counts["unparsable"]
        if unread:
            lines = "line" if unread == 1 else "lines"
            self._say(f"{unread} {lines} of stdout could not be read: see {STDOUT}")

    def write_summary(self, measured: Measured) -> None:
        """Write `summary.json`; a disk that takes it no more is said."""
        redactor = self._recorder.redactor
        clean_prompt_file(self._plan, self._archive, redactor)
        summary = build(self._plan, measured, self._recorder)
        data = redactor.replace_line(encode(summary))
        error = self._archive.write_file(SUMMARY, data)
        if error is not None:
            say(f"{SUMMARY} could not be written: {error.strerror}")

    def _check_that_limits_could_be_kept(self) -> None:
        """A limit on what the agent never reported is no limit: say so."""
        settings = self._plan.settings
        if settings.max_tokens is not None and not self._recorder.dialog.account.tokens:
            self._say("--max-tokens had no effect: the agent reported no usage")
        if settings.max_cost is not None:
            self._say(self._parts.cost_note())

    def _read_side_files(self, adapter: type[Adapter], *, orderly: bool) -> None:
        """Take the figures that stdout lacked from what the agent left beside it."""
        plan, recorder = self._plan, self._recorder
        if not recorder.dialog.account.tokens:
            ran = Surroundings(
                plan.command,
                plan.cwd,
                plan.environment,
                recorder.story.session.session_id,
                plan.side_folder,
            )
            told = side_files.read(
                adapter,
                ran,
                since=plan.created,
                patience=SIDE_PATIENCE if orderly else SIDE_PATIENCE / 4,
                identity=plan.identity,
            )
            recorder.learn(told.facts)
            self.notes += told.notes
        side_files.remove_folder(plan.side_folder)

    def _say(self, note: str | None) -> None:
        if note:
            self.notes.append(note)
            say(note)
