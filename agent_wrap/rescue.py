"""Finishing a run whose supervisor is gone: its dialog and its summary.

Loaded only then: by the guardian, which was there and knows the counters, and by
`agent-wrap repair`, which recounts from what is on disk.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import Any

from agent_wrap import finish, first_lines, registry
from agent_wrap.accounting import Account
from agent_wrap.adapter import Adapter
from agent_wrap.encode import encode
from agent_wrap.entries import UNKNOWN, Entry, init, prompt, timestamp
from agent_wrap.errors import AdapterError
from agent_wrap.finish import Remains
from agent_wrap.outcome import Cause, Ending, Outcome, decide, signal_name
from agent_wrap.plan import SIDE_FILES, Plan, clean_prompt_file
from agent_wrap.reader import Detection, Reader
from agent_wrap.redact import Redactor
from agent_wrap.running import Run
from agent_wrap.settings import Settings
from agent_wrap.side_files import remove_folder
from agent_wrap.stderr import say
from agent_wrap.summary import skeleton
from agent_wrap.writer import PROMPT, STDOUT, SUMMARY, Archive

KILLED = "agent-wrap and its guardian were killed"


def rescue(run: Run, status: int, killed: dict[int, str]) -> int:
    """Finish the dialog of a gone supervisor from the guardian; give the exit code."""
    outcome = decide(_ending(status))
    now = time.time()
    duration_ms = int((time.monotonic() - run.started) * 1000)
    summary = skeleton(run.plan, outcome, outcome.message, duration_ms)
    summary["killed"] = [
        {"pid": pid, "name": name, "signal": "SIGKILL"} for pid, name in killed.items()
    ]
    summary["turns"] = run.ledger.turns
    summary["tokens"]["in"], summary["tokens"]["out"] = run.ledger.tokens
    try:
        remains = finish.examine(run.archive.recover_dialog())
        missing = finish.closing(
            remains,
            now=now,
            first=first_lines.first_entries(run.plan, now),
            turns=run.ledger.turns,
            tokens=run.ledger.tokens,
            duration_ms=duration_ms,
            message=outcome.message,
        )
        fd = run.archive.dialog.fd
        finish.append_closing(fd, remains, missing, run.redactor)
        summary["entries"] = remains.count + len(missing)
        summary["tools"]["closed_by_wrapper"] = len(remains.open_tools)
        if remains.complete is not None:  # killed after the last entry: it is true
            _agree(summary, remains.complete)
    except OSError as error:
        say(f"the dialog could not be finished: {error}")
    clean_prompt_file(run.plan, run.archive, run.redactor)
    remove_folder(run.plan.side_folder)
    run.archive.write_file(SUMMARY, run.redactor.replace_line(encode(summary)))
    say(outcome.message)
    return outcome.exit_code


def _agree(summary: dict[str, Any], complete: Entry) -> None:
    """Let a summary say what the dialog says already."""
    summary["message"] = complete.get("message", "")
    for key in ("status", "turns", "duration_ms"):
        summary[key] = complete[key]
    summary["tokens"].update(complete["total_tokens"])


def repair(archive: Archive) -> str:
    """Finish the dialog in an archive; say what was done. Raises OSError."""
    data = archive.read_dialog()
    remains = finish.examine(data)
    # Who repairs does not know what was secret in them; their agent is gone.
    remove_folder(os.path.join(archive.path, SIDE_FILES))
    archive.remove(PROMPT)
    nothing_hidden = Redactor({})  # who repairs has not the run's environment
    if remains.complete is not None:
        finish.append_closing(archive.dialog.fd, remains, [], nothing_hidden)
        torn = len(data) - remains.size
        return f"complete; {torn} bytes after it cut off" if torn else "is complete"
    turns, tokens, source = _recount(archive, remains)
    message = f"{KILLED}; finished by repair, turns and tokens counted from {source}"
    duration_ms = _duration_ms(remains)
    ts = timestamp(time.time())
    missing = finish.closing(
        remains,
        now=time.time(),
        first=[init(0, ts, task="", cwd="", model="", agent=""), prompt(1, ts, "")],
        turns=turns,
        tokens=tokens,
        duration_ms=duration_ms,
        message=message,
    )
    finish.append_closing(archive.dialog.fd, remains, missing, nothing_hidden)
    if not archive.read_file(SUMMARY):
        outcome = decide(Ending(cause=Cause.WRAPPER_KILLED, detail=message))
        summary = _summary_of(remains, outcome, duration_ms, turns, tokens)
        summary["entries"] = remains.count + len(missing)
        archive.write_file(SUMMARY, encode(summary))
    return f"finished, {len(missing)} entries added"


def _ending(status: int) -> Ending:
    """Say from its wait status what became of the supervisor."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        detail = f"agent-wrap's supervisor was killed by {signal_name(-code)}"
        return Ending(cause=Cause.WRAPPER_KILLED, stop_signal=-code, detail=detail)
    detail = f"its supervisor ended early, with code {code}"
    return Ending(cause=Cause.INTERNAL, detail=detail)


def _recount(archive: Archive, remains: Remains) -> tuple[int, tuple[int, int], str]:
    """Count turns and tokens from the raw stream, else from the entries."""
    stream = archive.read_file(STDOUT)
    if not stream:
        tokens = (remains.tokens_in, remains.tokens_out)
        return remains.messages, tokens, "its entries"
    account = Account()
    fallback = registry.find(registry.FALLBACK).load()
    detection = Detection(registry.recogniser(lambda name, adapter: None), fallback)
    reader = Reader(_adapter_of(remains), detection)
    for part in (reader.feed(stream), reader.close()):
        for event in part:
            account.apply(event)
    return account.turns, account.tokens_in_out, STDOUT


def _adapter_of(remains: Remains) -> Adapter | None:
    """Give the adapter that `init` names as the agent, if it is one."""
    data = (remains.init or {}).get("data", {})
    try:
        return registry.find(str(data.get("agent", ""))).load()()
    except AdapterError:
        return None


def _duration_ms(remains: Remains) -> int:
    """Give the time from the first entry to the last one that was written."""
    try:
        first = datetime.fromisoformat(remains.first_ts)
        last = datetime.fromisoformat(remains.last_ts)
        return max(int((last - first).total_seconds() * 1000), 0)
    except (ValueError, TypeError):  # TypeError: only one of them has a time zone
        return 0


def _summary_of(
    remains: Remains,
    outcome: Outcome,
    duration_ms: int,
    turns: int,
    tokens: tuple[int, int],
) -> dict[str, object]:
    """Give a summary made from the dialog alone."""
    summary = skeleton(
        Plan(Settings(command=())), outcome, outcome.message, duration_ms
    )
    known = (remains.init or {}).get("data", {})
    summary.update(
        {k: known.get(k, UNKNOWN) for k in ("task", "cwd", "model", "agent")}
    )
    # The run's own times: the repair may come days later.
    summary["started_at"] = remains.first_ts or summary["started_at"]
    summary["ended_at"] = remains.last_ts or summary["ended_at"]
    summary["turns"] = turns
    summary["tokens"]["in"], summary["tokens"]["out"] = tokens
    summary["tools"]["closed_by_wrapper"] = len(remains.open_tools)
    return summary
