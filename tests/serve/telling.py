"""A session without a server: it is told facts, and shows what it says."""

from __future__ import annotations

from typing import Any

from agent_wrap.events import Event
from agent_wrap.serve.session import Session

from .client import Parser

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
NOW = 1_760_000_000_000


def session(**how: Any) -> Session:
    return Session(ID, 1, **how)


def told(*events: Event, made: Session | None = None) -> list[dict[str, Any]]:
    """Give the payloads that facts lead to, all of them checked."""
    made = session() if made is None else made
    before = made.cursor
    for event in events:
        made.apply(event, NOW)
    return since(made, before)


def since(made: Session, seq: int) -> list[dict[str, Any]]:
    parser = Parser(seq)
    for frame in made.log.after(seq, 1 << 30):
        parser.feed(frame)
    return [frame.data for frame in parser.frames]


def snapshot(made: Session, now: int = NOW) -> dict[str, Any]:
    parser = Parser()
    parser.feed(made.snapshot(now))
    return dict(parser.frames[0].data)


def bare(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "seq"}


def end(
    made: Session, reason: str = "completed", word: str = "", text: str = ""
) -> None:
    made.end_turn(reason, text, NOW, agents_word=word)
