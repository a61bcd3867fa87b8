"""What the guardian and the supervisor of one run share, made before the fork."""

from __future__ import annotations

from agent_wrap.cgroup import MemoryEvents
from agent_wrap.ledger import Ledger
from agent_wrap.plan import Plan
from agent_wrap.redact import Redactor
from agent_wrap.secret_forms import secrets_of
from agent_wrap.writer import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_wrap.serve.listener import Listener


class Run:
    """One run: its plan, its archive, its counters, its secrets.

    `started` is our own start, monotonic; `mask` the signal mask that the agent gets;
    `listener` is where its live session is served, if it is; `caller` a descriptor of
    the Python program that called, if one did, which becomes readable when it ends.
    """

    def __init__(
        self, plan: Plan, archive: Archive, started: float, mask: set[int]
    ) -> None:
        self.plan = plan
        self.archive = archive
        self.started = started
        self.mask = mask
        self.ledger = Ledger()
        self.listener: Listener | None = None
        self.caller: int | None = None
        self.memory = MemoryEvents()  # counts from before the agent can run out of it
        settings = plan.settings
        hidden = (
            {}
            if settings.no_redact
            else secrets_of(settings.environment, settings.redact)
        )
        self.redactor = Redactor(hidden)
