"""Runs from Python: `run`, `arun`, `open_run`, and what they give back.

A run always executes a guardian process of its own, the same program as the command
line: nothing is forked in the caller, its signal handlers and children are left
alone. A caller that is killed ends its runs: their dialogs are complete.
"""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agent_wrap import answers
from agent_wrap.entries import timestamp
from agent_wrap.errors import AgentWrapError, ArchiveError, UsageError, did_you_mean
from agent_wrap.event_lines import from_line
from agent_wrap.events import Event
from agent_wrap.lines import LineDecoder
from agent_wrap.options import OPTIONS
from agent_wrap.settings import Settings, read
from agent_wrap.writer import DIALOG, SUMMARY


@dataclass(frozen=True)
class RunResult:
    """A finished run: `summary.json` (docs/command-line.md), and where its files are.

    Times are milliseconds, `cost_usd` is in US dollars, None is what is not known.
    """

    archive: str
    dialog_path: str
    status: Literal["success", "error", "timeout"]
    exit_code: int
    reason: str
    message: str
    agent_exit: dict[str, Any]
    task: str
    cwd: str
    model: str
    agent: str
    adapter: dict[str, str]
    command: list[str]
    started_at: str
    ended_at: str
    duration_ms: int
    turns: int
    tokens: dict[str, int]
    reported: dict[str, int | None]
    tools: dict[str, int]
    lines: dict[str, int]
    entries: int
    entries_lost: int
    cost_usd: float | None = None
    first_output_ms: int | None = None
    last_progress_ms: int | None = None
    session_id: str = ""
    agent_version: str = ""
    wrapper_version: str = ""
    version: int = 1
    fields_cut: int = 0
    redactions: int = 0
    unknown_events: dict[str, int] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    killed: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Did the run succeed, by its status and its exit code?"""
        return self.status == "success" and self.exit_code == 0


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any
) -> RunResult:
    """Run an agent to its end.

    `options` are the command line's, with underscores (`timeout=60`, `archive="out"`,
    `prompt="..."`); `env` is the agent's environment (default: ours). Nothing is
    echoed unless `echo` says so. Raises UsageError or ArchiveError when the agent was
    not started; a command that cannot be executed is a result with code 126 or 127.
    """
    call = _Call(command, env, options)
    words = [*call.program, *call.arguments]
    with _passing_on():
        started = subprocess.Popen(
            words, stdin=subprocess.PIPE, env=call.environment, **call.outputs
        )
    with started as process:
        try:
            _, said = process.communicate(call.stdin)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    return call.result(process.returncode, said or b"")


async def arun(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any
) -> RunResult:
    """Do what `run` does, without blocking the event loop (asyncio or trio).

    Cancelling ends the run as a stop signal does: its dialog is complete.
    """
    async with _open(command, env, options, answered=False) as started:
        return await started.result()


class Run:
    """A run under way: iterate over its events, then ask for its `result`."""

    def __init__(
        self,
        call: _Call,
        process: Process,
        events: MemoryObjectReceiveStream[Event],
        answering: answers.Writer,
    ) -> None:
        self._call = call
        self._process = process
        self._events = events
        self._answering = answering
        self._said = bytearray()

    @property
    def archive(self) -> str:
        """Where the run's files are written."""
        return self._call.settings.archive

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events.__aiter__()

    async def result(self) -> RunResult:
        """Wait for the run's end. Raises as `run` does."""
        code = await self._process.wait()
        return self._call.result(code, bytes(self._said))

    def stop(self) -> None:
        """End the run as SIGTERM to the wrapper does; a second call hurries."""
        if self._process.returncode is None:
            self._process.terminate()

    async def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> None:
        """Answer what the agent asked (`ApprovalAsked` and its like), inside the block.

        `resolution` is `approved`, `denied`, `cancelled`, or `answered` with `content`:
        a form's fields, or texts by the questions' numbers (`{"0": "yes"}`). Needs
        `permissions="ask"`. What does not wait any longer is not answered; how it was
        settled comes as `InteractionResolved`.
        """
        answer = answers.Answer(interaction_id, resolution, content)
        await self._answering.write(answer)


@asynccontextmanager
async def open_run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any
) -> AsyncIterator[Run]:
    """Start a run and give it while it is under way.

        async with agent_wrap.open_run(["my-agent", "Hi"]) as run:
            async for event in run: ...
            result = await run.result()

    Leaving the block before the end stops the run; its dialog is complete then.
    """
    async with _open(command, env, options, answered=True) as started:
        yield started


@asynccontextmanager
async def _open(
    command: Sequence[str],
    env: Mapping[str, str] | None,
    options: Mapping[str, Any],
    *,
    answered: bool,
) -> AsyncIterator[Run]:
    """Start a run; `answered`: the caller may answer what the agent asks."""
    call = _Call(command, env, options)
    ours, theirs = os.pipe()
    listening, writing = os.pipe()
    answering = answers.Writer(writing)
    told = ["--answers-fd", str(listening)] if answered else []
    try:
        with _passing_on():
            process = await anyio.open_process(
                [*call.program, "--events-fd", str(theirs), *told, *call.arguments],
                stdin=subprocess.PIPE,
                env=call.environment,
                pass_fds=(theirs, listening) if answered else (theirs,),
                **call.outputs,
            )
    except BaseException:
        os.close(ours)
        answering.close()
        raise
    finally:
        os.close(theirs)
        os.close(listening)
    sending, events = anyio.create_memory_object_stream[Event](math.inf)
    started = Run(call, process, events, answering)
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_events, ours, sending)
            tasks.start_soon(_talk, process, call.stdin, started._said)
            try:
                yield started
            except Exception as error:  # raised below: a group would hide its type
                failure = error
            finally:
                await _end(process)
                events.close()
    finally:
        os.close(ours)
        answering.close()
    if failure is not None:
        raise failure


