"""Processes: starting the agent, finding what descends from us, ending all of it.

Used before anything heavy is imported, so only what the interpreter has at hand.
Linux has what is needed: child subreapers keep every orphan ours, a parent-death
signal ties the agent to us, pidfds rule out signalling a reused pid. Elsewhere the
same calls do what they can (`GUARANTEES` says what is missing).
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time

from agent_wrap.errors import SpawnError
from agent_wrap.libc import prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agent_wrap.identity import Identity
else:
    # signal.py wraps these in enums, which costs 0.6 interpreter starts.
    import _signal as signal

LINUX = sys.platform == "linux"
GUARANTEES = (
    "" if LINUX else "not Linux: a process that leaves its session may survive the run"
)

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
PASSED_ON = frozenset({signal.SIGUSR1, signal.SIGUSR2})
# What our caller ignores (nohup, a shell's background job) stays ignored.
HANDLED = frozenset(
    number
    for number in STOP_SIGNALS | PASSED_ON | {signal.SIGCHLD}
    if number in (signal.SIGCHLD, signal.SIGTERM)  # what nobody may take from us
    or signal.getsignal(number) != signal.SIG_IGN
)

PIPE_SIZE = 1 << 20
"""Some agents cut large output at the pipe's size when they exit (measured)."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_RESET = (
    # Ignored by Python, or by a caller that would make the agent unstoppable.
    signal.SIGPIPE,
    getattr(signal, "SIGXFSZ", signal.SIGPIPE),
    signal.SIGTERM,
)
_OOM_SCORE = b"500"
_AT_ONCE = 500
"""Processes that are signalled at once: each takes a descriptor for a moment."""


def become_subreaper() -> bool:
    """Make orphans of our descendants our children instead of init's."""
    return os.getpid() == 1 or prctl(_PR_SET_CHILD_SUBREAPER, 1)


def block_signals() -> set[int]:
    """Hold back the signals that a run answers to; give the mask as it was."""
    # A caller that ignores its children makes the kernel reap ours behind our back.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return {int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)}


def set_mask(mask: Iterable[int]) -> None:
    """Set the signal mask."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class Agent:
    """A started agent: its pid, and our ends of its pipes (stdin -1: it has none)."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    def signal_group(self, number: int) -> None:
        """Signal the agent's own process group. Call only before it is reaped."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: str,
    mask: Iterable[int],
    *,
    stdin: bool = False,
    identity: Identity | None = None,
) -> Agent:
    """Start the agent in a session of its own. Raises SpawnError.

    `os.fork` and `os.execve`, since `subprocess` costs three interpreter starts.
    `mask` is the signal mask that the agent gets back; without `cwd` it stays where
    we are, even where that folder is gone or closed to us. With `stdin` it reads from a
    pipe, otherwise from /dev/null (an open pipe makes some agents wait for its end).
    `identity` is the user that it becomes.
    """
    ours_in = -1
    if stdin:
        theirs_in, ours_in = os.pipe()
    else:
        theirs_in = os.open(os.devnull, os.O_RDONLY)
    ours_out, theirs_out = _large_pipe()
    ours_err, theirs_err = _large_pipe()
    if identity is not None:  # or the agent cannot open /dev/stdout
        for fd in (theirs_in, theirs_out, theirs_err):
            _give(fd, identity)
    report, reported = os.pipe()
    us = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become_agent(
                (theirs_in, theirs_out, theirs_err),
                command,
                environment,
                cwd,
                mask,
                us,
                identity,
            )
        except BaseException as error:  # a fork must never return
            number = error.errno if isinstance(error, OSError) else errno.EINVAL
            os.write(reported, b"%d" % (number or errno.EINVAL))
        finally:
            os._exit(127)
    for fd in (theirs_in, theirs_out, theirs_err, reported):
        os.close(fd)
    failure = _read_all(report)
    os.close(report)
    if failure:
        os.waitpid(pid, 0)
        for fd in (ours_in, ours_out, ours_err):
            if fd >= 0:
                os.close(fd)
        raise _spawn_error(command[0], int(failure), environment, cwd)
    return Agent(pid, ours_in, ours_out, ours_err)


def _become_agent(
    files: tuple[int, int, int],
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: str,
    mask: Iterable[int],
    parent: int,
    identity: Identity | None,
) -> None:
    """Run in the forked child: turn into the agent. Raises OSError when it cannot."""
    os.setsid()
    for number, fd in enumerate(files):
        os.dup2(fd, number)
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    set_mask(mask)
    _volunteer_for_oom()
    if identity is not None:
        identity.take()
    # After the change of user, which clears it.
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the parent-death signal was set
        os._exit(127)
    if cwd:
        os.chdir(cwd)
    _execute(list(command), dict(environment))


def _execute(command: list[str], environment: dict[str, str]) -> None:
    """Execute what PATH finds, as `os.execvpe` does, but import nothing on the way.

    The user that we became may have no right to read the standard library.
    """
    program = command[0]
    if "/" in program:
        os.execve(program, command, environment)
    refused: OSError | None = None
    for folder in environment.get("PATH", os.defpath).split(":"):
        try:
            os.execve(os.path.join(folder, program), command, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused = refused or error
    raise refused or FileNotFoundError(errno.ENOENT, "not on PATH", program)


def _give(fd: int, identity: Identity) -> None:
    try:
        os.fchown(fd, identity.uid, identity.gid)
    except OSError:
        pass


def _volunteer_for_oom() -> None:
    """Let the kernel take the agent before us when memory runs out."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, _OOM_SCORE)
        os.close(fd)
    except OSError:
        pass


