"""`agent-wrap view --web PATH`: the page of the live sessions, on what lies on disk."""

from __future__ import annotations

import signal
import threading
import webbrowser

import anyio

from agent_wrap import process
from agent_wrap.errors import UsageError
from agent_wrap.options import address
from agent_wrap.serve import listener
from agent_wrap.serve.listener import Listener
from agent_wrap.view.source import DIALOG

HEARTBEAT = 10.0


def serve(path: str, listen: str, *, open_it: bool) -> int:
    """Serve until a stop signal; print where. Gives 0; raises UsageError."""
    listener.check_installed()
    try:
        host, _, port = address(listen).rpartition(":")
    except ValueError as error:
        raise UsageError(f"--listen {listen}: not {error}") from None
    place = listener.listen(
        host.strip("[]"),
        int(port),
        "",
        option="--listen",
        hint="Listen on 127.0.0.1: this page asks for no key",
    )
    signal.pthread_sigmask(signal.SIG_UNBLOCK, process.HANDLED)
    anyio.run(_serve, path, place, open_it)
    return 0


async def _serve(path: str, place: Listener, open_it: bool) -> None:
    from agent_wrap.serve import page, web
    from agent_wrap.serve.logins import Logins
    from agent_wrap.serve.shelf import Shelf

    shelf = Shelf(path, HEARTBEAT)
    if shelf.is_empty:
        raise UsageError(f"{path}: no {DIALOG} in it, nor below it")

    def started() -> None:
        print(f"{place.url}/", flush=True)
        if open_it:
            thread = threading.Thread(target=webbrowser.open, args=[f"{place.url}/"])
            thread.daemon = True
            thread.start()

    app = page.make_app(shelf, place.host, None, Logins())
    server = web.Server(app, started)

    async def end_at_a_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
            async for _ in received:
                shelf.close()
                server.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_at_a_signal)
        tasks.start_soon(shelf.follow)
        tasks.start_soon(shelf.hub.run)
        await server.serve([place.socket])
        tasks.cancel_scope.cancel()