async def _end(process: Process) -> None:
    """Wait for a wrapper that has ended, or stop one that has not."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _talk(process: Process, prompt: bytes, said: bytearray) -> None:
    """Give the wrapper the prompt, and keep the last of what it says on stderr."""
    with anyio.CancelScope(shield=True):
        try:
            if process.stdin is not None:
                await process.stdin.send(prompt)
                await process.stdin.aclose()
        except anyio.BrokenResourceError:  # it refused to start, and will say why
            pass
        if process.stderr is not None:
            async for part in process.stderr:
                said.extend(part)
                del said[:-4096]


async def _read_events(fd: int, sending: MemoryObjectSendStream[Event]) -> None:
    """Take events from the wrapper all the time, so that it never waits for us."""
    decoder = LineDecoder()
    os.set_blocking(fd, False)
    with anyio.CancelScope(shield=True):
        async with sending:
            while True:
                await anyio.wait_readable(fd)
                data = os.read(fd, 1 << 16)
                for line in decoder.feed(data) if data else ():
                    event = from_line(line) if isinstance(line, bytes) else None
                    if event is not None:
                        _offer(sending, event)
                if not data:
                    return


def _offer(sending: MemoryObjectSendStream[Event], event: Event) -> None:
    try:
        sending.send_nowait(event)
    except anyio.BrokenResourceError:  # nobody iterates over the events
        pass


@contextmanager
def _passing_on() -> Iterator[None]:
    """Say what no program can be started with. Raises UsageError."""
    try:
        yield
    except ValueError as error:  # a NUL, a lone surrogate
        raise UsageError(f"command, options or env: {error}") from None
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        raise UsageError(
            "command, options or env are too long for the system (E2BIG)",
            "Give a long text as prompt=, with prompt_via='stdin' or {prompt_file}",
        ) from None


class _Call:
    """One call of the wrapper: its command line, and how its end is read."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        options: Mapping[str, Any],
    ) -> None:
        if isinstance(command, str):
            raise UsageError("command is one string", "Give a list of words")
        self._called_at = timestamp(time.time())
        given = {"echo": "none", **options}
        prompt = given.pop("prompt", None)
        self.environment = dict(os.environ if env is None else env)
        self.stdin = b"" if prompt is None else str(prompt).encode("utf-8", "replace")
        flags = [*_flags(given), "--caller", str(os.getpid())]
        self.settings: Settings = read([*flags, "--", *command], self.environment)
        if prompt is not None:
            flags += ["--prompt-file", "-"]
        # -P: the caller's folder is not searched for modules.
        self.program = [sys.executable, "-P", "-m", "agent_wrap"]
        self.arguments = [*flags, "--", *command]
        quiet = given["echo"] == "none"
        self.outputs: dict[str, Any] = {
            "stdout": subprocess.DEVNULL if quiet else None,
            "stderr": subprocess.PIPE if quiet else None,
            # Whoever kills the caller's process group, as Ray does with that of a lost
            # worker, must not kill guardian and supervisor in one instant.
            "start_new_session": True,
        }

    def result(self, code: int, said: bytes) -> RunResult:
        """Read what the run left. Raises what kept it from starting."""
        archive = self.settings.archive
        text = said.decode("utf-8", "replace").strip().removeprefix("agent-wrap: ")
        try:
            with open(os.path.join(archive, SUMMARY), "rb") as file:
                summary = json.load(file)
            if summary["ended_at"] < self._called_at:
                raise ValueError("the summary of an earlier run")
        except (OSError, ValueError):
            if code == UsageError.exit_code:
                raise UsageError(text or "the wrapper refused its options") from None
            reason = text.removeprefix(f"archive: {archive}: ") or f"exit code {code}"
            if code == ArchiveError.exit_code:
                raise ArchiveError(archive, reason) from None
            raise AgentWrapError(f"no {SUMMARY} in {archive}: {reason}") from None
        known = {item.name for item in fields(RunResult)}
        values = {key: value for key, value in summary.items() if key in known}
        dialog_path = os.path.join(archive, DIALOG)
        return RunResult(archive=archive, dialog_path=dialog_path, **values)


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Write options as flags. Raises UsageError for one that does not exist."""
    known = {option.name: option for option in OPTIONS}
    flags: list[str] = []
    for name, value in options.items():
        option = known.get(name)
        if option is None:
            near = did_you_mean(name, known).rstrip()
            raise UsageError(f"no such option: {name}", near)
        if option.metavar:
            written = ",".join(value) if isinstance(value, list | tuple) else value
            flags += [] if value is None else [option.flag, str(written)]
        elif value:
            flags.append(option.flag)
    return flags
