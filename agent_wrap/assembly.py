"""Putting a run's record together: which adapter, which dialog, which clocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agent_wrap import registry
from agent_wrap.adapter import Adapter, Brief
from agent_wrap.clocks import Clocks
from agent_wrap.dialog import Dialog
from agent_wrap.echo import Echo
from agent_wrap.entries import Entry
from agent_wrap.events import Event
from agent_wrap.prices import Prices, parse
from agent_wrap.reader import Detection, Reader
from agent_wrap.recorder import Recorder, Watcher
from agent_wrap.redact import Redactor
from agent_wrap.running import Run

if TYPE_CHECKING:
    from agent_wrap.serve.live import Live

TABLE = "prices.json"


class Assembly:
    """A recorder made for a plan, and the parts of it that others look at."""

    def __init__(self, run: Run, spawned: float) -> None:
        plan = self.plan = run.plan
        adapter = self._load()
        settings = plan.settings
        grace = settings.result_grace
        self.clocks = Clocks(
            started=run.started,
            spawned=spawned,
            timeout=settings.timeout,
            first_output=settings.first_output_timeout,
            idle=settings.idle_timeout,
            result_grace=(adapter or Adapter).result_grace if grace is None else grace,
        )
        self.dialog = Dialog(
            task=settings.task,
            cwd=plan.cwd,
            model=plan.model,
            agent=plan.agent_name,
            adapter=plan.adapter_name,
            prompt=plan.prompt,
            waits=bool(settings.daemon_socket) and not (settings.task and settings.cwd),
            written=plan.written,
        )
        detection = Detection(registry.recogniser(self._chosen), self._plain)
        self.recorder = Recorder(
            Reader(adapter, detection, settings.max_line_bytes),
            self.dialog,
            run.archive,
            self.clocks,
            run.ledger,
            run.redactor,
            sync_entries=settings.fsync == "entry",
        )

    def cost(self) -> float | None:
        """Give what the run has cost: the agent's word, else by the table of prices."""
        told = self.dialog.account.tokens.cost
        return told or self.estimate() or told

    def estimate(self) -> float | None:
        """Give what the run has cost by the table of prices."""
        return self.prices.cost(self._model, self.dialog.account.tokens)

    def cost_note(self) -> str:
        """Say what a limit on the cost went by, where that was not the agent's word."""
        used = self.dialog.account.tokens
        if used.cost:
            return ""
        if not used:
            return "--max-cost had no effect: the agent reported no usage"
        cost = self.estimate()
        if cost is None:
            model = self._model or "a model without a name"
            return f"--max-cost had no effect: no cost was told, {model} has no price"
        return f"cost: about ${cost:.4f} by the prices of {self.prices.as_of}"

    @property
    def _model(self) -> str:
        return self.plan.model or self.recorder.story.session.model

    @cached_property
    def prices(self) -> Prices:
        """The run's table of prices, read when it is first asked."""
        given = self.plan.settings.price_table
        return parse(given or _own_table(), TABLE)

    def told_by_daemon(self, project: dict[str, Any]) -> None:
        """Take the daemon's word for what the caller did not say."""
        settings = self.plan.settings
        if isinstance(project.get("id"), str | int) and not settings.task:
            self.dialog.task = str(project["id"])
        if isinstance(project.get("source"), str) and not settings.cwd:
            self.dialog.cwd = project["source"]
        self.dialog.waits = False
        if self.dialog.all_known:
            self.recorder.begin()

    def _load(self) -> Adapter | None:
        plan = self.plan
        if plan.adapter is None:
            return None
        adapter = plan.adapter()
        adapter.brief = Brief(
            plan.prompt or "",
            plan.cwd,
            two_way=plan.two_way,
            session=plan.settings.resume,
        )
        return adapter

    def _chosen(self, name: str, adapter: Adapter) -> None:
        """Take the adapter that the stream's first lines have chosen."""
        self.plan.adapter_name = name
        self.plan.detected_by = "stream"
        self.dialog.agent = self.plan.agent_name
        self.dialog.adapter = name
        if self.plan.settings.result_grace is None:
            self.clocks.result_grace = adapter.result_grace

    def _plain(self) -> Adapter:
        adapter = registry.find(registry.FALLBACK).load()()
        self._chosen(registry.FALLBACK, adapter)
        return adapter


def _own_table() -> bytes:
    from importlib.resources import files  # also out of the single file's zip

    return files("agent_wrap").joinpath(TABLE).read_bytes()


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
        if settings.max_tokens is None and settings.max_cost is None:
            return
        used = account.tokens
        if (
            settings.max_tokens is not None
            and used.total_in + used.output > settings.max_tokens
        ):
            hit("token_limit", settings.max_tokens)
        if settings.max_cost is not None and (parts.cost() or 0.0) > settings.max_cost:
            hit("cost_limit", settings.max_cost)

    return check
