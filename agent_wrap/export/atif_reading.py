"""An ATIF trajectory -> the dialog: exactly, where our export wrote it.

Of others' trajectories the dialog has what it has room for; what it has none for is
told in notes. A trajectory does not say how its run ended: `complete` is written only
where ours says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agent_wrap import entries
from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.errors import UsageError
from agent_wrap.shapes import get_count, get_dict, get_dicts, get_text
from agent_wrap.tools import take_unused
from agent_wrap.view.reading import EPOCH, moment

VERSION = "ATIF-"

Object = dict[str, Any]
Make = Callable[[int, str], Entry]
Part = tuple[Object, str, Make]
"""Where an entry stood before (empty: not known), its moment, and how it is made."""


@dataclass
class Trajectory:
    """Reads one trajectory; `notes` say what the dialog has no place for."""

    found: Object
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not get_text(self.found, "schema_version").startswith(VERSION):
            raise UsageError(f"no {VERSION} in its schema_version: not a trajectory")
        self._extra = get_dict(self.found, "extra")
        self._ours = "task" in self._extra and "cwd" in self._extra
        self._ids: dict[str, int] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        """The calls of the step at hand: their id there -> their id here, name."""

    def entries(self) -> list[Entry]:
        """Give the dialog's entries."""
        parts = list(self._parts())
        places = [origin.get("seq") for origin, _, _ in parts]
        known = all(type(seq) is int for seq in places)
        ts, made = EPOCH, []
        for number, (origin, at, make) in enumerate(parts):
            given = get_text(origin, "ts") or at
            ts = given if moment(given) else ts
            made.append(make(origin["seq"] if known else number, ts))
        return sorted(made, key=lambda entry: int(entry["seq"])) if known else made

    def _parts(self) -> Iterator[Part]:
        steps = get_dicts(self.found, "steps")
        yield from self._init(get_text(steps[0], "timestamp") if steps else "")
        asked = [s for s in steps if get_text(s, "source") == "user"]
        if not self._ours:
            yield from self._prompt(asked)
        for step in steps:
            source = get_text(step, "source")
            if source == "user" and self._ours:
                yield self._text(step, get_dict(step, "extra"), entries.prompt)
            elif source == "agent":
                yield from self._answer(step)
            yield from self._results(step)
        self._note_what_is_lost(steps, asked)
        yield from self._end()

    def _init(self, at: str) -> Iterator[Part]:
        agent, extra = get_dict(self.found, "agent"), self._extra
        if self._ours and "init" not in extra:
            return
        origin = get_dict(extra, "init")
        now = {
            **{key: get_text(extra, key) for key in ("task", "cwd")},
            "model": get_text(agent, "model_name"),
            "agent": get_text(agent, "name"),
        }
        then = get_dict(origin, "data")  # where they became known only later
        names = {key: get_text(then, key) or name for key, name in now.items()}
        yield (
            *(origin, at),
            lambda seq, ts: entries.init(seq, ts, **names),
        )

    def _prompt(self, asked: list[Object]) -> Iterator[Part]:
        """The protocol has one prompt, right after `init`: the first one."""
        for step in asked[:1]:
            yield self._text(step, {}, entries.prompt)

    def _answer(self, step: Object) -> Iterator[Part]:
        extra, at = get_dict(step, "extra"), get_text(step, "timestamp")
        thought = get_text(step, "reasoning_content")
        if "thinking" in extra or (thought and not self._ours):
            yield (
                *(get_dict(extra, "thinking"), at),
                lambda seq, ts: entries.thinking(seq, ts, thought),
            )
        used, text = get_dict(step, "metrics"), text_of(step.get("message"))
        if "message" in extra or (not self._ours and (text or used)):
            keys = ("prompt_tokens", "completion_tokens")
            counted = [get_count(used, key) for key in keys]
            tokens = (counted[0], counted[1]) if used else None
            yield (
                *(get_dict(extra, "message"), at),
                lambda seq, ts: entries.message(seq, ts, text, tokens),
            )
        self._calls.clear()
        for call in get_dicts(step, "tool_calls"):
            yield self._call(call, at)

    def _call(self, call: Object, at: str) -> Part:
        wanted = get_text(call, "tool_call_id")
        id = wanted if self._ours else take_unused(wanted or "tool", self._ids)
        name = get_text(call, "function_name") or ("" if self._ours else UNKNOWN)
        self._calls[wanted] = id, name
        args = get_dict(call, "arguments")
        return (
            *(get_dict(call, "extra"), at),
            lambda seq, ts: entries.tool_start(seq, ts, id, name, args),
        )

    def _results(self, step: Object) -> Iterator[Part]:
        for result in get_dicts(get_dict(step, "observation"), "results"):
            extra, at = get_dict(result, "extra"), get_text(step, "timestamp")
            there = get_text(result, "source_call_id")
            if self._ours and there not in self._calls:  # it was never started
                call = get_text(extra, "tool_id"), get_text(extra, "name")
            else:
                if there not in self._calls:  # what was done is no call of a tool
                    yield self._call({"tool_call_id": there}, at)
                call = self._calls.pop(there)
            output, ok = text_of(result.get("content")), extra.get("status") != "error"
            yield extra, at, self._result(*call, output, ok)

    def _result(self, id: str, name: str, output: str, ok: bool) -> Make:
        return lambda seq, ts: entries.tool_result(seq, ts, id, name, output, ok=ok)

    def _text(
        self, step: Object, origin: Object, make: Callable[[int, str, str], Entry]
    ) -> Part:
        text = text_of(step.get("message"))
        at = get_text(step, "timestamp")
        return origin, at, lambda seq, ts: make(seq, ts, text)

    def _end(self) -> Iterator[Part]:
        final = get_dict(self.found, "final_metrics")
        end = get_dict(final, "extra")
        if not (self._ours and "complete" in self._extra):
            if not self._ours:
                self.notes.append("a trajectory does not say how its run ended")
            return
        keys = ("total_prompt_tokens", "total_completion_tokens")
        used = [get_count(final, key) for key in keys]
        yield (
            *(get_dict(self._extra, "complete"), ""),
            lambda seq, ts: entries.complete(
                *(seq, ts),
                status=get_text(end, "status") or UNKNOWN,
                turns=get_count(end, "turns"),
                duration_ms=get_count(end, "duration_ms"),
                tokens=(used[0], used[1]),
                message=get_text(end, "message"),
            ),
        )

    def _note_what_is_lost(self, steps: list[Object], asked: list[Object]) -> None:
        if self._ours:
            return
        system = [s for s in steps if get_text(s, "source") == "system"]
        for number, what in (
            (sum(bool(text_of(s.get("message"))) for s in system), "system messages"),
            (len(asked[1:]), "later user messages"),
            (len(get_dicts(self.found, "subagent_trajectories")), "sub-agents"),
        ):
            if number:
                self.notes.append(
                    f"{what} have no place in a dialog: {number} left out"
                )


def text_of(content: Any) -> str:
    """Give a content's text; of its other parts, what they are."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    said = [
        get_text(part, "text")
        if get_text(part, "type") == "text"
        else f"[{get_text(part, 'type') or UNKNOWN}]"
        for part in parts
        if isinstance(part, dict)
    ]
    return "\n".join(said)
