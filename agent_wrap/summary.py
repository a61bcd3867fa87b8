"""`summary.json`: the run in one object (docs/command-line.md lists the keys)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from agent_wrap.accounting import Account
from agent_wrap.entries import UNKNOWN, timestamp
from agent_wrap.launch import Plan
from agent_wrap.outcome import Outcome, signal_name
from agent_wrap.recorder import Recorder
from agent_wrap.version import __version__

VERSION = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """What the supervisor measured; `started` is monotonic seconds."""

    outcome: Outcome
    message: str
    agent_code: int | None
    agent_signal: int | None
    started: float
    duration_ms: int
    resources: dict[str, Any]
    killed: list[dict[str, Any]]
    notes: list[str]


def build(plan: Plan, measured: Measured, recorder: Recorder) -> dict[str, Any]:
    """Put the run together; every value is plain JSON."""
    reader = recorder.reader
    ended = time.time()
    number = measured.agent_signal
    return {
        "version": VERSION,
        "status": measured.outcome.status,
        "exit_code": measured.outcome.exit_code,
        "agent_exit": {
            "code": measured.agent_code,
            "signal": signal_name(number) if number else None,
        },
        "reason": measured.outcome.reason,
        "message": measured.message,
        **_identity(plan, recorder),
        "started_at": timestamp(ended - measured.duration_ms / 1000),
        "ended_at": timestamp(ended),
        "duration_ms": measured.duration_ms,
        **_moments(measured.started, recorder),
        **_usage(recorder.dialog.account),
        **_tools(recorder),
        "lines": reader.counts,
        "unknown_events": dict(reader.unknown_types),
        "entries": recorder.written,
        "entries_lost": recorder.lost,
        "fields_cut": 0,
        "redactions": 0,
        "resources": measured.resources,
        "killed": measured.killed,
        "notes": [
            *measured.notes,
            *reader.failures,
            *usage_notes(recorder.dialog.account),
            *recorder.story.notices,
        ],
    }


def _identity(plan: Plan, recorder: Recorder) -> dict[str, Any]:
    """Say what ran: unlike `init`, with what became known later."""
    session, dialog = recorder.story.session, recorder.dialog
    return {
        "task": dialog.task or UNKNOWN,
        "cwd": dialog.cwd,
        "model": plan.model or session.model or UNKNOWN,
        "agent": plan.agent_name or session.agent or UNKNOWN,
        "adapter": {
            "name": plan.adapter_name,
            "version": __version__,
            "detected_by": plan.detected_by,
        },
        "session_id": session.session_id,
        "agent_version": session.agent_version,
        "wrapper_version": __version__,
        "command": plan.command,
    }


def _moments(started: float, recorder: Recorder) -> dict[str, Any]:
    clocks = recorder.clocks
    first = clocks.first_event_at
    last = None if first is None else clocks.last_progress
    return {
        "first_output_ms": None if first is None else int((first - started) * 1000),
        "last_progress_ms": None if last is None else int((last - started) * 1000),
    }


def _usage(account: Account) -> dict[str, Any]:
    tokens, reported = account.tokens, account.reported
    return {
        "turns": account.turns,
        "tokens": {
            "in": tokens.total_in,
            "out": tokens.output,
            "input": tokens.input,
            "cached": tokens.cached,
            "cache_written": tokens.cache_written,
            "output": tokens.output,
            "reasoning": tokens.reasoning,
        },
        "reported": {
            "in": reported.total_in if reported else None,
            "out": reported.output if reported else None,
            "turns": account.reported_turns,
        },
        "cost_usd": tokens.cost,
    }


def _tools(recorder: Recorder) -> dict[str, Any]:
    dialog = recorder.dialog
    return {
        "tools": {
            "started": dialog.tools_started,
            "success": dialog.tools_ok,
            "error": dialog.tools_failed,
            "closed_by_wrapper": dialog.tools_closed,
        }
    }


def usage_notes(account: Account) -> list[str]:
    """Say where the agent's own total differs from the sum of its messages."""
    summed, reported = account.messages, account.reported
    if not summed or not reported or not account.all_final:
        return []
    if (summed.total_in, summed.output) == (reported.total_in, reported.output):
        return []
    return [
        f"tokens: the agent reports {reported.total_in} in, {reported.output} out; "
        f"its messages sum up to {summed.total_in} in, {summed.output} out"
    ]
