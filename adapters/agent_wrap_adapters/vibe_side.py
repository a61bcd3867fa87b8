"""What Mistral Vibe leaves beside its stream: the session's journal, or an export.

`export.json` is written when it is asked for. The journal always is: each call of the
model with its usage. It belongs to the session, so of one that was resumed it says too
much, and of one whose oldest part was removed too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import SideFile, Surroundings
from agent_wrap.events import Event, Usage
from agent_wrap.shapes import get_count, get_dict, get_number, get_text
from agent_wrap_adapters.side_usage import document, lines, usage

_NAMES = "input_tokens cached_input_tokens - output_tokens -"


def places(ran: Surroundings, folder: str, *, resumes: bool) -> Sequence[SideFile]:
    """Give the export in the folder that the command names, and the journal."""
    found = [SideFile(f"{ran.given(folder)}/export.json")] if folder else []
    if ran.session_id and not resumes:
        sessions = ran.place("VIBE_HOME", ".vibe") + "/logs/session/unified"
        found.append(SideFile(f"{sessions}/{ran.session_id}", "journal/*.jsonl"))
    return found


def read(contents: Sequence[bytes]) -> Iterator[Event]:
    """Give tokens and cost; without a price it says 0, or nothing."""
    for data in contents:
        told = document(data)
        if figures := get_dict(told, "usage"):
            cost = get_number(told, "cost_usd") or None
            yield usage(figures, _NAMES, cache_inside=True, cost=cost)
    yield from _calls([record for data in contents for record in lines(data)])


def _calls(records: Sequence[dict[str, Any]]) -> Iterator[Usage]:
    """Give the usage of each call, from a journal that is whole."""
    records = [record for record in records if "sequence" in record]
    records.sort(key=lambda record: get_count(record, "sequence"))
    numbers = [get_count(record, "sequence") for record in records]
    if numbers != list(range(1, len(numbers) + 1)):
        return
    for record in records:
        done = get_dict(get_dict(record, "payload"), "result")
        figures = get_dict(get_dict(done, "result"), "usage")
        if record.get("type") == "action_result" and figures:
            call = get_text(done, "action_id")  # the answer's own id
            yield usage(figures, _NAMES, cache_inside=True, message_id=call)
