"""Leaves processes of many kinds behind, all ignoring SIGTERM, then ends in some way.

strays.py MARK KIND[,KIND...] HOW

MARK is in the arguments of each of them, so that they are found again: some clear
their environment. HOW: exit=N  kill (itself)  obey (until SIGTERM)  hang (ignoring
it)  result (a good end in the stream, then hang)
"""

from __future__ import annotations

import os
import signal
import sys
import time

mark, kinds, how = sys.argv[1:]
ready, told = os.pipe()
os.set_inheritable(told, True)


def quiet() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def stay(environment: dict[str, str]) -> None:
    """Become another program for good, and say so by closing our end."""
    os.execve("/bin/sleep", ["sleep", mark], environment)


def in_group() -> None:
    quiet()
    stay(dict(os.environ))


def in_session() -> None:
    os.setsid()
    quiet()
    stay(dict(os.environ))


def daemon() -> None:
    os.setsid()
    if os.fork():
        os._exit(0)
    in_group()


def bare() -> None:
    """Nothing of the run is left in it: no descriptor, no environment, no group."""
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 3)
    stay({})


def holder() -> None:
    """Keep the agent's stdout and stderr open."""
    os.setsid()
    stay({})


def chain() -> None:
    """Fork without end: each lives only until the next one is there."""
    os.setsid()
    quiet()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)


def many() -> None:
    for number in range(50):
        if os.fork() == 0:
            if number % 2:
                os.setsid()
            in_group()
    os._exit(0)


MAKERS = {
    "group": in_group,
    "session": in_session,
    "daemon": daemon,
    "bare": bare,
    "holder": holder,
    "chain": chain,
    "many": many,
}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for kind in filter(None, kinds.split(",")):
    if os.fork() == 0:
        os.close(ready)
        os.set_inheritable(told, False)  # closed by the exec: then it is in place
        if kind == "chain":
            os.close(told)
        MAKERS[kind]()
os.close(told)
os.read(ready, 1)
os.write(1, b"all are there\n\n")
name, _, value = how.partition("=")
if name == "exit":
    os._exit(int(value))
if name == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if name == "obey":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
if name == "result":
    os.write(1, b'{"type":"result","subtype":"success","is_error":false}\n')
while True:
    time.sleep(1)
