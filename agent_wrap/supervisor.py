"""The run: the only place where processes, clocks, streams and the record meet.

    started agent -> first cause (exit, limit, stop signal) -> end the agent -> drain
                  -> sweep -> complete, summary, exit code

This process runs nothing else, so the event loop is ours alone.
"""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from agent_wrap import answers, process, watchers
from agent_wrap.assembly import Assembly
from agent_wrap.closing import ORDERLY, Closing
from agent_wrap.daemon import project
from agent_wrap.echo import Echo
from agent_wrap.errors import SpawnError
from agent_wrap.events import RunFinished
from agent_wrap.ladder import Ladder
from agent_wrap.limits import LONGEST_MESSAGE, cut_middle
from agent_wrap.outcome import Cause, Ending, Outcome, decide
from agent_wrap.resources import Sampler
from agent_wrap.running import Run
from agent_wrap.stderr import say
from agent_wrap.streams import Streams
from agent_wrap.summary import Measured
from agent_wrap.talk import Talk

if TYPE_CHECKING:
    from agent_wrap.serve.live import Live

TICK = 0.25
INIT_BY = 0.8
QUIET = 0.5
SAMPLE_EVERY = 1.0
SAME = 0.1


class Supervisor:
    """One run, from a started agent (or the failure to start it) to its exit code."""

    def __init__(
        self,
        run: Run,
        control: int,
        agent: process.Agent | None,
        failure: SpawnError | None,
        *,
        spawned: float,
    ) -> None:
        self.plan = run.plan
        self.settings = run.plan.settings
        self.archive = run.archive
        self.ledger = run.ledger
        self.started = run.started
        self.spawned = spawned
        self.parts = Assembly(run, spawned)
        self.recorder = self.parts.recorder
        self.sampler = Sampler()
        self.memory = run.memory
        notes = [process.GUARANTEES] if process.GUARANTEES else []
        self.closing = Closing(self.parts, run.archive, notes)
        self._control = control
        self._agent = agent
        self._failure = failure
        self._status: int | None = None
        self._ending: Ending | None = None
        self._final: RunFinished | None = None
        self._ladder: Ladder | None = None
        self._last_signal = (0, 0.0)
        self._talk: Talk | None = None
        self._outcome: Outcome | None = None
        self._live: Live | None = None
        self._shared = run

    def run(self) -> int:
        """Watch the run to its end; give the exit code. Always completes the dialog."""
        try:
            anyio.run(self._main)
        except BaseException as error:  # the dialog must be completed whatever it was
            self._fail(error)
        return (self._outcome or self._finish()).exit_code

    async def _main(self) -> None:
        self._ended = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen_to_guardian)
            if self._shared.caller is not None:
                tasks.start_soon(self._end_with_caller, self._shared.caller)
            self._live = watchers.live_session(self._shared)
            if self._live is not None:
                tasks.start_soon(self._live.serve)
                tasks.start_soon(self._live.hub.run)
            async with anyio.create_task_group() as of_run:
                await self._run_agent(of_run)
                of_run.cancel_scope.cancel()
            if self._live is not None:
                self._outcome = self._outcome or self._finish()
                await self._live.linger(self._linger())
            tasks.cancel_scope.cancel()

    async def _run_agent(self, tasks: TaskGroup) -> None:
        await self._ask_daemon()  # first: what the agent says cannot wait for it
        if self._agent is not None:
            await self._watch(self._agent, Streams(tasks, _lost_echo), tasks)
        elif self._failure is not None:
            error = self._failure
            self._end(Cause.SPAWN_FAILED, detail=str(error), spawn_code=error.exit_code)

    def _linger(self) -> float:
        """Give how long the session is served after the end: within the time limit."""
        limit, cause = self.settings.timeout, self._ending and self._ending.cause
        if cause in (Cause.STOPPED, Cause.WRAPPER_KILLED):
            return 0.0
        left = math.inf if limit is None else self.started + limit - time.monotonic()
        return max(min(self.settings.serve_linger, left), 0.0)

    async def _watch(
        self, agent: process.Agent, streams: Streams, tasks: TaskGroup
    ) -> None:
        settings, plan = self.settings, self.plan
        ladder = self._ladder = Ladder(
            agent,
            self._reap,
            kill_grace=settings.kill_grace,
            drain_grace=settings.drain_grace,
            drained=streams.drained,
        )
        tasks.start_soon(self._reap_children)
        streams.follow(
            agent.stdout, self.recorder.feed, watchers.on_stdout(self.parts, streams)
        )
        streams.follow(agent.stderr, self.recorder.feed_stderr, Echo(2))
        talk = self._begin_talk(agent, tasks)
        self._add_watchers(streams)
        self.recorder.start()
        tasks.start_soon(self._keep_time, streams)
        await self._ended.wait()
        with anyio.CancelScope(shield=True):
            await ladder.end_agent(self._cancel if talk and plan.two_way else None)
            streams.stop_waiting()
            if self._ending is not None and self._ending.cause is Cause.EXITED:
                await ladder.drain()
            await ladder.sweep()
            self._finish()
            await streams.flush()

    def _end(self, cause: Cause, **facts: Any) -> None:
        """Note what ended the run. The first cause wins."""
        if self._ending is None:
            self._ending = Ending(cause=cause, **facts)
            self._final = self.recorder.story.final
            self._ended.set()

    def _fail(self, error: BaseException) -> None:
        """Note an error of ours, and end the agent without an event loop."""
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        self._ending = Ending(
            cause=Cause.INTERNAL, detail=f"{type(error).__name__}: {error}"
        )
        process.sweep()

    def _add_watchers(self, streams: Streams) -> None:
        settings, add = self.settings, self.recorder.watchers.append
        if settings.max_turns or settings.max_tokens or settings.max_cost:
            add(
                watchers.limit_checker(
                    self.parts,
                    lambda which, limit: self._end(Cause(which), limit=limit),
                )
            )
        if self._live is not None:
            add(self._live.watch)
        if settings.events_fd is not None:
            add(watchers.our_caller(settings.events_fd, self.parts, streams))

    def _begin_talk(self, agent: process.Agent, tasks: TaskGroup) -> Talk | None:
        """Take the agent's stdin in hand, if it has one of ours."""
        if agent.stdin < 0:
            return None
        talk = Talk(
            agent.stdin,
            two_way=self.plan.two_way,
            policy=self.settings.permissions,
            story=self.recorder.story,
            answer=self.recorder.answer,
            fail=lambda what: self._end(Cause.PERMISSION, detail=what),
            ask_timeout=self.settings.ask_timeout,
        )
        if self.plan.stdin is not None:
            talk.send(self.plan.stdin)
        self.recorder.watchers.append(talk.watch)
        tasks.start_soon(talk.run)
        self._talk = talk
        if self._live is not None:
            self._live.answer = talk.settle
        if self.settings.answers_fd is not None:
            tasks.start_soon(self._listen_to_caller, self.settings.answers_fd, talk)
        return talk

    async def _listen_to_caller(self, fd: int, talk: Talk) -> None:
        """Take the answers of our Python caller, as long as there is one."""
        await answers.listen(fd, lambda a: talk.settle(a.id, a.resolution, a.content))
        if self._live is None:
            talk.nobody_answers()

    @property
    def _asks(self) -> bool:
        """Is a person asked?"""
        return self._talk is not None and bool(self._talk.asked)

    def _cancel(self) -> None:
        """Ask a two-way agent to stop, and end its input."""
        self.recorder.cancel()
        if self._talk is not None:
            self._talk.leave()

    async def _listen_to_guardian(self) -> None:
        os.set_blocking(self._control, False)
        while True:
            await anyio.wait_readable(self._control)
            numbers = os.read(self._control, 64)
            for number in numbers:
                self._signalled(number)
            if not numbers:
                self._end(
                    Cause.WRAPPER_KILLED,
                    stop_signal=int(signal.SIGKILL),
                    detail="agent-wrap's first process was killed",
                )
                if self._live is not None:
                    self._live.stop()
                return

    async def _end_with_caller(self, caller: int) -> None:
        await anyio.wait_readable(caller)
        self._end(
            Cause.STOPPED,
            stop_signal=int(signal.SIGHUP),
            detail="the program that called agent-wrap has ended",
        )
        if self._live is not None:
            self._live.stop()

    def _signalled(self, number: int) -> None:
        now = time.monotonic()
        same = number == self._last_signal[0] and now - self._last_signal[1] < SAME
        self._last_signal = (number, now)
        if same:  # one signal to our group reaches both of our processes
            return
        if number in process.PASSED_ON:
            if self._agent is not None and self._status is None:
                self._agent.signal_group(number)
        elif self._ending is None:
            self._end(Cause.STOPPED, stop_signal=number)
        elif self._ladder is not None:
            self._ladder.hurry.set()
        if self._live is not None and self._outcome is not None:
            self._live.stop()

    async def _reap_children(self) -> None:
        ours = (signal.SIGCHLD, signal.SIGTERM)
        with anyio.open_signal_receiver(*ours) as received:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ours)
            self._reap()
            async for number in received:
                if number == signal.SIGTERM:  # `kill $PPID`, by the agent itself
                    self._signalled(number)
                self._reap()

    def _reap(self) -> None:
        for pid, status in process.reap():
            if self._agent is not None and pid == self._agent.pid:
                self._status = status
                self._end(Cause.EXITED)
                if self._ladder is not None:
                    self._ladder.gone.set()

    async def _keep_time(self, streams: Streams) -> None:
        """Look at the clocks a few times a second, and exactly when one is due."""
        recorder, clocks = self.recorder, self.parts.clocks
        sampled = 0.0
        while True:
            now = time.monotonic()
            if now - self.spawned >= INIT_BY:
                if now - streams.last_output >= QUIET or recorder.dialog.state == "NEW":
                    recorder.settle()
                recorder.begin()
            recorder.keeper.check()
            if now - sampled >= SAMPLE_EVERY:
                self.sampler.sample(os.getpid(), now - self.started)
                sampled = now
            due = clocks.due(
                now,
                busy=recorder.dialog.tools_open > 0 or self._asks,
                finished=recorder.story.final is not None,
                background=bool(recorder.story.background),
            )
            if due is not None:
                self._end(due[0], limit=due[1])
                return
            await anyio.sleep(clocks.until_next(now, TICK))

    async def _ask_daemon(self) -> None:
        """Ask SSEBench for what the caller did not say."""
        settings = self.settings
        if settings.daemon_socket and not (settings.task and settings.cwd):
            self.parts.told_by_daemon(await project(settings.daemon_socket))

    def _finish(self) -> Outcome:
        """Complete the dialog and write the summary."""
        recorder = self.recorder
        try:
            recorder.close()
        except Exception as error:  # a bug of ours: the end is written
            self._fail(error)
        outcome = decide(self._facts())
        said = cut_middle(outcome.message, LONGEST_MESSAGE)
        message = "; ".join(filter(None, (said, recorder.losses)))
        if self._agent is not None:
            self.closing.look_back(self._ending.cause if self._ending else None)
        self.closing.look_for_drift()
        duration_ms = int((time.monotonic() - self.started) * 1000)
        recorder.complete(outcome, duration_ms, message)
        recorder.keeper.close()
        if self.settings.fsync != "never":
            self.archive.dialog.sync()
        self.closing.write_summary(self._measured(outcome, message, duration_ms))
        self.ledger.complete()
        if self._live is not None:
            final = self.recorder.story.final
            self._live.finish(outcome, message, final.reason if final else "")
        own_end = self._ending is not None and self._ending.cause in ORDERLY
        if not own_end and outcome.status != "success":
            say(message)  # its exit code alone says little in another's log
        self._outcome = outcome
        return outcome

    def _facts(self) -> Ending:
        """Join what ended the run with how the agent's process ended."""
        ending = self._ending or Ending(
            cause=Cause.INTERNAL, detail="no cause is known"
        )
        code, number = self._exit()
        adapter = self.recorder.reader.adapter
        unknown = tuple(self.recorder.reader.unknown_types)
        story = self.recorder.story
        exited = ending.cause is Cause.EXITED
        return replace(
            ending,
            code=code,
            signal=number,
            # A process that is gone wakes up no more, whatever others print.
            final=self._final or (story.final if exited else None),
            promised=adapter is not None and adapter.promises_final_event,
            out_of_memory=number == signal.SIGKILL and self.memory.kills > 0,
            notice=self.recorder.last_said,
            unknown=unknown if self.settings.strict else (),
        )

    def _exit(self) -> tuple[int | None, int | None]:
        """Give the agent's exit code, or the signal that it died of."""
        if self._status is None:
            return None, None
        code = os.waitstatus_to_exitcode(self._status)
        return (code, None) if code >= 0 else (None, -code)

    def _measured(self, outcome: Outcome, message: str, duration_ms: int) -> Measured:
        code, number = self._exit()
        self.sampler.end(duration_ms / 1000)
        return Measured(
            outcome=outcome,
            message=message,
            agent_code=code,
            agent_signal=number,
            started=self.started,
            duration_ms=duration_ms,
            resources=self.sampler.as_dict(),
            killed=self._ladder.killed if self._ladder else [],
            notes=self.closing.notes,
        )


def _lost_echo() -> None:
    say("the reader of our output takes nothing: the echo ends here")
