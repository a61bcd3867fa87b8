"""`agent-wrap serve -- COMMAND`: sessions over HTTP; a message starts a turn."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio

from agent_wrap import process
from agent_wrap.errors import UsageError
from agent_wrap.options import TWIN, address
from agent_wrap.plan import can_resume, check_asking, make_plan
from agent_wrap.redact import Redactor
from agent_wrap.secret_forms import secrets_of
from agent_wrap.serve import listener
from agent_wrap.serve.keys import Keys
from agent_wrap.settings import Settings, read, scan
from agent_wrap.stderr import say

if TYPE_CHECKING:
    from agent_wrap.serve.many import Many
    from agent_wrap.serve.web import Server

OURS = frozenset(
    {
        *("archive", "prompt", "prompt_file", "cwd", "config", "echo", "events_fd"),
        *("serve", "serve_key_file", "serve_announce", "serve_linger"),
        *("resume", "answers_fd"),
    }
)
"""Options of a run that a server decides for each turn itself."""

USAGE = """\
agent-wrap serve [--listen HOST:PORT] [--data DIR] [--root DIR]... \
[OPTIONS OF A RUN] -- COMMAND [ARG...]
       agent-wrap serve keys add NAME | list | remove NAME  [--data DIR]"""


def main(argv: Sequence[str]) -> int:
    """Serve until a stop signal; give 0."""
    words = list(argv)
    if words[:1] == ["keys"]:
        return _keys(words[1:])
    at = words.index("--") if "--" in words else len(words)
    options, rest = _parser().parse_known_args(words[:at])
    given, command = scan([*rest, *words[at:]])
    for name in sorted(OURS & given.keys()):
        raise UsageError(f"--{name.replace('_', '-')} is not for serve")
    for name in OURS:
        os.environ.pop(TWIN + name.upper(), None)
    settings = read([*rest, "--", *command], os.environ)
    listener.check_installed()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, process.HANDLED)
    hidden = {} if settings.no_redact else secrets_of(os.environ, settings.redact)
    plan = make_plan(settings)
    check_asking(plan, answered=True)
    server = _Server(options, given, settings, Redactor(hidden))
    if not (options.next_command or can_resume(plan)):
        say("each turn begins anew: this command has no known way to go on")
    anyio.run(server.run)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-wrap serve",
        usage=USAGE,
        allow_abbrev=False,
        description="Serve sessions. A message starts a turn: COMMAND is run with it, "
        "as `agent-wrap -- COMMAND` would; all options of a run apply to each turn.",
    )
    add = parser.add_argument
    add("--listen", metavar="HOST:PORT", default="127.0.0.1:4242")
    add("--data", metavar="DIR", default=_data_folder(), help="where all is kept")
    add(
        "--root",
        metavar="DIR",
        action="append",
        help="the only place where turns may work; may be repeated (the current one)",
    )
    add(
        "--next-command",
        metavar="WORDS",
        default="",
        help="the command of later turns, where the adapter does not know how to go "
        "on; {agent_session} is the agent's own session",
    )
    return parser


def _data_folder() -> str:
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(home, "agent-wrap")


def _keys(words: Sequence[str]) -> int:
    """Make, list and remove the keys of a data folder."""
    parser = argparse.ArgumentParser(prog="agent-wrap serve keys")
    parser.add_argument("what", choices=("add", "list", "remove"))
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--data", metavar="DIR", default=_data_folder())
    options = parser.parse_args(list(words))
    keys = Keys(options.data)
    if options.what == "list":
        print("".join(f"{name}\n" for name in keys.names()), end="")
    elif not options.name:
        raise UsageError(f"keys {options.what} needs a NAME")
    elif options.what == "add":
        print(keys.add(options.name))
    else:
        keys.remove(options.name)
    return 0


class _Server:
    """One server, from its socket to its end."""

    def __init__(
        self,
        options: argparse.Namespace,
        given: dict[str, Any],
        settings: Settings,
        redactor: Redactor,
    ) -> None:
        from agent_wrap.serve.store import Store

        try:
            host, _, port = address(options.listen).rpartition(":")
            self._next = shlex.split(options.next_command)
        except ValueError as error:
            raise UsageError(f"--listen or --next-command: not {error}") from None
        self._keys = Keys(options.data)
        self._guarded = bool(self._keys.names())
        self._listener = listener.listen(
            host.strip("[]"),
            int(port),
            "guarded" if self._guarded else "",
            option="--listen",
            hint="Make a key with `agent-wrap serve keys add NAME`",
        )
        self._roots = [os.path.realpath(root) for root in options.root or ["."]]
        for root in self._roots:
            if not os.path.isdir(root):
                raise UsageError(f"--root {root}: no such folder", "Make it first")
        self._store = Store(options.data)
        self._given = given
        self._settings = settings
        self._redactor = redactor

    async def run(self) -> None:
        """Serve until a stop signal has come and all turns have ended."""
        from agent_wrap.serve import page, web
        from agent_wrap.serve.answering import Answering
        from agent_wrap.serve.logins import Logins
        from agent_wrap.serve.many import Many
        from agent_wrap.serve.posting import Posting

        async with anyio.create_task_group() as tasks:
            many = Many(
                self._store,
                tasks,
                command=self._settings.command,
                next_command=self._next,
                options={n: v for n, v in self._given.items() if n != "sse_heartbeat"},
                heartbeat=self._settings.sse_heartbeat,
                ask_timeout=self._settings.ask_timeout,
                home=self._roots[0],
                clean=self._redactor.replace_line,
            )
            await many.finish_cut_turns()
            app = page.make_app(
                many,
                self._listener.host,
                self._keys.know if self._guarded else None,
                Logins(self._keys.holds, self._store.path),
                Posting(many, self._roots).routes() + Answering(many).routes(),
            )
            server = web.Server(app, self._started)
            tasks.start_soon(_end_at_a_signal, many, server)
            tasks.start_soon(many.hub.run)
            await server.serve([self._listener.socket])
            tasks.cancel_scope.cancel()
        self._store.close()

    def _started(self) -> None:
        guard = "with keys" if self._guarded else "for this machine"
        say(f"sessions at {self._listener.url}, {guard}; data in {self._store.path}")


async def _end_at_a_signal(many: Many, server: Server) -> None:
    """End the turns at a stop signal, then the server; a second one hurries."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        async with anyio.create_task_group() as tasks:
            async for _ in received:
                if not many.closing:
                    tasks.start_soon(_end, many, server)
                many.stop_all()


async def _end(many: Many, server: Server) -> None:
    await many.until_idle()
    many.close()
    server.should_exit = True
