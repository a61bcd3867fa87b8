"""A first adapter from a recorded stream: its types as branches that state nothing yet.

What it writes passes the adapter kit; a person then says what each type means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_wrap.jsonvalue import objects

_KEYS = ("type", "kind", "event", "method", "role", "name")
"""Fields that tell what a line is, the most usual first."""

NO_KEY = "no common top-level field tells the lines apart"

_SAMPLE = 70
_MOST = 40

_PERHAPS = (
    ("error fail", "Notice, or RunFinished(False, message)"),
    ("result_tool tool_result tool_end tool_output ran observation", "ToolFinished"),
    ("tool call exec command action act", "ToolStarted"),
    ("think reason", "TurnStarted, Thinking"),
    ("delta chunk partial", "TextDelta"),
    ("assistant message text say answer", "TurnStarted, Message"),
    ("usage token cost spen", "Usage"),
    ("init session start hello system", "SessionStarted"),
    ("user prompt input", "Prompt"),
    ("result done end finish complete final exit bye", "RunFinished"),
)
"""What a type's name hints at; the first that fits."""

JSON = '''\
"""{name}: reads what it prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap import Adapter, events
from agent_wrap.shapes import get_text


class {cls}(Adapter):
    """Reads its lines by their `{key}`."""

    programs = frozenset({{"{name}"}})
    versions_checked = ("{version}",)
    promises_final_event = False  # True, once RunFinished is yielded
    gives = ""  # one line for people: what the stream tells, and what not

    def feed(self, event: dict[str, Any]) -> Iterator[events.Event]:
        """Give the facts that one line states."""
        kind = get_text(event, "{key}")
{branches}
        else:
            yield events.Unknown(kind or "(no {key})")

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell this format by what only its first lines have."""
        return False
'''

TEXT = '''\
"""{name}: reads what it prints, lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from agent_wrap import Adapter, events


class {cls}(Adapter):
    """Reads its lines of text."""

    reads = "text"
    programs = frozenset({{"{name}"}})
    versions_checked = ("{version}",)
    promises_final_event = False  # True, once RunFinished is yielded
    gives = ""  # one line for people: what the stream tells, and what not

    def feed_text(self, line: str) -> Iterator[events.Event]:
        """Give the facts that one line states."""
        # events.TurnStarted and events.Message for what is said
        yield from ()
'''


def write_adapter(name: str, version: str, stream: bytes) -> str:
    """Give the source of an adapter for what a stream shows."""
    found = _objects(stream)
    names = {"name": name, "cls": class_name(name), "version": version}
    if not found:
        return TEXT.format(**names)
    key = _key(found) or "type"
    samples: dict[str, dict[str, Any]] = {}
    for item in found:
        kind = item.get(key)
        if isinstance(kind, str) and len(samples) < _MOST:
            samples.setdefault(kind, item)
    branches = "\n".join(_branches(samples) if samples else _no_branch(found[0]))
    return JSON.format(**names, key=key, branches=branches)


def has_key(stream: bytes) -> bool:
    """Is there a field that tells the lines apart? True where they are no JSON."""
    found = _objects(stream)
    return not found or bool(_key(found))


def class_name(name: str) -> str:
    """Give `MyAgent` for `my-agent`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


def module_name(name: str) -> str:
    """Give `my_agent` for `my-agent`."""
    return name.replace("-", "_")


def adapter_name(cls: str) -> str:
    """Give `my-agent` for `MyAgent`."""
    words = "".join(f"-{sign.lower()}" if sign.isupper() else sign for sign in cls)
    return words.strip("-")


def _objects(stream: bytes) -> list[dict[str, Any]]:
    return [item for line in stream.split(b"\n") for item in objects(line) or ()]


def _key(found: list[dict[str, Any]]) -> str:
    """Find the field that tells the lines apart: most lines have it, few values.

    A usual name is taken where half of the lines have it; one value in all of them
    (a session's id), or another in each (a time), tells nothing.
    """
    values: dict[str, list[str]] = {}
    for item in found:
        for name, value in item.items():
            if isinstance(value, str):
                values.setdefault(name, []).append(value)

    def quality(name: str) -> tuple[int, int]:
        told = values[name]
        return len(told), -_KEYS.index(name) if name in _KEYS else -len(set(told))

    usual = [n for n in _KEYS if len(values.get(n, ())) * 2 >= len(found)]
    telling = [n for n, told in values.items() if 1 < len(set(told)) < len(told)]
    return max(usual or telling, key=quality, default="")


def _branches(samples: dict[str, dict[str, Any]]) -> Iterator[str]:
    word = "if"
    for kind, sample in samples.items():
        yield f"        {word} kind == {json.dumps(kind)}:"
        yield f"            # {_shortened(sample)}"
        yield f"            pass{_hint(kind)}"
        word = "elif"


def _no_branch(sample: dict[str, Any]) -> Iterator[str]:
    yield "        if not kind:"
    yield f"            # {NO_KEY}, such as"
    yield f"            # {_shortened(sample)}"
    yield "            pass  # perhaps one deeper: get_dict of agent_wrap.shapes"


def _shortened(sample: dict[str, Any]) -> str:
    text = json.dumps(sample)
    return text if len(text) <= _SAMPLE else text[:_SAMPLE] + "..."


def _hint(kind: str) -> str:
    name = kind.lower().replace(".", "_").replace("/", "_")
    for words, fact in _PERHAPS:
        if any(word in name for word in words.split()):
            return f"  # perhaps {fact}"
    return ""
