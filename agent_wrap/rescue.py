"""Finishing a run whose supervisor is gone: its dialog and its summary.

Loaded only then: by the guardian, which was there and knows the counters, and by
`agent-wrap repair`, which recounts from what is on disk.
"""

from __future__ import annotations

import os
import time

from agent_wrap import finish, first_lines
from agent_wrap.encode import encode
from agent_wrap.launch import Run, say
from agent_wrap.outcome import Cause, Ending, decide, signal_name
from agent_wrap.summary import skeleton
from agent_wrap.writer import SUMMARY


def rescue(run: Run, status: int) -> int:
    """Finish the dialog of a gone supervisor from the guardian; give the exit code."""
    outcome = decide(_ending(status))
    duration_ms = int((time.monotonic() - run.started) * 1000)
    summary = skeleton(run.plan, outcome, outcome.message, duration_ms)
    summary["turns"] = run.ledger.turns
    summary["tokens"]["in"], summary["tokens"]["out"] = run.ledger.tokens
    try:
        remains = finish.examine(run.archive.read_dialog())
        missing = finish.closing(
            remains,
            now=time.time(),
            first=first_lines.first_entries(run.plan, time.time()),
            turns=run.ledger.turns,
            tokens=run.ledger.tokens,
            duration_ms=duration_ms,
            message=outcome.message,
        )
        if missing:
            finish.append_closing(run.archive.dialog.fd, remains, missing)
        summary["entries"] = remains.count + len(missing)
        summary["tools"]["closed_by_wrapper"] = len(remains.open_tools)
    except OSError as error:
        say(f"the dialog could not be finished: {error}")
    run.archive.write_file(SUMMARY, encode(summary))
    say(outcome.message)
    return outcome.exit_code


def _ending(status: int) -> Ending:
    """Say from its wait status what became of the supervisor."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        detail = f"agent-wrap's supervisor was killed by {signal_name(-code)}"
        return Ending(cause=Cause.WRAPPER_KILLED, stop_signal=-code, detail=detail)
    detail = f"its supervisor ended early, with code {code}"
    return Ending(cause=Cause.INTERNAL, detail=detail)
