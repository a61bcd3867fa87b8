"""Classes of values behave as frozen dataclasses do, but for the freezing."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any, get_args

import pytest

from agent_wrap.events import ApprovalAsked, Event, Message, Thinking, Usage
from agent_wrap.values import value


@value
class Twin:
    """What the dataclass below is, too."""

    name: str
    count: int = 0
    parts: dict[str, Any] = field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Model:
    """The model that values are made after."""

    name: str
    count: int = 0
    parts: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("positional", "named"),
    [(("a",), {}), (("a", 2), {}), (("a", 2, {"b": 3}), {}), ((), {"name": "a"})],
)
def test_it_is_built_as_a_dataclass(
    positional: tuple[Any, ...], named: dict[str, Any]
) -> None:
    twin, model = Twin(*positional, **named), Model(*positional, **named)
    assert dataclasses.asdict(twin) == dataclasses.asdict(model)
    assert repr(twin).replace("Twin", "") == repr(model).replace("Model", "")


@pytest.mark.parametrize("wrong", [(), ("a", 1, {}, 4)])
def test_what_a_dataclass_refuses_is_refused(wrong: tuple[Any, ...]) -> None:
    for kind in (Twin, Model):
        with pytest.raises(TypeError):
            kind(*wrong)


def test_a_default_that_is_made_is_made_anew() -> None:
    assert Twin("a").parts is not Twin("a").parts
    assert ApprovalAsked("1", "Bash").args == {}


def test_equality_is_by_class_and_content() -> None:
    assert Message("a", "1") == Message("a", "1") != Message("a", "2")
    other: Event = Thinking("a", "1")
    assert Message("a", "1") != other
    assert len({Message("a"), Message("a"), Thinking("a")}) == 2
    with pytest.raises(TypeError):
        hash(Twin("a"))


def test_the_tools_of_dataclasses_and_match_work() -> None:
    usage = dataclasses.replace(Usage(input=1), scope="total")
    assert (usage.input, usage.scope) == (1, "total")
    match Message("hello", "1"):
        case Message(text, message_id="1"):
            assert text == "hello"
        case _:
            pytest.fail("no pattern of a value matched")


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_each_event_is_a_value(kind: Any) -> None:
    fields = dataclasses.fields(kind)
    event = kind(*(field.name for field in fields))
    assert [vars(event)[field.name] for field in fields] == list(vars(event).values())
    assert copy.copy(event) == event
    assert pickle.loads(pickle.dumps(event)) == event
