"""The first process: forks the supervisor, hands signals on, reaps, returns its code.

It imports nothing heavy and does nothing else, so that it is the last to die. As
PID 1 of a container, or as a child subreaper, it inherits every orphan of the run.

    guardian ──control──> supervisor    one byte a signal; its end: the guardian died
"""

from __future__ import annotations

import os

from agent_wrap import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal


FAILED = 125


def guard(
    supervise: Callable[[int], int],
    rescue: Callable[[int, dict[int, str]], int | None],
) -> int:
    """Run `supervise(control)` in a child; give the exit code that it returned.

    The signals that a run answers to must be blocked already. When the child has
    ended, whatever still descends from the run is killed; then
    `rescue(status, killed)` may finish what the child could not, and give another
    exit code.
    """
    process.become_subreaper()
    try:
        control, ours = os.pipe()
        pid = os.fork()
    except OSError as error:  # no process, no descriptor left for us
        _complain(error)
        return rescue(FAILED << 8, {}) or FAILED
    if pid == 0:
        code = FAILED
        try:
            os.close(ours)
            process.become_subreaper()
            code = supervise(control)
        except BaseException as error:  # told here, finished by `rescue`
            _complain(error)
        finally:  # a forked child never returns into its parent's code
            os._exit(code)
    os.close(control)
    status = _watch(pid, ours)
    killed = process.sweep()
    os.close(ours)
    code = os.waitstatus_to_exitcode(status)
    rescued = rescue(status, killed)
    if rescued is not None:
        return rescued
    return code if code >= 0 else 128 - code


def _complain(error: BaseException) -> None:
    line = f"agent-wrap: the supervisor failed: {type(error).__name__}: {error}\n"
    try:
        os.write(2, line.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def _watch(supervisor: int, control: int) -> int:
    """Hand signals on and reap until the supervisor has ended; give its status."""
    while True:
        number = signal.sigwaitinfo(process.HANDLED).si_signo
        if number != signal.SIGCHLD:
            _tell(control, number)
        else:
            _keep_going(supervisor)
        for pid, status in process.reap():
            if pid == supervisor:
                return status


def _keep_going(supervisor: int) -> None:
    """Resume a supervisor that was stopped: the agent may do that to it.

    No limit of time and no signal would be answered meanwhile.
    """
    try:
        if os.waitid(os.P_PID, supervisor, os.WSTOPPED | os.WNOHANG) is not None:
            os.kill(supervisor, signal.SIGCONT)
    except (ChildProcessError, ProcessLookupError):  # it has ended
        pass


def _tell(control: int, number: int) -> None:
    try:
        os.write(control, bytes([number]))
    except OSError:  # the supervisor has just ended; SIGCHLD says so
        pass
