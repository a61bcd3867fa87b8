"""The shapes of every frame, as both known releases of a client check them.

A field is `name: check`; `name?` is optional. Anything else in a payload fails: a
strict client drops such a frame without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def text(value: Any) -> bool:
    return isinstance(value, str)


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def table(value: Any) -> bool:
    return isinstance(value, dict)


def one_of(*words: str) -> Check:
    return lambda value: value in words


def nullable(check: Check) -> Check:
    return lambda value: value is None or check(value)


def many(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def shape(**fields: Check) -> Check:
    """Make a check of an object; a name that ends in `_` is optional."""

    def check(value: Any) -> bool:
        return isinstance(value, dict) and not faults(value, fields)

    return check


def faults(value: Mapping[str, Any], fields: Mapping[str, Check]) -> list[str]:
    """Say what is wrong with an object."""
    names = {name.removesuffix("_") for name in fields}
    found = [f"unknown: {name}" for name in value if name not in names]
    for name, check in fields.items():
        key = name.removesuffix("_")
        if key not in value:
            found += [] if name.endswith("_") else [f"missing: {key}"]
        elif not check(value[key]):
            found.append(f"wrong: {key}={value[key]!r}"[:300])
    return found


TOOL_STATUS = one_of("pending", "running", "complete", "error")
CONTEXT: dict[str, Check] = {
    "totalTokens": count,
    "maxTokens": count,
    "outputTokens": count,
    "cacheReadTokens": count,
    "cacheCreationTokens": count,
}
ERROR = shape(message=text, code_=text, category_=text, details_=text)
STATUS: dict[str, Check] = {
    "contextUsage": nullable(shape(**CONTEXT)),
    "cost": nullable(number),
    "usage": nullable(table),
    "cacheStats": nullable(shape(cacheReadTokens=count, cacheCreationTokens=count)),
    "model": nullable(text),
    "permissionMode": one_of(
        *("default", "plan", "acceptEdits", "dontAsk", "bypassPermissions", "auto")
    ),
    "todoCounts": nullable(shape(total=count, completed=count, inProgress=count)),
    "runningSubagentCount": count,
    "lifecycle": one_of("idle", "streaming", "blocked", "error", "interrupted"),
    "lastError": nullable(ERROR),
}
PARTIAL = {f"{name}_": check for name, check in STATUS.items()} | {
    "contextUsage_": nullable(shape(**{f"{n}_": c for n, c in CONTEXT.items()}))
}
QUESTION = shape(
    header=text,
    question=text,
    options=many(shape(label=text, description_=text)),
    multiSelect=flag,
)
CLOCK: dict[str, Check] = {"id": text, "startedAt": count, "remainingMs": count}
APPROVAL: dict[str, Check] = {
    **CLOCK,
    "toolName": text,
    "input": text,
    "hasSuggestions": flag,
}
QUESTIONS: dict[str, Check] = {**CLOCK, "questions": many(QUESTION)}
FORM: dict[str, Check] = {
    **CLOCK,
    "serverName": text,
    "message": text,
    "requestedSchema_": table,
    "mode_": one_of("form", "url"),
    "url_": text,
}
TASK = shape(
    id=text, subject=text, status=one_of("pending", "in_progress", "completed")
)
TOOL: dict[str, Check] = {
    "toolCallId": text,
    "toolName": text,
    "input_": text,
    "result_": text,
    "status": TOOL_STATUS,
}
EVENTS: dict[str, dict[str, Check]] = {
    "turn_start": {"userMessage_": text},
    "turn_end": {"terminalReason_": text},
    "text_delta": {"text": text},
    "thinking_delta": {"text": text},
    "tool_call": TOOL,
    "tool_result": TOOL,
    "tool_progress": {"toolCallId": text, "content": text},
    "approval_required": APPROVAL,
    "question_prompt": QUESTIONS,
    "elicitation_prompt": FORM,
    "interaction_resolved": {
        "id": text,
        "resolution_": one_of("approved", "denied", "answered", "cancelled"),
    },
    "status_change": {"status": shape(**PARTIAL)},
    "todo_update": {
        "action": one_of("create", "update", "snapshot"),
        "task": TASK,
        "tasks_": many(TASK),
    },
    "subagent_update": {
        "taskId": text,
        "status": one_of("running", "complete", "error", "stopped"),
        "description_": text,
        "toolUses_": count,
        "summary_": text,
    },
    "hook_update": {
        "hookId": text,
        "status": one_of("running", "success", "error", "cancelled"),
        "hookName_": text,
        "stdout_": text,
        "stderr_": text,
        "exitCode_": number,
    },
    "memory_recall": {
        "mode": one_of("select", "synthesize"),
        "memories": many(shape(path=text, scope=one_of("personal", "team"))),
    },
    "system_status": {"message": text, "status_": text},
    "error": {
        "message": text,
        "code_": text,
        "category_": one_of(
            *("max_turns", "execution_error", "budget_exceeded"),
            *("output_format_error", "auth_error"),
        ),
    },
}


def event_check(value: Any) -> bool:
    """Check an event of any type, with its number."""
    return isinstance(value, dict) and not event_faults(value)


def event_faults(value: dict[str, Any]) -> list[str]:
    """Say what is wrong with an event."""
    fields = EVENTS.get(value.get("type", ""))
    if fields is None:
        return [f"unknown event: {value.get('type')}"]
    return faults(value, {"seq": count, "type": text, **fields})


TOOL_PART: dict[str, Check] = {**TOOL, "progressOutput_": text}
PARTS: dict[str, dict[str, Check]] = {
    "text": {"text": text},
    "thinking": {"text": text},
    "tool_call": TOOL_PART,
    "error": {"message": text, "code_": text},
}


def part(value: Any) -> bool:
    fields = dict(value)
    return not faults(fields, {"type": text, **PARTS[fields["type"]]})


HISTORY = shape(
    id=text,
    role=one_of("user", "assistant"),
    content=text,
    toolCalls_=many(shape(**TOOL_PART)),
    parts_=many(part),
    timestamp_=text,
)
PENDING: dict[str, dict[str, Check]] = {
    "approval": APPROVAL,
    "question": QUESTIONS,
    "elicitation": FORM,
}


def pending(value: Any) -> bool:
    return not faults(value, {"type": text, **PENDING[value["type"]]})


SNAPSHOT: dict[str, Check] = {
    "messages": many(HISTORY),
    "inProgressTurn": nullable(many(event_check)),
    "status": shape(**STATUS),
    "pendingInteractions": many(pending),
    "queuedMessages": many(table),
    "cursor": count,
}
SESSION = shape(
    id=text,
    title=text,
    createdAt=text,
    updatedAt=text,
    permissionMode=text,
    runtime=text,
    cwd_=text,
    model_=text,
    outcome_=text,  # of archives; unknown keys are ignored by clients
)
GLOBAL: dict[str, dict[str, Check]] = {
    "connected": {"connectedAt": text},
    "session_upserted": {"type": one_of("session_upserted"), "session": SESSION},
    "session_removed": {"type": one_of("session_removed"), "sessionId": text},
    "session_status": {
        "type": one_of("session_status"),
        "sessionId": text,
        "cwd_": text,
        "status": shape(**STATUS),
    },
}
