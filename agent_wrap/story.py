"""What the agent has said about its own run so far: the final event that counts, its
session, its background tasks, its notices. Feed it every event.
"""

from __future__ import annotations

from collections import deque

from agent_wrap.events import (
    Event,
    Notice,
    RunFinished,
    RunResumed,
    SessionStarted,
    SubagentUpdated,
    TurnStarted,
)

NOTICES = 100
"""The last notices are kept; the raw stream has them all."""


TOLD_BY = frozenset(
    {Notice, RunFinished, RunResumed, SessionStarted, SubagentUpdated, TurnStarted}
)
"""The events that a story is made of; all others say nothing to it."""


class Story:
    """The agent's own account.

    `final` is the last final event, taken back when the model answers again after it
    (a background task ended, the next message of a two-way session came), or the agent
    says that it works on. A session that starts again takes nothing back: the agent may
    have nothing to say.
    """

    def __init__(self) -> None:
        self.final: RunFinished | None = None
        self.session = SessionStarted()
        self.notices: deque[str] = deque(maxlen=NOTICES)
        self.background: set[str] = set()

    def apply(self, event: Event) -> None:
        """Take one event into the story."""
        if isinstance(event, TurnStarted):
            self.final = None
        elif isinstance(event, RunFinished):
            self.final = event
        elif isinstance(event, RunResumed):
            self.final = None
        elif isinstance(event, SessionStarted):
            self.learn(event)
        elif isinstance(event, SubagentUpdated):
            if event.status == "running":
                self.background.add(event.id)
            else:
                self.background.discard(event.id)
        elif isinstance(event, Notice):
            self.notices.append(event.text)

    def learn(self, event: SessionStarted) -> None:
        """Take what became known of the session; unlike its start, it wakes nobody."""
        known = self.session
        self.session = SessionStarted(
            known.session_id or event.session_id,
            known.model or event.model,
            known.cwd or event.cwd,
            known.agent or event.agent,
            known.agent_version or event.agent_version,
            known.task or event.task,
        )
