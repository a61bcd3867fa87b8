"""The rules by name, each with the clause of the protocol that it comes from.

The protocol's own clauses are quoted, those that its readers add are marked (readers).
"""

from __future__ import annotations

MAX_BYTES = 32 * 1024 * 1024
MAX_ENTRIES = 200_000
MAX_NESTING = 126

RULES: dict[str, str] = {
    "size-bytes": "(readers) at most 32 MiB, else the file is treated as absent",
    "size-entries": "(readers) at most 200,000 entries, the rest is not read",
    "final-newline": "one JSON object per line: the last line is torn",
    "utf-8": "Encoding: UTF-8",
    "byte-order-mark": "one JSON object per line: no byte-order mark before it",
    "blank-line": "one JSON object per line: no blank lines",
    "json": "Format: JSON Lines, one JSON object per line",
    "object": "Each object represents a discrete event",
    "finite": "(readers) no NaN, no Infinity, numbers within a double",
    "surrogate": "(readers) no lone surrogates",
    "nesting": "(readers) nested less than 127 deep",
    "seq": "seq: int, monotonically increasing sequence number",
    "seq-contiguous": "seq: starting at 0, one more with each entry",
    "ts": "ts: string, ISO 8601 timestamp in UTC",
    "type": "type: init, prompt, message, thinking, tool, or complete",
    "init-data": "data: object with task, cwd, model and agent",
    "init-data-task": "data.task: string",
    "init-data-cwd": "data.cwd: string",
    "init-data-model": "data.model: string",
    "init-data-agent": "data.agent: string",
    "prompt-content": "content: string, the full prompt text",
    "message-role": 'role: always "assistant"',
    "message-content": "content: string, the message text",
    "message-tokens": 'tokens: optional object {"in": <int>, "out": <int>}',
    "message-tokens-in": "tokens.in: int, not negative",
    "message-tokens-out": "tokens.out: int, not negative",
    "thinking-content": "content: string, the reasoning text",
    "tool-tool-id": "tool_id: string, unique identifier of the invocation",
    "tool-name": "name: string, the tool's name",
    "tool-status": 'status: "running", then "success" or "error"',
    "tool-args": "args: optional object",
    "tool-result": "result: optional string",
    "tool-error": "error: optional string",
    "tool-result-misplaced": "result: tool output on success",
    "tool-error-misplaced": "error: error message on failure",
    "complete-status": 'status: "success", "error" or "timeout"',
    "complete-turns": "turns: int, number of assistant turns",
    "complete-duration-ms": "duration_ms: int, milliseconds",
    "complete-total-tokens": 'total_tokens: object {"in": <int>, "out": <int>}',
    "complete-total-tokens-in": "total_tokens.in: int, not negative",
    "complete-total-tokens-out": "total_tokens.out: int, not negative",
    "complete-message": "message: optional string",
    "init-first": "init must be the first entry (seq: 0)",
    "init-once": "init: the first entry in every dialog file",
    "prompt-missing": "prompt should follow immediately after init",
    "prompt-second": "prompt should follow immediately after init",
    "prompt-once": "prompt: typically appears once, immediately after init",
    "complete-missing": "complete: signals that the agent session has ended",
    "complete-once": "complete: the final entry",
    "complete-last": "complete must be the last entry",
    "tool-id-unique": "tool_id: unique identifier for this tool invocation",
    "tool-start-missing": "tool entries come in pairs: a start, then its result",
    "tool-result-missing": "every tool start should have a matching tool result",
    "tool-result-once": "tool entries come in pairs: one result for a start",
    "tool-name-carried": "name: carried over from start",
}
"""Rule -> the clause of the protocol (or the limit of its readers) that it checks."""

WARNINGS = frozenset({"prompt-missing", "tool-result-misplaced"})
"""The rules of which a breach is no more than a warning."""
