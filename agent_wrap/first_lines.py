"""Writing `init` and `prompt` before the agent runs, without importing an encoder.

`json` costs an interpreter start (it imports `re`); the C function inside it costs
nothing.
"""

from __future__ import annotations

import time
from _json import encode_basestring_ascii

from agent_wrap import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_wrap.entries import Entry
    from agent_wrap.plan import Plan
    from agent_wrap.redact import Redactor
    from agent_wrap.writer import Archive


_LONG = 100_000


def write(plan: Plan, archive: Archive, redactor: Redactor) -> None:
    """Write the first entries when all that they name is known already."""
    if not plan.all_known:
        return
    for entry in first_entries(plan, time.time()):
        if len(entry.get("content", "")) > _LONG:  # the supervisor can cut it
            return
        line = redactor.replace_line(line_of(entry))
        if archive.dialog.append(line):
            plan.written += 1
            if archive.copy is not None:
                archive.copy.append(line)


def first_entries(plan: Plan, now: float) -> list[Entry]:
    """Give `init`, and `prompt` when it is known; what is not known is `unknown`."""
    ts = entries.timestamp(now)
    first = entries.init(
        0,
        ts,
        task=plan.settings.task,
        cwd=plan.cwd,
        model=plan.model,
        agent=plan.agent_name,
    )
    if plan.prompt is None:
        return [first]
    return [first, entries.prompt(1, ts, plan.prompt)]


def line_of(entry: Entry) -> bytes:
    """Encode an entry of strings, numbers and objects as a line of ASCII-only JSON."""
    return _json(entry).encode("ascii") + b"\n"


def _json(value: object) -> str:
    if isinstance(value, dict):
        inner = ",".join(f"{_json(k)}:{_json(v)}" for k, v in value.items())
        return f"{{{inner}}}"
    if isinstance(value, int):
        return str(value)
    # Words of a command line may hold bytes that are no UTF-8, as lone surrogates.
    text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return encode_basestring_ascii(text.replace("\0", "\ufffd"))
