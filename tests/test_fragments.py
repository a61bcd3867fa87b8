"""Pieces become one text, whole when something else comes."""

from __future__ import annotations

from agent_wrap.events import Event, Message, TextDelta, Thinking, ThinkingDelta
from agent_wrap.fragments import Fragments


def test_pieces_of_one_text_are_joined() -> None:
    said = Fragments()
    facts: list[Event] = [*said.say("Hel", "a"), *said.say("lo", "a")]
    assert facts == [TextDelta("Hel", "a"), TextDelta("lo", "a")]
    assert said
    assert list(said.whole()) == [Message("Hello", "a")]
    assert not said
    assert list(said.whole()) == []


def test_another_kind_or_id_makes_the_text_before_it_whole() -> None:
    said = Fragments()
    facts = [*said.think("hm", "a"), *said.say("one", "a"), *said.say("two", "b")]
    assert facts == [
        ThinkingDelta("hm", "a"),
        Thinking("hm", "a"),
        TextDelta("one", "a"),
        Message("one", "a"),
        TextDelta("two", "b"),
    ]


def test_blank_text_is_no_message() -> None:
    said = Fragments()
    assert list(said.say(" \n")) == [TextDelta(" \n")]
    assert list(said.say("")) == []
    assert list(said.whole()) == []
