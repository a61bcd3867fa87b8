"""Parrot: `parrot --json PROMPT`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import Adapter, Prepared, events
from agent_wrap.shapes import as_args, get_count, get_dict, get_text


class Parrot(Adapter):
    """Reads its lines by their `event`; those of one answer have the same `answer`."""

    programs = frozenset({"parrot"})
    versions_checked = ("1.4",)
    gives = "text, thinking, tools live, model, tokens; turns are answers"

    def feed(self, event: dict[str, Any]) -> Iterator[events.Event]:
        """Give the facts that one line states."""
        kind, answer = get_text(event, "event"), get_text(event, "answer")
        text, call = get_text(event, "text"), get_text(event, "call")
        if kind in ("say", "think", "run"):
            yield events.TurnStarted(answer)
        if kind == "hello":
            version, model = get_text(event, "parrot"), get_text(event, "model")
            yield events.SessionStarted(model=model, agent_version=version)
        elif kind == "say":
            yield events.Message(text, answer)
        elif kind == "think":
            yield events.Thinking(text, answer)
        elif kind == "run":
            args = as_args(event.get("args"))
            yield events.ToolStarted(call, get_text(event, "tool"), args)
        elif kind == "ran":
            ok = event.get("code") == 0
            yield events.ToolFinished(call, get_text(event, "output"), ok)
        elif kind == "used":
            counts = get_dict(event, "tokens")
            into, out = get_count(counts, "in"), get_count(counts, "out")
            yield events.Usage(into, output=out, message_id=answer)
        elif kind == "bye":
            yield events.RunFinished(event.get("ok") is True, get_text(event, "why"))
        elif kind != "ping":
            yield events.Unknown(kind or "(no event)")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell this format by its first line."""
        return event.get("event") == "hello" and "parrot" in event

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for JSON; the prompt is the last word."""
        added = [] if "--json" in command else ["--json"]
        if prompt is not None:
            return Prepared([*command, *added, prompt], prompt=prompt, added=added)
        asked = [word for word in command[1:] if not word.startswith("-")][-1:]
        return Prepared([*command, *added], prompt="".join(asked) or None, added=added)
