"""One run as a row: what its dialog says, completed by its summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.shapes import get_count, get_dict, get_number, get_text
from agent_wrap.view.reading import seconds

KEYS = (
    *("task", "model", "agent", "status", "turns", "tokens_in", "tokens_out"),
    *("cost_usd", "duration_ms", "exit_code", "tools", "tools_failed", "entries"),
    *("started_at", "cwd", "message"),
)


class Facts:
    """What is known of a run so far: fed with each entry as it comes."""

    def __init__(self) -> None:
        self.init: dict[str, str] = {}
        self.complete: Entry | None = None
        self.entries = self.messages = self.tools = self.failed = 0
        self.tokens_in = self.tokens_out = 0
        self.open: dict[str, Entry] = {}
        self.started_at = self.latest = ""

    def feed(self, entry: Entry) -> None:
        """Take the next entry."""
        kind = entry["type"]
        self.entries += 1
        self.started_at = self.started_at or entry["ts"]
        self.latest = entry["ts"]
        if kind == "init":
            self.init = entry["data"]
        elif kind == "message":
            self.messages += 1
            tokens = entry.get("tokens", {})
            self.tokens_in += tokens.get("in", 0)
            self.tokens_out += tokens.get("out", 0)
        elif kind == "tool" and entry["status"] == "running":
            self.tools += 1
            self.open[entry["tool_id"]] = entry
        elif kind == "tool":
            self.failed += entry["status"] == "error"
            self.open.pop(entry["tool_id"], None)
        elif kind == "complete":
            self.complete = entry

    @property
    def elapsed(self) -> float:
        """Seconds from the first entry to the latest."""
        if not self.started_at:
            return 0.0
        return max(0.0, seconds(self.latest) - seconds(self.started_at))

    def row(self, summary: dict[str, Any], unfinished: str) -> dict[str, Any]:
        """Give the run as a flat object; `unfinished` is its status without an end.

        The dialog has the word; the summary adds what the dialog has no place for.
        """
        end = self.complete
        ended = end if end is not None else {}
        tokens = ended.get("total_tokens") or {
            "in": self.tokens_in,
            "out": self.tokens_out,
        }
        code, cost = summary.get("exit_code"), get_number(summary, "cost_usd")
        return {
            **{key: self._name(key, summary) for key in ("task", "model", "agent")},
            "status": ended.get("status", unfinished),
            "turns": ended.get("turns", self.messages),
            "tokens_in": tokens["in"],
            "tokens_out": tokens["out"],
            "cost_usd": None if cost is None else round(cost, 6),
            "duration_ms": ended.get("duration_ms", round(self.elapsed * 1000)),
            "exit_code": code if type(code) is int and end is not None else None,
            "tools": self.tools,
            "tools_failed": self.failed,
            "entries": self.entries,
            "started_at": self.started_at,
            "cwd": self._name("cwd", summary),
            "message": ended.get("message", ""),
        }

    def _name(self, key: str, summary: dict[str, Any]) -> str:
        """`init` is written before the agent has said what it is."""
        said = self.init.get(key, UNKNOWN)
        later = get_text(summary, key)
        return later if said == UNKNOWN and later else said


def facts_of(entries: Iterable[Entry]) -> Facts:
    """Read entries to their end."""
    facts = Facts()
    for entry in entries:
        facts.feed(entry)
    return facts


def cached_tokens(summary: dict[str, Any]) -> int:
    """Give how many of the tokens in were read from a cache, as far as known."""
    return get_count(get_dict(summary, "tokens"), "cached")
