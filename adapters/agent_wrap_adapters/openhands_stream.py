"""What OpenHands prints with `--headless --json`: JSON lines among text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    HookUpdated,
    Message,
    Notice,
    Prompt,
    RunFinished,
    SessionStarted,
    Thinking,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from agent_wrap.jsonvalue import objects
from agent_wrap.shapes import as_args, get_count, get_dict, get_text, strip_terminal
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import ByType


class OpenHandsStream(ByType):
    """Reads the lines of one process."""

    key = "kind"
    silent = frozenset(
        {
            "Condensation",
            "CondensationRequest",
            "CondensationSummaryEvent",
            "ConversationStateUpdateEvent",
            "LLMCompletionLogEvent",
            "StreamingDeltaEvent",
            "SystemPromptEvent",
            "TokenEvent",
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self._finished: RunFinished | None = None
        self._turn = ""
        self._box: list[str] | None = []
        self.types = {
            "MessageEvent": self._message,
            "ActionEvent": self._action,
            "ObservationEvent": _observed,
            "AgentErrorEvent": _refused,
            "UserRejectObservation": _refused,
            "ConversationErrorEvent": self._failed,
            "HookExecutionEvent": _hook,
            "PauseEvent": lambda event: iter((Notice("the agent was paused"),)),
        }

    def feed(self, event: dict[str, Any]) -> Iterable[Event]:
        """Give the facts that one JSON line states."""
        self._box = None  # what the text says again at the end is known then
        return super().feed(event)

    def feed_text(self, line: str) -> Iterator[Event]:
        """Read a line: JSON, a mark of the run's course, or noise."""
        found = objects(line.encode()) if line.startswith("{") else None
        text = strip_terminal(line).strip()
        name, _, value = text.partition(": ")
        if found is not None:
            for event in found:
                yield from self.feed(event)
        elif name.endswith("Agent initialized with model"):
            yield SessionStarted(model=value)
        elif text == "Agent finished":
            self._finished = self._finished or RunFinished(True)
            yield self._finished
        elif name == "Conversation ID":
            yield SessionStarted(session_id=value)
            if self._finished is not None:  # a session's start takes it back
                yield self._finished
        elif text.startswith(("Error:", "Headless mode requires")):
            yield Notice(text)
        elif text.startswith("│") and self._box is not None:
            self._box.append(text.strip("│ "))

    def close(self) -> Iterator[Event]:
        """Give the last message of a run without `--json`, from its summary."""
        if self._box and self._finished is not None:
            yield TurnStarted("summary")
            yield Message("\n".join(self._box))
            yield self._finished

    def _message(self, event: dict[str, Any]) -> Iterator[Event]:
        message = get_dict(event, "llm_message")
        text = flatten(message.get("content"))
        source = get_text(event, "source")
        if source == "agent":
            yield from self._answer(event, message, text)
        elif source == "user" and text:
            yield Prompt(text)

    def _action(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a tool call; of several in one answer the first has its text."""
        yield from self._answer(event, event, flatten(event.get("thought")))
        yield from self._start_turn(event)
        name = get_text(event, "tool_name")
        yield ToolStarted(get_text(event, "tool_call_id"), name, _args(event))

    def _answer(
        self, event: dict[str, Any], thinker: dict[str, Any], text: str
    ) -> Iterator[Event]:
        thought = get_text(thinker, "reasoning_content")
        if thought.strip() or text.strip():
            yield from self._start_turn(event)
        if thought.strip():
            yield Thinking(thought, self._turn)
        if text.strip():
            yield Message(text, self._turn)

    def _start_turn(self, event: dict[str, Any]) -> Iterator[Event]:
        turn = get_text(event, "llm_response_id") or get_text(event, "id")
        if turn != self._turn:
            self._turn = turn
            yield TurnStarted(turn)

    def _failed(self, event: dict[str, Any]) -> Iterator[Event]:
        code = get_text(event, "code")
        self._finished = RunFinished(False, get_text(event, "detail") or code, code)
        yield self._finished


def _args(event: dict[str, Any]) -> dict[str, Any] | None:
    """Give the arguments as understood; of a call not understood, as written."""
    action = event.get("action")
    if isinstance(action, dict):
        given = {k: v for k, v in action.items() if k != "kind" and v is not None}
        return get_dict(given, "data") if list(given) == ["data"] else given
    written = get_text(get_dict(event, "tool_call"), "arguments")
    try:
        return as_args(json.loads(written))
    except ValueError:
        return as_args(written)


def _observed(event: dict[str, Any]) -> Iterator[Event]:
    """Read a result; -1 stands for a command that still runs, or was killed."""
    observation = get_dict(event, "observation")
    failed = observation.get("is_error") is True or get_count(observation, "exit_code")
    output = flatten(observation.get("content"))
    yield ToolFinished(get_text(event, "tool_call_id"), output, not failed)


def _refused(event: dict[str, Any]) -> Iterator[Event]:
    text = get_text(event, "error") or get_text(event, "rejection_reason")
    yield ToolFinished(get_text(event, "tool_call_id"), text, False)


def _hook(event: dict[str, Any]) -> Iterator[Event]:
    yield HookUpdated(
        get_text(event, "id"),
        "completed" if event.get("success") is True else "failed",
        get_text(event, "hook_event_type"),
        get_text(event, "stdout"),
        get_text(event, "stderr"),
        get_count(event, "exit_code"),
    )
