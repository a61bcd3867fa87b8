"""Which values are secret, and replacing them, in bytes cut anywhere.

Every byte that belongs to an occurrence of a secret goes, in whatever form below it
comes; occurrences that overlap become one mark, named after the one that begins
first (of several, the longest). So no piece of a secret stays because another one
matched inside it, and what is replaced does not depend on how the bytes are cut.

Not found: a base64 text wrapped within the secret, hexadecimal, `\\u0073` for an `s`
(the encoded entry is looked at again for that), and whatever an agent thinks up.
"""

from __future__ import annotations

from agent_wrap.libc import contains
from agent_wrap.secret_forms import LEAST_NAMED, forms_of, needle_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_OUR_WORDS = frozenset({"type", "role", "status", "ts", "event"})
"""Keys whose values are the protocol's own; so are all keys, but below `_THEIRS`."""

_THEIRS = frozenset({"args", "unknown_events"})


def _escape_start(data: bytes, at: int) -> int:
    """Give the start of the JSON escape that `at` lies inside; `at` when in none.

    What is replaced begins there: `\\u` and half of its digits would break the line.
    """
    start = data.rfind(b"\\", max(at - 5, 0), at)
    if start < 0:
        return at
    body = data[start + 1 : start + 6]
    if body[:1] == b"u":
        inside = not body[1:].strip(b"0123456789abcdefABCDEF")
    else:  # at the end of the data, anything may follow
        inside = at == start + 1 and body[:1] in b'"\\/bfnrt'
    if not inside:
        return at
    run = start
    while run and data[run - 1] == 0x5C:
        run -= 1
    return at if (start - run) % 2 else start


class Redactor:
    """Replace secrets (name -> value) by `[redacted:NAME]`.

    `forms` is all that is looked for, longest first; `count` the replacements so far.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        marks: dict[bytes, bytes] = {}
        for name, value in secrets.items():
            safe = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
            for form in forms_of(value):
                if len(form) >= LEAST_NAMED:
                    marks.setdefault(form, f"[redacted:{safe}]".encode())
        self.count = 0
        self.forms = tuple(sorted(marks, key=lambda form: (-len(form), form)))
        self._marks = marks
        # What one of must be there for any form to be: mostly 4 a secret.
        self._needles: list[bytes] = []
        for form in reversed(self.forms):
            if not any(map(form.__contains__, self._needles)):
                self._needles.append(needle_of(form, self.forms))
        self._reach = len(self.forms[0]) - 1 if marks else 0
        self._one_line = not any(b"\n" in form for form in self.forms)
        self._starts = frozenset(f[:size] for f in self.forms for size in (1, 2, 3))
        self._heads: dict[bytes, list[bytes]] = {}
        for form in self.forms:
            self._heads.setdefault(form[:4], []).append(form)

    def __bool__(self) -> bool:
        return bool(self.forms)

    def replace(self, data: bytes) -> bytes:
        """Replace every secret in whole data.

        A line of JSON stays one, unless the secret is JSON itself: a number or a word
        (by an extra name only), or an object that is printed as one.
        """
        return self._apply(data, len(data), 0)[0] if self.found(data) else data

    def replace_line(self, line: bytes) -> bytes:
        """Replace every secret in a line of ours, which stays what it is.

        A value like `2026` or `complete` may stand where no mark can, in a number, a
        timestamp, a word of the protocol: then only others' strings are looked at.
        """
        if not self.found(line):
            return line
        import json

        clean = self.replace(line)

        value = json.loads(line)
        try:
            if _frame(json.loads(clean)) == _frame(value):
                return clean
        except ValueError:
            pass
        value = self._clean_value(value, ours=True)
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"

    def _clean_value(self, value: Any, *, ours: bool) -> Any:
        """Replace secrets in strings; where the keys are `ours`, not in those."""
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, dict):
            return {
                key if ours else self.clean_text(key): item
                if ours and key in _OUR_WORDS
                else self._clean_value(item, ours=ours and key not in _THEIRS)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._clean_value(item, ours=ours) for item in value]
        return value

    def clean_text(self, text: str) -> str:
        """Replace every secret in a decoded string."""
        data = text.encode("utf-8", "surrogatepass")
        clean = self.replace(data)
        return text if clean is data else clean.decode("utf-8", "replace")

    def stream(self) -> StreamRedactor:
        """Begin a stream of bytes that come in pieces."""
        return StreamRedactor(self)

    def found(self, data: bytes) -> bool:
        """May a secret be in the data?"""
        # One plain search each: a regular expression is five times slower.
        return any(contains(data, needle) for needle in self._needles)

    def _apply(self, data: bytes, cut: int, covered: int) -> tuple[bytes, int]:
        """Replace what begins before `cut`; the first `covered` bytes are gone already.

        The second result is how many bytes after `cut` are gone with them.
        """
        out: list[bytes] = []
        end = covered
        for start, rank, stop in sorted(self._spans(data)):
            if start >= end:
                if start >= cut:
                    break
                out += data[end:start], self._marks[self.forms[rank]]
                self.count += 1
            end = max(end, stop)
        out.append(data[end:cut])
        return b"".join(out), max(end - cut, 0)

    def _spans(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Give (start, rank of the form, stop); a form's own overlaps are joined."""
        for rank, form in enumerate(self.forms):
            start = stop = 0
            at = data.find(form)
            while at >= 0:
                if at >= stop and (begin := _escape_start(data, at)) >= stop:
                    if stop:
                        yield start, rank, stop
                    start = begin
                stop = at + len(form)
                at = data.find(form, at + 1)
            if stop:
                yield start, rank, stop

    def _cut(self, data: bytes) -> int:
        """Give where the tail begins that may be the start of a secret or an escape.

        Before it, every secret that has begun has ended.
        """
        cut = size = len(data)
        low = max(size - self._reach, 0)
        if self._one_line:
            low = max(low, data.rfind(b"\n", low) + 1)
            if low == size:
                return size
        for head, forms in self._heads.items():
            at = data.find(head, low)
            while 0 <= at < cut:
                tail = data[at:]
                if any(f.startswith(tail) and len(f) > len(tail) for f in forms):
                    cut = at
                else:
                    at = data.find(head, at + 1)
        if cut == size:
            tails = (data[-3:], data[-2:], data[-1:])
            cut -= next((len(tail) for tail in tails if tail in self._starts), 0)
        return _escape_start(data, cut)


def _frame(value: Any) -> Any:
    """Give what is ours in a line's value: keys, numbers, words of the protocol."""
    if isinstance(value, dict):
        return {
            key: item if key in _OUR_WORDS else key in _THEIRS or _frame(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return list(map(_frame, value))
    return None if isinstance(value, str) else value


class StreamRedactor:
    """Replace secrets in a stream, in linear time, the same however it is cut.

    What comes in goes out at once, as the same object when nothing matches; held back
    is only a tail that a secret may begin with, and half an escape.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._tail = b""
        self._covered = 0

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes; give those that are decided."""
        redactor = self._redactor
        if not redactor:
            return chunk
        data = self._tail + chunk if self._tail else chunk
        cut = redactor._cut(data)
        self._tail = data[cut:]
        if self._covered or redactor.found(data):
            out, self._covered = redactor._apply(data, cut, self._covered)
            return out
        return data[:cut]  # the same object when it is all of it

    def close(self) -> bytes:
        """End of the stream: give what was held back."""
        data, covered = self._tail, self._covered
        self._tail, self._covered = b"", 0
        return self._redactor._apply(data, len(data), covered)[0]
