"""What happens before the agent runs, in order, with nothing heavy imported.

    settings -> plan -> archive -> init, prompt -> guardian -> agent

The supervisor's first act is to start the agent; only then does it load the event
loop. So an agent never runs without a dialog that can be finished, and it never
waits for our imports (docs/adr/0002).
"""

from __future__ import annotations

import gc
import os
import time

from agent_wrap import first_lines, guardian, process
from agent_wrap.errors import SpawnError, UsageError
from agent_wrap.plan import check_asking, deliver_prompt, give_side_folder, make_plan
from agent_wrap.running import Run
from agent_wrap.settings import Settings
from agent_wrap.writer import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_wrap.serve.listener import Listener

LOOK_FOR_CYCLES = 10_000
"""New objects: a line's make no cycles, so it is not worth looking for them often."""


def launch(settings: Settings, started: float, mask: set[int]) -> int:
    """Run the agent; give the exit code.

    Signals must be blocked already; `mask` is the mask as it was. Raises UsageError,
    AdapterError or ArchiveError before anything has run.
    """
    for fd in (settings.events_fd, settings.answers_fd):
        if fd is not None:
            os.set_inheritable(fd, False)  # ours, not the agent's
    caller = None if settings.caller is None else _watch_caller(settings.caller)
    plan = make_plan(settings)
    answered = bool(settings.serve) or settings.answers_fd is not None
    check_asking(plan, answered=answered)
    listener = _listen(settings) if settings.serve else None
    archive = Archive.open(settings.archive)
    if plan.identity is not None:
        archive.keep_to_ourselves()
    deliver_prompt(plan, archive)
    give_side_folder(plan, archive)
    run = Run(plan, archive, started, mask)
    run.listener, run.caller = listener, caller
    first_lines.write(plan, archive, run.redactor)
    if plan.notes:
        from agent_wrap.stderr import say

        for note in plan.notes:
            say(note)
    return guardian.guard(
        lambda control: _supervise(run, control),
        lambda status, killed: _rescue(run, status, killed),
    )


def _watch_caller(pid: int) -> int | None:
    """Open what tells when the program that called us ends. Raises UsageError.

    Not the parent-death signal: it comes when the thread ends that started us.
    """
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        fd = -1
    except (OSError, AttributeError):  # an old kernel, or not Linux: as before
        return None
    if os.getppid() != pid:
        raise UsageError("the program that called has ended")
    return fd


def _listen(settings: Settings) -> Listener:
    """Bind the address of the live session, while nothing has run yet."""
    from agent_wrap.serve.listener import open_listener

    return open_listener(settings)


def _supervise(run: Run, control: int) -> int:
    """Start the agent, then load what it takes to watch it. Runs in the supervisor."""
    plan = run.plan
    agent: process.Agent | None = None
    failure: SpawnError | None = None
    environment = {**plan.environment, "AGENT_WRAP_RUN": plan.run_id}
    timeout = plan.settings.timeout
    if timeout is not None:
        environment["AGENT_WRAP_DEADLINE"] = f"{plan.created + timeout:.3f}"
    try:
        agent = process.spawn(
            plan.command,
            environment,
            plan.cwd if plan.settings.cwd else "",
            run.mask,
            stdin=plan.stdin is not None or plan.two_way,
            identity=plan.identity,
        )
        run.ledger.agent = agent.pid
    except SpawnError as error:
        failure = error
    spawned = time.monotonic()
    gc.disable()  # nothing to collect among what is imported now
    from agent_wrap.supervisor import Supervisor

    supervisor = Supervisor(run, control, agent, failure, spawned=spawned)
    gc.freeze()  # what is loaded stays
    gc.set_threshold(LOOK_FOR_CYCLES)
    gc.enable()
    return supervisor.run()


def _rescue(run: Run, status: int, killed: dict[int, str]) -> int | None:
    """Finish the dialog of a supervisor that is gone, if it could not do so itself.

    `status` is its wait status, `killed` what it left behind, pid -> name. Gives the
    exit code, or None when nothing was amiss.
    """
    if run.ledger.completed:
        return None
    # An import needs a descriptor, and there may be no other left.
    run.archive.stdout.close()
    run.archive.stderr.close()
    from agent_wrap.rescue import rescue

    return rescue(run, status, killed)
