"""`summary.json`: the run in one object (docs/command-line.md lists the keys)."""

from __future__ import annotations

import time
from typing import Any

from agent_wrap.accounting import Account
from agent_wrap.entries import UNKNOWN, timestamp
from agent_wrap.outcome import Outcome, signal_name
from agent_wrap.plan import Plan
from agent_wrap.recorder import Recorder
from agent_wrap.values import value
from agent_wrap.version import __version__

VERSION = 1


@value
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


def skeleton(
    plan: Plan, outcome: Outcome, message: str, duration_ms: int
) -> dict[str, Any]:
    """Give every key, with what is known when only the plan and the end are."""
    ended = time.time()
    return {
        "version": VERSION,
        "status": outcome.status,
        "exit_code": outcome.exit_code,
        "agent_exit": {"code": None, "signal": None},
        "reason": outcome.reason,
        "message": message,
        "task": plan.settings.task or UNKNOWN,
        "cwd": plan.cwd,
        "model": plan.model or UNKNOWN,
        "agent": plan.agent_name or plan.adapter_name or UNKNOWN,
        "adapter": {
            "name": plan.adapter_name,
            "version": __version__,
            "detected_by": plan.detected_by,
        },
        "session_id": "",
        "agent_version": "",
        "wrapper_version": __version__,
        "command": plan.command,
        "started_at": timestamp(ended - duration_ms / 1000),
        "ended_at": timestamp(ended),
        "duration_ms": duration_ms,
        "first_output_ms": None,
        "last_progress_ms": None,
        "turns": 0,
        "tokens": dict.fromkeys(
            ("in", "out", "input", "cached", "cache_written", "output", "reasoning"), 0
        ),
        "reported": {"in": None, "out": None, "turns": None},
        "cost_usd": None,
        "tools": dict.fromkeys(("started", "success", "error", "closed_by_wrapper"), 0),
        "lines": dict.fromkeys(
            ("read", "mapped", "ignored", "unknown", "unparsable"), 0
        ),
        "unknown_events": {},
        "entries": 0,
        "entries_lost": 0,
        "fields_cut": 0,
        "redactions": 0,
        "resources": {
            **{"cpu_s": 0.0, "peak_rss_bytes": 0, "peak_processes": 0},
            "samples": [],
        },
        "killed": [],
        "notes": [],
    }


def build(plan: Plan, measured: Measured, recorder: Recorder) -> dict[str, Any]:
    """Give the whole summary of a run that its supervisor saw to the end."""
    number = measured.agent_signal
    summary = skeleton(plan, measured.outcome, measured.message, measured.duration_ms)
    summary.update(
        agent_exit={
            "code": measured.agent_code,
            "signal": signal_name(number) if number else None,
        },
        lines=recorder.reader.counts,
        unknown_events=dict(recorder.reader.unknown_types),
        entries=recorder.written,
        entries_lost=recorder.lost + recorder.dialog.thinned,
        fields_cut=recorder.cut,
        redactions=recorder.redactor.count,
        resources=measured.resources,
        killed=measured.killed,
        notes=_notes(measured, recorder),
        **_identity(plan, recorder),
        **_moments(measured.started, recorder),
        **_usage(recorder.dialog.account),
        **_tools(recorder),
    )
    return summary


def _identity(plan: Plan, recorder: Recorder) -> dict[str, Any]:
    """Say what ran: unlike `init`, with what became known later."""
    session, dialog = recorder.story.session, recorder.dialog
    return {
        "task": dialog.task or UNKNOWN,
        "cwd": dialog.cwd,
        "model": plan.model or session.model or UNKNOWN,
        "agent": plan.agent_name or session.agent or plan.adapter_name or UNKNOWN,
        "session_id": session.session_id,
        "agent_version": session.agent_version,
    }


def _moments(started: float, recorder: Recorder) -> dict[str, Any]:
    first = recorder.clocks.first_event_at
    if first is None:
        return {}
    last = recorder.clocks.last_progress
    return {
        "first_output_ms": int((first - started) * 1000),
        "last_progress_ms": int((last - started) * 1000),
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


def _notes(measured: Measured, recorder: Recorder) -> list[str]:
    return [
        *measured.notes,
        *recorder.keeper.notes,
        *recorder.reader.failures,
        *usage_notes(recorder.dialog.account),
        *recorder.story.notices,
    ]


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
