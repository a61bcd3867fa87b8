"""Putting a run's record together: which adapter, which dialog, which clocks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from agent_wrap import registry
from agent_wrap.adapter import Adapter, Brief
from agent_wrap.clocks import Clocks
from agent_wrap.dialog import Dialog
from agent_wrap.prices import Prices, parse
from agent_wrap.reader import Detection, Reader
from agent_wrap.recorder import Recorder
from agent_wrap.running import Run

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
