"""From an agent's facts to the events of its session: types and payloads. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from agent_wrap.accounting import Account
from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    Event,
    HookUpdated,
    InteractionResolved,
    MemoryRecalled,
    Message,
    Notice,
    QuestionAsked,
    Retracted,
    RunFinished,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Usage,
)
from agent_wrap.jsonvalue import clean
from agent_wrap.serve.pieces import Pieces
from agent_wrap.tools import OpenTool, Tools

Said = Iterator[tuple[str, dict[str, Any]]]

INTERACTION_MS = 600_000
TEXT, THINKING = "text_delta", "thinking_delta"

_TASKS = {
    "running": "running",
    "completed": "complete",
    "failed": "error",
    "stopped": "stopped",
}
_HOOKS = {"running": "running", "completed": "success", "failed": "error"}


class Translator:
    """Remembers what it takes to say everything once and under one id."""

    def __init__(self, interaction_ms: int = INTERACTION_MS) -> None:
        self.tools = Tools()
        self.account = Account()
        self._interaction_ms = interaction_ms
        self._pieces = {TEXT: Pieces(), THINKING: Pieces()}
        self._last = ""
        self._spent = 0.0  # by the turns before this one
        self._asked: dict[str, str] = {}
        self._running: dict[str, None] = {}
        self._handlers: dict[type[Event], Callable[[Any, int], Said]] = {
            SessionStarted: self._session,
            Message: lambda event, now: self._whole(TEXT, event),
            Thinking: lambda event, now: self._whole(THINKING, event),
            TextDelta: lambda event, now: self._piece(TEXT, event),
            ThinkingDelta: lambda event, now: self._piece(THINKING, event),
            ToolStarted: self._tool_started,
            ToolProgress: self._tool_progress,
            ToolFinished: self._tool_finished,
            Usage: self._usage,
            TurnStarted: self._counted,
            RunFinished: self._finished,
            Retracted: self._retracted,
            TodoUpdated: self._todo,
            SubagentUpdated: self._subagent,
            HookUpdated: self._hook,
            MemoryRecalled: self._memory,
            ApprovalAsked: self._approval,
            QuestionAsked: self._question,
            ElicitationAsked: self._elicitation,
            InteractionResolved: self._resolved,
            Notice: self._notice,
        }

    def apply(self, event: Event, now_ms: int) -> Said:
        """Give the types and payloads that one fact leads to."""
        handler = self._handlers.get(type(event))
        return iter(()) if handler is None else handler(event, now_ms)

    def close(self, unfinished: str) -> Said:
        """Give what ends with the turn: tools, questions, tasks."""
        for tool in self.tools.finish_all():
            yield _result(tool, unfinished, "error")
        for shown in self._asked.values():
            yield "interaction_resolved", {"id": shown, "resolution": "cancelled"}
        self._asked.clear()
        for task in self._running:
            yield "subagent_update", {"taskId": task, "status": "stopped"}
        if self._running:
            self._running.clear()
            yield _status(runningSubagentCount=0)
        self._last = ""
        self._pieces = {TEXT: Pieces(), THINKING: Pieces()}
        self._spent += self.account.tokens.cost or 0.0
        self.account = Account()

    def asked_as(self, shown: str) -> str | None:
        """Give the agent's own id of what it asked."""
        for native_id, known in self._asked.items():
            if known == shown:
                return native_id
        return None

    def recall(self, payload: dict[str, Any]) -> None:
        """Take note of an event of an earlier life: what it opened is to be closed."""
        kind = payload["type"]
        if kind == "tool_call":
            self.tools.reopen(payload["toolCallId"], payload["toolName"])
        elif kind == "tool_result":
            self.tools.finish(payload["toolCallId"])
        elif kind == "subagent_update" and payload["status"] == "running":
            self._running[payload["taskId"]] = None
        elif kind == "subagent_update":
            self._running.pop(payload["taskId"], None)
        elif kind == "interaction_resolved":
            self._asked.pop(payload["id"], None)
        elif "remainingMs" in payload:
            self._asked[payload["id"]] = payload["id"]
        elif kind == "status_change":
            self._spent = payload["status"].get("cost", self._spent)

    def _session(self, event: SessionStarted, now_ms: int) -> Said:
        if event.model:
            yield _status(model=event.model)

    def _piece(self, kind: str, event: TextDelta | ThinkingDelta) -> Said:
        if event.text:
            begins = self._pieces[kind].begins(event.message_id)
            self._pieces[kind].add(event.text, event.message_id)
            yield self._say(kind, event.text, begins=begins)

    def _whole(self, kind: str, event: Message | Thinking) -> Said:
        begins = self._pieces[kind].begins(event.message_id)
        rest = self._pieces[kind].rest(event.text, event.message_id)
        if rest and not rest.isspace():
            yield self._say(kind, rest, begins=begins)

    def _say(self, kind: str, text: str, *, begins: bool) -> tuple[str, dict[str, Any]]:
        """Say a text; clients join them, so a new message begins a new paragraph."""
        if begins and self._last == kind:
            text = "\n\n" + text
        self._last = kind
        return kind, {"text": text}

    def _tool_started(self, event: ToolStarted, now_ms: int) -> Said:
        tool = self.tools.start(event.id, event.name, event.parent)
        self._last = ""
        call = {"toolCallId": tool.id, "toolName": tool.name}
        if event.args is not None:
            call["input"] = _json(event.args)
        yield "tool_call", {**call, "status": "running"}

    def _tool_progress(self, event: ToolProgress, now_ms: int) -> Said:
        tool_id = self.tools.current(event.id)
        if tool_id and event.text:
            yield "tool_progress", {"toolCallId": tool_id, "content": event.text}

    def _tool_finished(self, event: ToolFinished, now_ms: int) -> Said:
        tool = self.tools.finish(event.id)
        if tool is not None:
            yield _result(tool, event.output, "complete" if event.ok else "error")

    def _counted(self, event: Event, now_ms: int) -> Said:
        self.account.apply(event)
        return iter(())

    def _usage(self, event: Usage, now_ms: int) -> Said:
        self.account.apply(event)
        yield _status(
            contextUsage={
                "totalTokens": event.tokens_in,
                "outputTokens": event.output,
                "cacheReadTokens": event.cached,
                "cacheCreationTokens": event.cache_written,
            },
            cacheStats={
                "cacheReadTokens": event.cached,
                "cacheCreationTokens": event.cache_written,
            },
            **self._cost(),
        )

    def _finished(self, event: RunFinished, now_ms: int) -> Said:
        self.account.apply(event)
        if cost := self._cost():
            yield _status(**cost)

    def _cost(self) -> dict[str, float]:
        cost = self.account.tokens.cost
        return {} if cost is None else {"cost": round(self._spent + cost, 9)}

    def _retracted(self, event: Retracted, now_ms: int) -> Said:
        self.account.apply(event)
        for pieces in self._pieces.values():
            pieces.forget(event.message_ids)
        yield (
            "system_status",
            {"message": "an answer was discarded, the next one tries again"},
        )

    def _todo(self, event: TodoUpdated, now_ms: int) -> Said:
        tasks = [_task(item, number) for number, item in enumerate(event.items, 1)]
        done, doing = (
            sum(task["status"] == status for task in tasks)
            for status in ("completed", "in_progress")
        )
        chosen = next((t for t in tasks if t["status"] != "completed"), None)
        none = {"id": "0", "subject": "", "status": "completed"}
        task = chosen or (tasks[-1] if tasks else none)
        yield "todo_update", {"action": "snapshot", "task": task, "tasks": tasks}
        counts = {"total": len(tasks), "completed": done, "inProgress": doing}
        yield _status(todoCounts=counts)

    def _subagent(self, event: SubagentUpdated, now_ms: int) -> Said:
        if event.status == "running":
            self._running[event.id] = None
        else:
            self._running.pop(event.id, None)
        optional = {
            "description": event.description or None,
            "toolUses": event.tool_uses,
            "summary": event.summary or None,
        }
        told = {"taskId": event.id, "status": _TASKS[event.status]}
        yield "subagent_update", {**told, **_known(optional)}
        yield _status(runningSubagentCount=len(self._running))

    def _hook(self, event: HookUpdated, now_ms: int) -> Said:
        optional = {
            "hookName": event.name or None,
            "stdout": event.stdout or None,
            "stderr": event.stderr or None,
            "exitCode": event.exit_code,
        }
        told = {"hookId": event.id, "status": _HOOKS[event.status]}
        yield "hook_update", {**told, **_known(optional)}

    def _memory(self, event: MemoryRecalled, now_ms: int) -> Said:
        mode = event.mode if event.mode in ("select", "synthesize") else "select"
        memories = [{"path": path, "scope": "personal"} for path in event.memories]
        yield "memory_recall", {"mode": mode, "memories": memories}

    def _approval(self, event: ApprovalAsked, now_ms: int) -> Said:
        # The id of the tool's card: with another one, clients would show a second.
        shown = self.tools.current(event.tool_id) or event.tool_id or event.id
        wanted = {"toolName": event.tool_name, "input": _json(event.args)}
        yield self._ask("approval_required", event.id, shown, now_ms, **wanted)

    def _question(self, event: QuestionAsked, now_ms: int) -> Said:
        questions = [_question(question) for question in event.questions]
        shown = self.tools.current(event.tool_id) or event.tool_id or event.id
        yield self._ask("question_prompt", event.id, shown, now_ms, questions=questions)

    def _elicitation(self, event: ElicitationAsked, now_ms: int) -> Said:
        wanted: dict[str, Any] = {"serverName": event.server, "message": event.message}
        if event.schema:
            wanted["requestedSchema"] = clean(event.schema)
        if event.url:
            wanted.update(mode="url", url=event.url)
        yield self._ask("elicitation_prompt", event.id, event.id, now_ms, **wanted)

    def _ask(
        self, kind: str, native_id: str, shown: str, now_ms: int, **wanted: Any
    ) -> tuple[str, dict[str, Any]]:
        if shown in self._asked.values():  # asked twice of one tool
            shown = native_id
        self._asked[native_id] = shown
        if kind == "approval_required":
            wanted["hasSuggestions"] = False
        clock = {"startedAt": now_ms, "remainingMs": self._interaction_ms}
        return kind, {"id": shown, **clock, **wanted}

    def _resolved(self, event: InteractionResolved, now_ms: int) -> Said:
        shown = self._asked.pop(event.id, None)
        if shown is not None:  # what is answered twice is told once
            told = {"id": shown, "resolution": event.resolution}
            yield "interaction_resolved", told

    def _notice(self, event: Notice, now_ms: int) -> Said:
        if event.text:
            yield "system_status", {"message": event.text}


def _status(**part: Any) -> tuple[str, dict[str, Any]]:
    return "status_change", {"status": part}


def _result(tool: OpenTool, text: str, status: str) -> tuple[str, dict[str, Any]]:
    told = {"toolCallId": tool.id, "toolName": tool.name}
    return "tool_result", {**told, "result": text, "status": status}


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _task(item: TodoItem, number: int) -> dict[str, str]:
    return {"id": item.id or str(number), "subject": item.text, "status": item.status}


def _question(asked: dict[str, Any]) -> dict[str, Any]:
    """Give a question in the protocol's shape, whatever the agent left out."""
    options = asked.get("options")
    shown = []
    for option in options if isinstance(options, list) else ():
        known = option if isinstance(option, dict) else {"label": option}
        text = {"label": str(known.get("label", ""))}
        if known.get("description"):
            text["description"] = str(known["description"])
        shown.append(text)
    return {
        "header": str(asked.get("header", "")),
        "question": str(asked.get("question", "")),
        "options": shown,
        "multiSelect": bool(asked.get("multiSelect", False)),
    }


def _json(args: dict[str, Any]) -> str:
    return json.dumps(clean(args), ensure_ascii=False, separators=(",", ":"))
