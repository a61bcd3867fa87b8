"""How the classes of values are made: compared by content, never changed.

They do what dataclasses do, cheaper. Every run pays for defining some thirty classes
and for each object that is built: a frozen dataclass with slots takes ten times as
long to define, and three times as long to build (docs/performance.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import Any, TypeVar, dataclass_transform

_C = TypeVar("_C")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[_C]) -> type[_C]:
    """Make a class of values. Type checkers refuse a change; at run time nothing does.

    `dataclasses.replace`, `fields` and `asdict`, and patterns of `match`, work.
    """
    made: Any = cls
    names = tuple(made.__annotations__)
    made.__init__ = _first_init(made, names)
    made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _repr
    type.__setattr__(cls, "__match_args__", names)  # mypy refuses an assignment
    made.__dataclass_fields__ = _Fields()
    return cls


def _first_init(made: Any, names: tuple[str, ...]) -> Any:
    """Give an `__init__` that puts the real one in its place when it is called.

    To compile one takes as long as to import a small module, and of the events most
    runs use a third.
    """

    def init(self: object, *values: Any, **named: Any) -> None:
        made.__init__ = _initialiser(made, names)
        made.__init__(self, *values, **named)

    return init


def _initialiser(cls: type, names: tuple[str, ...]) -> Any:
    """Compile `__init__`, as dataclasses do: nothing else is as fast to call."""
    known: dict[str, Any] = {}
    parameters, body = ["self"], ["pass"]
    for name in names:
        source = name
        if name in vars(cls):
            default = vars(cls)[name]
            if isinstance(default, dataclasses.Field):
                # Made anew for each object. No field of ours may be None instead.
                known[f"_{name}"] = default.default_factory
                source, default = f"_{name}() if {name} is None else {name}", None
            known[f"default_{name}"] = default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        body.append(f"self.{name} = {source}")
    lines = "\n    ".join(body)
    exec(f"def __init__({', '.join(parameters)}):\n    {lines}", known)
    return known["__init__"]


class _Fields:
    """What the functions of `dataclasses` look for, made when one of them does."""

    def __get__(self, instance: object, owner: Any) -> dict[str, Any]:
        names = owner.__match_args__
        given = {name: vars(owner)[name] for name in names if name in vars(owner)}
        twin = type(
            owner.__name__, (), {"__annotations__": owner.__annotations__, **given}
        )
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(twin)
        owner.__dataclass_fields__ = made.__dataclass_fields__
        return owner.__dataclass_fields__  # type: ignore[no-any-return]  # ours


def _equal(self: object, other: object) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return vars(self) == vars(other)


def _hash(self: object) -> int:
    return hash((type(self), *vars(self).values()))


def _repr(self: object) -> str:
    fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
    return f"{type(self).__qualname__}({fields})"
