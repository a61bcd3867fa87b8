"""What waits for a person's answer, and until when. Pure: the time is given."""

from __future__ import annotations

from agent_wrap.events import ApprovalAsked, ElicitationAsked, QuestionAsked

Question = ApprovalAsked | QuestionAsked | ElicitationAsked


class Asked:
    """The agent's open questions by their ids; each has `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._open: dict[str, tuple[Question, float]] = {}

    def __bool__(self) -> bool:
        """Does anything wait?"""
        return bool(self._open)

    def add(self, question: Question, now: float) -> None:
        """Begin to wait."""
        self._open[question.id] = (question, now + self._seconds)

    def settle(self, interaction_id: str) -> bool:
        """Wait no longer; say whether this was waited for."""
        return self._open.pop(interaction_id, None) is not None

    def settle_all(self) -> list[Question]:
        """Wait for nothing any longer; give what waited."""
        found = [question for question, _ in self._open.values()]
        self._open.clear()
        return found

    def due(self, now: float) -> list[Question]:
        """Give those whose time is over, and wait for them no longer."""
        late = [question for question, end in self._open.values() if end <= now]
        for question in late:
            del self._open[question.id]
        return late

    def until_next(self, now: float) -> float | None:
        """Give the seconds until the next one's time is over; None: none waits."""
        ends = [end for _, end in self._open.values()]
        return max(min(ends) - now, 0.0) if ends else None
