"""Who is told of a run as it happens: our stdout, limits, a live session, our caller.

Each is a recorder's watcher. What only some runs need is imported by them alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_wrap.assembly import Assembly
from agent_wrap.echo import Echo
from agent_wrap.entries import Entry
from agent_wrap.events import Event
from agent_wrap.first_lines import first_entries
from agent_wrap.recorder import Watcher
from agent_wrap.redact import Redactor
from agent_wrap.running import Run
from agent_wrap.streams import Streams

if TYPE_CHECKING:
    from agent_wrap.serve.live import Live

EVENTS_PATIENCE = 60.0
"""Our own Python caller reads events all the time: only a blocked one is this late."""


def on_stdout(parts: Assembly, streams: Streams) -> Echo:
    """Choose what our own stdout shows; give what takes the agent's bytes."""
    plan = parts.plan
    how = plan.settings.echo
    if how == "auto":
        how = "pretty" if os.isatty(1) else "native"
    if how == "native":
        return Echo(1)
    if how == "pretty":
        echo = Echo(1)
        streams.add_echo(echo)
        show = pretty_printer(echo)
        show(None, first_entries(plan, 0.0)[: plan.written])
        parts.recorder.watchers.append(show)
    return Echo(None)


def our_caller(fd: int, parts: Assembly, streams: Streams) -> Watcher:
    """Make a watcher that sends events to the Python program that called us."""
    sink = Echo(fd, EVENTS_PATIENCE)
    streams.add_echo(sink)
    return event_sender(sink, parts.recorder.redactor)


def pretty_printer(echo: Echo) -> Watcher:
    """Make a watcher that shows entries as a readable timeline."""
    from agent_wrap.view.plain import lines_of

    def show(event: Event | None, new: list[Entry]) -> None:
        for entry in new:
            echo.write("".join(f"{line}\n" for line in lines_of(entry)).encode())

    return show


def event_sender(stream: Echo, redactor: Redactor) -> Watcher:
    """Make a watcher that writes each event as a line: what `open_run` reads."""
    from agent_wrap.event_lines import to_line

    def send(event: Event | None, new: list[Entry]) -> None:
        line = to_line(event) if event is not None else b""
        if line:
            stream.write(redactor.replace_line(line))

    return send


def live_session(run: Run) -> Live | None:
    """Make the live session of a run that is served."""
    if run.listener is None:
        return None
    from agent_wrap.serve.live import Live

    plan, clean = run.plan, run.redactor.clean_text
    title = next(iter((plan.prompt or "").splitlines()), "") or " ".join(plan.command)
    return Live(
        run.listener,
        title=clean(title),
        cwd=clean(plan.cwd),
        runtime=lambda: plan.agent_name,
        prompt=plan.prompt,
        heartbeat=plan.settings.sse_heartbeat,
        ask_timeout=plan.settings.ask_timeout,
        announce=plan.settings.serve_announce,
        clean=run.redactor.replace_line,
    )


def limit_checker(parts: Assembly, hit: Callable[[str, float], None]) -> Watcher:
    """Make a watcher that calls `hit(which, limit)` when a limit is exceeded."""
    settings, account = parts.plan.settings, parts.dialog.account

    def check(event: Event | None, new: list[Entry]) -> None:
        if settings.max_turns is not None and account.turns > settings.max_turns:
            hit("turn_limit", settings.max_turns)
        most = settings.max_tokens
        if most is not None and sum(account.tokens_in_out) > most:
            hit("token_limit", most)
        if settings.max_cost is not None and (parts.cost() or 0.0) > settings.max_cost:
            hit("cost_limit", settings.max_cost)

    return check
