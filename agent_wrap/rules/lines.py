"""One line of a dialog read strictly, and why that fails where it fails.

What cannot be read strictly is read as well as can be: a wrong byte does not hide what
else is wrong with the entry.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from agent_wrap.rules.clauses import MAX_NESTING
from agent_wrap.rules.words import kind_of


def read_line(line: bytes) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    """Read a line strictly; where that fails, read it as well as can be, and say why.

    What is no object comes back as None.
    """
    breaches: list[tuple[str, str]] = []
    try:
        value = orjson.loads(line)
    except ValueError as error:
        value, breaches = _read_tolerantly(line)
        if not breaches:  # the two strict readers disagree
            breaches.append(("json", f"not JSON: {error}"))
    if value is None and breaches:
        return None, breaches
    if not isinstance(value, dict):
        kind = kind_of(value)
        return None, [*breaches, ("object", f"{kind}, expected an object")]
    # Counting brackets is quick and never too low: most lines need no closer look.
    if line.count(b"{") + line.count(b"[") > MAX_NESTING and _deeper(value):
        breaches.append(("nesting", f"nested more than {MAX_NESTING} deep"))
    return value, breaches


def _read_tolerantly(line: bytes) -> tuple[Any, list[tuple[str, str]]]:
    """Read what strict JSON refuses; name each reason that is not plain syntax."""
    breaches: list[tuple[str, str]] = []
    if line.startswith(b"\xef\xbb\xbf"):
        breaches.append(("byte-order-mark", "a byte-order mark before the object"))
        line = line[3:]
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        breaches.append(("utf-8", f"byte {error.start} is not UTF-8"))
        text = line.decode("utf-8", "replace")
    if "{" not in text:
        return None, [*breaches, ("json", "not JSON, and no object in it")]
    infinite: list[str] = []
    try:
        value = _decoder(infinite).decode(text)
    except RecursionError:
        return None, [*breaches, ("nesting", f"nested more than {MAX_NESTING} deep")]
    except ValueError as error:
        breaches.append(("json", f"not JSON: {error}"))
        infinite.clear()
        try:  # raw control characters in strings alone do not hide the entry
            value = _decoder(infinite, strict=False).decode(text)
        except ValueError:
            return None, breaches
    if infinite:
        found = ", ".join(word[:20] for word in infinite[:3])
        breaches.append(("finite", f"{found}: no finite double"))
    if "\\u" in text and not _encodable(value):
        breaches.append(("surrogate", "a lone surrogate in a string"))
    return value, breaches


def _decoder(infinite: list[str], *, strict: bool = True) -> json.JSONDecoder:
    """Give a decoder that notes the numbers which are no finite double."""
    return json.JSONDecoder(
        strict=strict,
        parse_constant=infinite.append,
        parse_float=lambda digits: _finite(digits, infinite),
        parse_int=lambda digits: _finite(digits, infinite),
    )


def _finite(digits: str, infinite: list[str]) -> int | float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        infinite.append(digits)
    whole = digits.lstrip("-").isdigit() and len(digits) <= 20
    return int(digits) if whole else number


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:  # reported as nesting
        return True
    return True


def _deeper(value: Any) -> bool:
    """Is a value nested too deep? Level by level: there is no recursion to run out."""
    level = [value]
    for _ in range(MAX_NESTING):
        inner: list[Any] = []
        for outer in level:
            inner.extend(outer.values() if isinstance(outer, dict) else outer)
        level = [v for v in inner if isinstance(v, dict | list)]
        if not level:
            return False
    return True
