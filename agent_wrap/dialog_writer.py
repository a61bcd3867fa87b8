"""The dialog for an agent that writes its own: the seed's `DialogWriter`, made safe.

A drop-in for the protocol's reference class, on the same state machine as the
wrapper. What it alone owns is the bargain with the agent: a call never raises out of
a failing dialog, and whatever the agent forgets, repeats or leaves open, the file
that remains follows the protocol.

Under agent-wrap the wrapper owns the file: then the entries are printed, one line
each, where the adapter `dialog` reads them.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from agent_wrap.dialog import Dialog
from agent_wrap.encode import encode_within
from agent_wrap.entries import Entry
from agent_wrap.errors import ArchiveError
from agent_wrap.events import (
    Event,
    Message,
    Prompt,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Usage,
)
from agent_wrap.jsonvalue import clean
from agent_wrap.options import DEFAULT_ARCHIVE
from agent_wrap.shapes import get_count
from agent_wrap.writer import DIALOG, Archive

HELD_LINES = 1000
"""Lines kept for a file that refuses them (a full disk); then it is given up."""

_STATUSES = frozenset({"success", "error", "timeout"})


class DialogWriter:
    """Write `dialog.jsonl` for one run of an agent.

    Calls may come from any thread, and from a signal handler. An `init` or a prompt
    that is missing is supplied. The first `complete` counts, all that comes after it
    is ignored; tools that are still open are closed before it. `close` without
    `complete` ends the dialog as an error, and so does an interpreter that ends
    without either. A forked child writes nothing.

        with DialogWriter() as dialog:
            dialog.init(task="...", cwd="...", model="...", agent="my-agent")
            dialog.prompt("...")
            dialog.message("Done.", input_tokens=1500, output_tokens=42)

    As a context manager it completes by itself: success, or an error with the text
    of the exception, which goes on.
    """

    def __init__(self, archive: str | os.PathLike[str] | None = None) -> None:
        folder = archive or os.environ.get("SSE_ARCHIVE") or DEFAULT_ARCHIVE
        self.log_path = Path(folder) / DIALOG
        self.start_time = time.time()
        self.error = ""
        self._begun = time.monotonic()
        self._pid = os.getpid()
        self._dialog = Dialog()
        self._lines: deque[bytes] = deque()
        self._steps: deque[Callable[[], list[Entry]]] = deque()
        self._lock = threading.RLock()
        self._busy = False
        self._archive: Archive | None = None
        self._append: Callable[[bytes], bool] | None = None
        self._open(os.fspath(folder))
        atexit.register(self._at_exit)

    # ---- the methods of the reference class ---------------------------------

    def init(self, task: str, cwd: str, model: str, agent: str) -> None:
        """Write the first entry. Once that is written, a call is ignored."""
        self._do(lambda: self._begin(task, cwd, model, agent))

    def prompt(self, content: str) -> None:
        """Write what the agent was asked: the first prompt counts."""
        self._apply(lambda: [Prompt(_text(content))])

    def message(
        self, content: str, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Write what the assistant said. Without text it only counts: turn, tokens."""

        def events() -> list[Event]:
            turn = f"turn-{self.turns + 1}"
            given = {"in": input_tokens, "out": output_tokens}
            used = Usage(
                input=get_count(given, "in"),
                output=get_count(given, "out"),
                message_id=turn,
            )
            usage = [used] if used.input or used.output else []
            return [TurnStarted(turn), *usage, Message(_text(content), turn)]

        self._apply(events)

    def thinking(self, content: str) -> None:
        """Write reasoning."""
        self._apply(lambda: [Thinking(_text(content))])

    def tool_start(
        self, tool_id: str, name: str, args: Mapping[str, Any] | None = None
    ) -> None:
        """Write a tool's start. An id that was used before gets a suffix."""

        def events() -> list[Event]:
            given = clean(dict(args)) if args else None
            return [ToolStarted(_text(tool_id), _text(name), given)]

        self._apply(events)

    def tool_result(
        self, tool_id: str, result: str | None = None, error: str | None = None
    ) -> None:
        """Write a tool's result; with `error`, even an empty one, it failed.

        A result whose start was never written is ignored.
        """

        def events() -> list[Event]:
            said = [_text(part) for part in (error, result) if part is not None]
            output = "\n".join(filter(None, said))
            return [ToolFinished(_text(tool_id), output, ok=error is None)]

        self._apply(events)

    def complete(self, status: str = "success", message: str | None = None) -> None:
        """Close what is open and write the last entry. A second call is ignored.

        A status that the protocol does not know is an error, and the message says so.
        """
        self._do(lambda: self._end(_text(status), _text(message)))

    def close(self) -> None:
        """Close the file; a dialog that is not complete ends as an error first."""
        self.complete("error", "the dialog was closed before it was complete")
        if os.getpid() != self._pid:
            return
        self._do(self._shut)
        atexit.unregister(self._at_exit)

    # ---- its attributes -----------------------------------------------------

    @property
    def seq(self) -> int:
        """The number of the next entry."""
        return self._dialog.seq

    @property
    def turns(self) -> int:
        """How many messages the assistant has given."""
        return self._dialog.account.turns

    @property
    def total_input_tokens(self) -> int:
        """What the model has read."""
        return self._dialog.account.tokens.total_in

    @property
    def total_output_tokens(self) -> int:
        """What the model has written."""
        return self._dialog.account.tokens.output

    @property
    def pending_tools(self) -> dict[str, str]:
        """The tools that wait for their result: id -> name."""
        return {tool.native_id: tool.name for tool in self._dialog.open_tools}

    # ---- as a context manager -----------------------------------------------

    def __enter__(self) -> DialogWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        def end() -> list[Entry]:
            return self._end(*_account_of(error))

        self._do(end)
        self.close()

    # ---- one step at a time -------------------------------------------------

    def _begin(self, task: str, cwd: str, model: str, agent: str) -> list[Entry]:
        if self._dialog.state != "NEW":
            return []
        self._dialog.task = _text(task)
        self._dialog.cwd = _text(cwd) or _current_folder()
        self._dialog.model = _text(model) or _model_given()
        self._dialog.agent = _text(agent)
        return self._dialog.begin(time.time())

    def _end(self, status: str, message: str) -> list[Entry]:
        if self._dialog.state == "COMPLETE":
            return []
        if status not in _STATUSES:
            message = f"status {status!r}: {message}".removesuffix(": ")
            status = "error"
        begun = self._begin("", "", "", "")
        return begun + self._dialog.complete(
            status,
            duration_ms=int((time.monotonic() - self._begun) * 1000),
            now=time.time(),
            message=message,
        )

    def _apply(self, events: Callable[[], list[Event]]) -> None:
        def step() -> list[Entry]:
            if self._dialog.state == "COMPLETE":
                return []
            given = events()
            # A prompt may come before init; all else has to stand behind it.
            waits = isinstance(given[0], Prompt)
            entries = [] if waits else self._begin("", "", "", "")
            now = time.time()
            for event in given:
                entries += self._dialog.apply(event, now)
            return entries

        self._do(step)

    def _do(self, step: Callable[[], list[Entry]]) -> None:
        """Take one step after the other, whoever asks for them.

        A signal handler may call in the middle of a step of its own thread: then its
        step waits in the queue, and the interrupted call goes on with it.
        """
        if os.getpid() != self._pid:
            return
        self._steps.append(step)
        with self._lock:
            if self._busy:
                return
            self._busy = True
            try:
                while self._steps:
                    self._guarded(self._take)
            finally:
                self._busy = False

    def _take(self) -> None:
        entries = self._steps.popleft()()
        budget = self._dialog.budget
        for entry in entries if self._append is not None else ():
            line, _ = encode_within(entry, budget.longest_line)
            budget.spend(len(line))
            self._lines.append(line)
        # Taken out before it is written: an exception that a signal handler raises
        # comes after the write, and the line must not be written twice.
        while self._lines and self._append is not None:
            line = self._lines.popleft()
            if not self._append(line):
                self._lines.appendleft(line)
                self._refused()
                break

    def _refused(self) -> None:
        cause = self._archive.dialog.error if self._archive is not None else None
        self._fail(f"{self.log_path}: {cause or 'nothing can be written'}")
        if len(self._lines) > HELD_LINES:
            self._shut()

    def _shut(self) -> list[Entry]:
        archive, self._archive, self._append = self._archive, None, None
        if archive is not None:
            archive.close()
        return []

    def _guarded(self, call: Callable[[], None]) -> None:
        """A failing dialog never fails the agent."""
        try:
            call()
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, what: str) -> None:
        """Say once, on stderr, that the dialog is not what it should be."""
        if self.error:
            return
        self.error = what
        try:
            print(f"agent-wrap: dialog: {what}", file=sys.stderr)
        except (OSError, ValueError, AttributeError):
            pass

    def _open(self, folder: str) -> None:
        if os.environ.get("AGENT_WRAP_RUN"):
            self._append = _print
            return
        try:
            self._archive = Archive.open(folder, dialog_only=True)
            self._append = self._archive.dialog.append
        except (ArchiveError, OSError, ValueError) as error:
            self._fail(str(error))

    def _at_exit(self) -> None:
        error = getattr(sys, "last_value", None)  # what the interpreter died of
        said = "the agent ended before the dialog was complete"
        if isinstance(error, BaseException):
            said += f": {_account_of(error)[1]}"
        self.complete("error", said)
        self.close()


def _print(line: bytes) -> bool:
    """Write to the process's own standard output, also where it is redirected.

    Through the interpreter's own buffer, so that what the agent prints keeps its
    place between the entries.
    """
    out = sys.__stdout__
    if out is not None:
        out.write(line.decode("ascii"))
        out.flush()
    return out is not None


def _text(value: object) -> str:
    """Give what an agent passes for a string as one; None is empty."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, dict | list | tuple):
        return json.dumps(clean(value), ensure_ascii=False)
    return str(value)


def _account_of(error: BaseException | None) -> tuple[str, str]:
    """Say how a run ended that ended with this exception: status and message."""
    if error is None:
        return "success", ""
    if isinstance(error, SystemExit):
        if error.code is None or error.code == 0:
            return "success", ""
        said = f"exit code {error.code}" if isinstance(error.code, int) else error.code
        return "error", _text(said)
    if isinstance(error, KeyboardInterrupt):
        return "error", "interrupted"
    return "error", f"{type(error).__name__}: {error}".removesuffix(": ")


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _model_given() -> str:
    model = os.environ.get("SSE_MODEL_NAME", "")
    return "" if model == "none" else model