def _large_pipe() -> tuple[int, int]:
    ours, theirs = os.pipe()
    try:
        fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    except (OSError, AttributeError):  # over the user's pipe quota, or not Linux
        pass
    os.set_blocking(ours, False)
    return ours, theirs


def _read_all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 4096):
        parts.append(part)
    return b"".join(parts)


def _spawn_error(
    program: str, number: int, environment: Mapping[str, str], cwd: str
) -> SpawnError:
    name = errno.errorcode.get(number, str(number))
    if cwd and not os.path.isdir(cwd):
        return SpawnError(program, number, f"no such working directory: {cwd}", 126)
    if number == errno.E2BIG:
        hint = "give the prompt by --prompt-via stdin or file"
        reason = f"the argument list is too long ({name}): {hint}"
        return SpawnError(program, number, reason, 126)
    if number in (errno.ENOENT, errno.ENOTDIR) or not program:
        if "/" in program and os.path.exists(os.path.join(cwd, program)):
            reason = f"its interpreter was not found ({name})"
            return SpawnError(program, number, reason, 126)
        where = "" if "/" in program else f" on PATH={environment.get('PATH', '')}"
        return SpawnError(program, number, f"command not found{where} ({name})", 127)
    reason = f"cannot be executed: {os.strerror(number)} ({name})"
    return SpawnError(program, number, reason, 126)


def descendants(root: int) -> list[int]:
    """Give the pids of everything that descends from a process, parents first."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        for child in _children(waiting.pop()):
            found.append(child)
            waiting.append(child)
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return [] if os.path.isdir("/proc/self") else _children_without_proc(pid)
    except OSError:
        return []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children.extend(map(int, file.read().split()))
        except OSError:
            continue
    return children


def _children_without_proc(pid: int) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def can_find() -> bool:
    """Is there a place to look for processes?"""
    return os.path.isdir("/proc/self")


def process_name(pid: int) -> str:
    """Give a process's short name, or an empty string when it is gone."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    """Give the parent's pid, or 0 when the process is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[1])


def signal_descendants(root: int, number: int) -> list[int]:
    """Signal everything that descends from `root`; give the pids that got it.

    Each is signalled through a pidfd whose process is still a descendant: a pid that
    was reused in between is never touched.
    """
    ours = set(descendants(root)) | {root}
    handles = {pid: _handle(pid) for pid in sorted(ours - {root})[:_AT_ONCE]}
    # All are looked at before the first one dies: its children would change parents.
    found = [pid for pid in handles if parent_of(pid) in ours]
    reached = [pid for pid in found if _send(pid, handles[pid], number)]
    for handle in handles.values():
        if handle >= 0:
            os.close(handle)
    return reached


def _handle(pid: int) -> int:
    """Open a pidfd; -1 where there are none: old kernels, sandboxes, all files open."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1


def _send(pid: int, handle: int, number: int) -> bool:
    try:
        if handle < 0:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    return True


def has_children() -> bool:
    """Is there any child, a zombie included?

    Exact, while a list of children may lack one whose neighbour ends meanwhile; and
    with a subreaper, who has no children has no descendants.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def reap() -> Iterator[tuple[int, int]]:
    """Give (pid, wait status) of every child that has ended, without waiting."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, status


def sweep(patience: float = 2.0) -> dict[int, str]:
    """Kill whatever descends from this process until nothing is left; reap it.

    Gives what was killed, pid -> name.

    For a process without an event loop; bounded by `patience` seconds (a process in
    an uninterruptible wait cannot be killed).
    """
    killed: dict[int, str] = {}
    end = time.monotonic() + patience
    while True:
        for _ in reap():
            pass
        left = signal_descendants(os.getpid(), signal.SIGKILL)
        for pid in left:  # as zombies they still have their name
            killed.setdefault(pid, process_name(pid))
        if not has_children() or not can_find() or time.monotonic() > end:
            return killed
        time.sleep(0.001)
