"""What `copilot --output-format json` prints: the events of its session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    Retracted,
    RunFinished,
    SessionStarted,
    SubagentUpdated,
    TaskStatus,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.shapes import as_args, get_dict, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.reading import Reader

_HOUSEKEEPING = """
assistant.idle assistant.intent assistant.message_start assistant.reasoning
assistant.streaming_delta assistant.tool_call_delta assistant.turn_start
assistant.usage model.call_failure model.call_final_result model.call_finished
capabilities.changed commands.changed
hook.end hook.progress hook.start pending_messages.modified permission.completed
permission.requested skill.invoked subagent.configured subagent.deselected
subagent.selected system.message system.notification
tool.execution_partial_result tool.execution_progress
session.auto_mode_resolved session.background_tasks_changed session.binary_asset
session.compaction_complete session.compaction_start session.context_changed
session.custom_agents_updated session.extensions_loaded session.idle
session.mcp_server_status_changed session.mcp_server_tools_loaded
session.mcp_servers_loaded session.mode_changed session.model_change
session.permissions_changed session.plan_changed session.quota_observation
session.resume session.shutdown session.skills_loaded session.start
session.task_complete session.title_changed session.todos_changed
session.truncation session.usage_checkpoint session.usage_info
session.usage_record session.workspace_file_changed
"""
_SILENT = frozenset(_HOUSEKEEPING.split())


class CopilotStream(Reader):
    """Reads the lines of one run."""

    def __init__(self) -> None:
        self._error = ""
        self._saying = ""
        self._pieces: list[str] = []
        self._model = ""
        self._parents: dict[str, str] = {}

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        kind, data = get_text(event, "type"), get_dict(event, "data")
        agent_id = get_text(event, "agentId")  # of a sub-agent
        parent = get_text(data, "parentToolCallId") or self._parents.get(agent_id, "")
        if kind.startswith("tool."):
            yield from _tool(kind, data, parent)
        elif kind.startswith("subagent."):
            yield from self._subagent(kind, data, agent_id)
        elif kind in ("session.info", "session.warning"):
            yield Notice(get_text(data, "message"))
        elif agent_id or parent:  # its words are not the main assistant's
            return
        elif kind in ("session.tools_updated", "model.call_start"):
            yield from self._named(get_text(data, "model"))
        elif kind == "session.error":
            self._error = get_text(data, "message") or "an error without a message"
            yield Notice(self._error)
        elif kind == "abort":  # the result that follows says 0
            self._error = f"aborted: {get_text(data, 'reason')}"
        elif kind == "result":
            yield from self.close()
            for tool_id in self._parents.values():
                yield SubagentUpdated(tool_id, "stopped")
            yield SessionStarted(session_id=get_text(event, "sessionId"))
            code = event.get("exitCode")
            said = self._error or (f"exit code {code}" if code else "")
            yield RunFinished(code == 0 and not self._error, said)
        else:
            yield from self._said(kind, data)

    def _named(self, model: str) -> Iterator[Event]:
        """Tell the model once: each call and each retry names it again."""
        if model and model != self._model:
            self._model = model
            yield SessionStarted(model=model)

    def close(self) -> Iterator[Event]:
        """Give what was still being said when the stream ended, or was interrupted."""
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.strip():
            yield TurnStarted(self._saying)
            yield Message(text, self._saying)

    def _said(self, kind: str, data: dict[str, Any]) -> Iterator[Event]:
        message_id = get_text(data, "messageId")
        if kind == "assistant.message_delta":
            self._saying = message_id
            self._pieces.append(get_text(data, "deltaContent"))
            yield TextDelta(self._pieces[-1], message_id)
        elif kind == "assistant.reasoning_delta":
            yield ThinkingDelta(get_text(data, "deltaContent"))
        elif kind == "assistant.message":
            self._error = ""
            self._pieces.clear()
            yield from _message(data, message_id)
        elif kind == "agent.interrupted":
            yield from self.close()
        elif kind in ("assistant.turn_end", "assistant.turn_retry"):
            if self._pieces:  # said, but never told as a whole: thrown away
                yield Retracted((self._saying,))
            self._pieces.clear()
            if kind == "assistant.turn_retry":
                yield Notice(f"retried: {get_text(data, 'reason')}")
        elif kind == "user.message":
            yield Prompt(get_text(data, "content"))
        elif kind not in _SILENT:
            yield Unknown(kind or "(no type)")

    def _subagent(
        self, kind: str, data: dict[str, Any], agent_id: str
    ) -> Iterator[Event]:
        tool_id, name = get_text(data, "toolCallId"), get_text(data, "agentName")
        if kind == "subagent.started":
            self._parents[agent_id] = tool_id
            yield SubagentUpdated(tool_id, "running", name)
        elif kind in ("subagent.completed", "subagent.failed"):
            self._parents.pop(agent_id, None)
            error = get_text(data, "error")
            failed = kind == "subagent.failed"
            status: TaskStatus = "failed" if failed else "completed"
            yield SubagentUpdated(tool_id, status, name, summary=error)
        elif kind not in _SILENT:
            yield Unknown(kind)


def _message(data: dict[str, Any], message_id: str) -> Iterator[Event]:
    """Read an answer: its reasoning, told again after it, belongs before it."""
    text, thought = get_text(data, "content"), get_text(data, "reasoningText")
    if text.strip() or thought.strip() or data.get("toolRequests"):
        yield TurnStarted(get_text(data, "apiCallId") or message_id)
    if thought.strip():
        yield Thinking(thought, message_id)
    if text.strip():
        yield Message(text, message_id)


def _tool(kind: str, data: dict[str, Any], parent: str) -> Iterator[Event]:
    tool_id = get_text(data, "toolCallId")
    if kind == "tool.execution_start":
        args = as_args(data.get("arguments"))
        yield ToolStarted(tool_id, get_text(data, "toolName"), args, parent)
    elif kind == "tool.shell_output":  # partial results repeat all that came before
        yield ToolProgress(tool_id, get_text(data, "text"))
    elif kind == "tool.execution_complete":
        code = get_dict(data, "shellExecution").get("exitCode")
        ok = data.get("success") is True and code in (None, 0)
        output = flatten(get_dict(data, "result").get("content"))
        output = output or get_text(get_dict(data, "error"), "message")
        yield ToolFinished(tool_id, output, ok)
    elif kind not in _SILENT:
        yield Unknown(kind)
