"""The dialog as a state machine: events in, entries out, always in the right order.

    NEW ──begin──> OPEN ──complete──> COMPLETE

It owns `seq`, the order (init, prompt, ..., complete), unique tool ids, the pairing
of tool starts and results, and that there is exactly one `complete`. In NEW it
waits for what `init` names; the first entry that cannot wait begins it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from agent_wrap import entries
from agent_wrap.accounting import Account
from agent_wrap.entries import Entry
from agent_wrap.errors import DialogError
from agent_wrap.events import (
    Event,
    Message,
    Prompt,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
)
from agent_wrap.jsonvalue import clean, clean_text, too_deep
from agent_wrap.limits import Budget, Kind
from agent_wrap.tools import OpenTool, Tools

State = Literal["NEW", "OPEN", "COMPLETE"]

_NOTHING: list[Entry] = []
"""No entries; never changed."""


class Dialog:
    """Turn events into the entries of one dialog.

    `prompt` None means that it is not known yet: it is taken from the stream, or
    written empty before the first entry that has to follow it. `adapter` stands for
    the agent's name where nobody tells it. `waits`: somebody was asked for the task
    or the folder and may still answer. `written` is how many of init and prompt are
    on disk already. Methods that give entries take `now`, in Unix seconds.
    """

    def __init__(
        self,
        *,
        task: str = "",
        cwd: str = "",
        model: str = "",
        agent: str = "",
        adapter: str = "",
        prompt: str | None = None,
        waits: bool = False,
        written: int = 0,
    ) -> None:
        self.task = task
        self.cwd = cwd
        self.model = model
        self.agent = agent
        self.adapter = adapter
        self.waits = waits
        self.account = Account()
        self.budget = Budget()
        self.state: State = "OPEN" if written else "NEW"
        self.seq = written
        self.tools_started = 0
        self.tools_ok = 0
        self.tools_failed = 0
        self.tools_closed = 0
        self.thinned = 0
        self.refused = 0
        self._prompt = prompt
        self._prompt_due = written < 2
        self.tools = Tools()
        self._tokens_shown: str = ""
        self._handlers: dict[type[Event], Callable[[Any, float], list[Entry]]] = {
            Message: self._message,
            Thinking: self._thinking,
            ToolStarted: self._tool_started,
            ToolFinished: self._tool_finished,
            SessionStarted: self._session_started,
            Prompt: self._prompt_told,
        }
        self._counted = self.account.handlers
        self._ts: tuple[float, str] = (0.0, entries.timestamp(0.0))

    @property
    def open_tools(self) -> list[OpenTool]:
        """The tools whose result has not come, oldest first."""
        return self.tools.all_open()

    @property
    def tools_open(self) -> int:
        """How many tools wait for their result."""
        return len(self.tools)

    @property
    def all_known(self) -> bool:
        """Is there nothing left to wait for before `init`?"""
        return bool(self.model and self.agent and not self.waits)

    def begin(self, now: float) -> list[Entry]:
        """Write `init` with what is known by now, and the prompt if it is known."""
        if self.state != "NEW":
            raise DialogError(self.state, "begin")
        self.state = "OPEN"
        first = entries.init(
            *self._next(now),
            task=clean_text(self.task),
            cwd=clean_text(self.cwd),
            model=clean_text(self.model),
            agent=clean_text(self.agent or self.adapter),
        )
        return [first] if self._prompt is None else [first, *self._flush_prompt(now)]

    def apply(self, event: Event, now: float) -> list[Entry]:
        """Give the entries that one event leads to; most events lead to none or one."""
        kind = type(event)
        handler = self._handlers.get(kind)
        if handler is not None:
            return handler(event, now)
        count = self._counted.get(kind)
        if count is not None:
            count(event)
        return _NOTHING

    def complete(
        self,
        status: str,
        *,
        duration_ms: int,
        now: float,
        message: str = "",
        unfinished: str = "no result was seen before the run ended",
    ) -> list[Entry]:
        """Close what is open and end the dialog.

        `unfinished` is the error text of tools that are still open.
        """
        out = list(self._ready(now))
        for tool in self.tools.finish_all():
            out.append(self._result(tool, unfinished, ok=False, now=now))
            self.tools_closed += 1
        self.budget.open_tools = 0
        last = entries.complete(
            *self._next(now),
            status=status,
            turns=self.account.turns,
            duration_ms=duration_ms,
            tokens=self.account.tokens_in_out,
            message=clean_text(message),
        )
        self.state = "COMPLETE"
        return [*out, last]

    def undo(self, unwritten: list[Entry]) -> None:
        """Take back the last entries, which could not be written.

        They are lost; what follows stays in order, with `seq` contiguous.
        """
        for entry in reversed(unwritten):
            self.seq = entry["seq"]
            kind, status = entry["type"], entry.get("status")
            if kind == "init":
                self.state = "NEW"
            elif kind == "prompt":
                self._prompt_due = True
            elif status == "running":
                self.tools.forget(entry["tool_id"])
            elif kind == "tool":
                self.tools.reopen(entry["tool_id"], entry["name"])
        self.budget.open_tools = len(self.tools)

    def _room_for(self, kind: Kind) -> bool:
        """May another entry of this kind be written? It is counted when not."""
        budget = self.budget
        if budget.plenty or budget.admits(kind):
            return True
        if budget.closed:
            self.refused += 1
        else:
            self.thinned += 1
        return False

    def _ready(self, now: float) -> list[Entry]:
        """Give the entries that must stand before any other one."""
        if self.state == "OPEN" and not self._prompt_due:
            return _NOTHING
        if self.state == "COMPLETE":
            raise DialogError(self.state, "take another entry")
        out = self.begin(now) if self.state == "NEW" else []
        if self._prompt_due:
            out.extend(self._flush_prompt(now))
        return out

    def _flush_prompt(self, now: float) -> list[Entry]:
        self._prompt_due = False
        text = clean_text(self._prompt or "")
        return [entries.prompt(*self._next(now), text)]

    def _session_started(self, event: SessionStarted, now: float) -> list[Entry]:
        if self.state != "NEW":
            return []
        self.model = self.model or event.model
        self.agent = self.agent or event.agent
        self.task = self.task or event.task
        return self.begin(now) if self.all_known else []

    def _prompt_told(self, event: Prompt, now: float) -> list[Entry]:
        # Only the first one is the prompt; later ones answer the agent.
        if not self._prompt_due or self._prompt is not None:
            return []
        self._prompt = event.text
        return [] if self.state == "NEW" else self._flush_prompt(now)

    def _thinking(self, event: Thinking, now: float) -> list[Entry]:
        text = event.text
        if not text or text.isspace() or not self._room_for("thinking"):
            return _NOTHING
        first = self._ready(now)
        text = clean_text(text)
        return [*first, entries.thinking(*self._next(now), text)]

    def _message(self, event: Message, now: float) -> list[Entry]:
        text = event.text
        if not text or text.isspace() or not self._room_for("message"):
            return _NOTHING
        first = self._ready(now)
        tokens = None
        if event.message_id and event.message_id != self._tokens_shown:
            usage = self.account.usage_of(event.message_id)
            if usage is not None and usage.final:
                tokens = (usage.tokens_in, usage.output)
                self._tokens_shown = event.message_id
        text = clean_text(text)
        new = entries.message(*self._next(now), text, tokens)
        return [*first, new]

    def _tool_started(self, event: ToolStarted, now: float) -> list[Entry]:
        if not self._room_for("tool"):
            return []
        first = self._ready(now)
        tool = self.tools.start(event.id, event.name, event.parent)
        self.budget.open_tools += 1
        self.tools_started += 1
        args: dict[str, Any] | None = event.args
        if args and too_deep(args):
            args = clean(args)
        new = entries.tool_start(*self._next(now), tool.id, tool.name, args)
        return [*first, new]

    def _tool_finished(self, event: ToolFinished, now: float) -> list[Entry]:
        tool = self.tools.finish(event.id)
        if tool is None:  # a result without a start would be unpaired: kept raw only
            return []
        self.budget.open_tools -= 1
        if event.ok:
            self.tools_ok += 1
        else:
            self.tools_failed += 1
        first = self._ready(now)
        output = clean_text(event.output)
        return [*first, self._result(tool, output, ok=event.ok, now=now)]

    def _result(self, tool: OpenTool, output: str, *, ok: bool, now: float) -> Entry:
        return entries.tool_result(*self._next(now), tool.id, tool.name, output, ok=ok)

    def _next(self, now: float) -> tuple[int, str]:
        """Give the number and the moment of the next entry."""
        seq = self.seq
        self.seq = seq + 1
        if self._ts[0] != now:
            self._ts = (now, entries.timestamp(now))
        return seq, self._ts[1]
