"""What `cline --json` prints: the agent's events, its hooks, and one result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    SessionStarted,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.shapes import as_args, get_count, get_dict, get_text
from agent_wrap_adapters.cline_parts import finished, tool_finished, usage
from agent_wrap_adapters.reading import Reader

_SILENT = ("iteration_end", "done")


class ClineStream(Reader):
    """Reads the lines of one run."""

    def __init__(self) -> None:
        self._turns: dict[str, str] = {"": ""}
        self._pieces: list[str] = []
        self._deltas = ""
        self._thought = False
        self._tool_id = ""
        self._parents: dict[str, str] = {}
        self._delegated = False

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        kind = get_text(event, "type")
        if kind == "agent_event":
            yield from self._event(get_dict(event, "event"))
        elif kind == "hook_event":
            yield from self._hook(event)
        elif kind == "run_result":
            yield from self.close()
            yield SessionStarted(model=get_text(get_dict(event, "model"), "id"))
            yield finished(event, with_totals=not self._delegated)
        elif kind == "run_aborted":  # after a run_result that says so, or in its place
            yield RunFinished(False, f"aborted: {get_text(event, 'reason')}", "aborted")
        elif kind == "error":
            yield Notice(get_text(event, "message"))
        elif kind != "team_event":
            yield Unknown(kind or "(no type)")

    def close(self) -> Iterator[Event]:
        """Give what was still being said when the stream ended."""
        yield from self._say("".join(self._pieces))

    @property
    def _agent(self) -> str:
        """The sub-agent that is at work; empty: the main one is."""
        return next(reversed(self._parents), "")

    @property
    def _turn(self) -> str:
        return self._turns[""]

    def _hook(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read a hook: nothing else tells a sub-agent's events from the main one's."""
        name, agent_id = get_text(event, "hookEventName"), get_text(event, "agentId")
        if name in ("agent_start", "agent_resume"):
            if get_text(event, "parentAgentId"):
                self._parents[agent_id] = self._tool_id
                self._delegated = True
            else:
                yield SessionStarted(session_id=get_text(event, "taskId"))
        elif name in ("agent_end", "agent_error", "agent_abort"):
            self._parents.pop(agent_id, None)

    def _event(self, event: dict[str, Any]) -> Iterator[Event]:
        kind, content = get_text(event, "type"), get_text(event, "contentType")
        if kind.startswith("content_") and content == "tool":
            yield from self._tool(kind, event)
        elif kind == "usage":
            yield usage(event, message_id=self._turns.get(self._agent, ""))
        elif kind == "iteration_start":
            turn = f"{self._agent} iteration-{get_count(event, 'iteration')}"
            self._turns[self._agent] = turn.strip()
            if not self._agent:
                self._pieces.clear()
                self._deltas, self._thought = "", False
        elif kind == "notice":
            yield Notice(get_text(event, "message"))
        elif kind == "error":
            yield Notice(get_text(get_dict(event, "error"), "message"))
        elif kind.startswith("content_"):
            if not self._parents:
                yield from self._words(kind, content, event)
        elif kind not in _SILENT:
            yield Unknown(f"agent_event/{kind or '(no type)'}")

    def _words(self, kind: str, content: str, event: dict[str, Any]) -> Iterator[Event]:
        text, thought = get_text(event, "text"), get_text(event, "reasoning")
        if kind == "content_start":  # each delta is called a start
            if content == "reasoning":
                self._deltas += thought
                yield ThinkingDelta(thought, self._turn)
            elif content == "text":
                self._pieces.append(text)
                yield TextDelta(text, self._turn)
        elif content == "text":
            yield from self._say(text)
        elif content == "reasoning":
            yield from self._think(thought)

    def _say(self, text: str) -> Iterator[Event]:
        """Give a text; the reasoning before it is ended only after it."""
        self._pieces.clear()
        yield from self._think(self._deltas)
        if text.strip():
            yield TurnStarted(self._turn)
            yield Message(text, self._turn)

    def _think(self, text: str) -> Iterator[Event]:
        self._deltas = ""
        if text.strip() and not self._thought:
            self._thought = True
            yield TurnStarted(self._turn)
            yield Thinking(text, self._turn)

    def _tool(self, kind: str, event: dict[str, Any]) -> Iterator[Event]:
        tool_id, name = get_text(event, "toolCallId"), get_text(event, "toolName")
        if kind == "content_start":
            self._tool_id = tool_id
            parent = next(reversed(self._parents.values()), "")
            if not self._parents:
                yield from self._think(self._deltas)
                yield TurnStarted(self._turn)
            yield ToolStarted(tool_id, name, as_args(event.get("input")), parent)
        elif kind == "content_update":
            if chunk := get_text(get_dict(event, "update"), "chunk"):
                yield ToolProgress(tool_id, chunk)
        elif kind == "content_end":
            # The hook at a sub-agent's end is missing where it failed.
            self._parents = {a: t for a, t in self._parents.items() if t != tool_id}
            yield tool_finished(event, tool_id)
