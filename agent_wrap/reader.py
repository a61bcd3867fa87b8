"""From an agent's bytes to events: lines, JSON, the adapter, and the count of lines.

Every line counts in exactly one class: mapped (it stated facts), ignored (known and
without facts, or blank), unknown (a type that the adapter does not know), unparsable.
Of a line with several parts the worst one counts. An adapter's exception becomes
`Unparsed`: the run goes on.

The adapter may be unknown at first. Then the reader holds the first lines until one
is recognised, and reads them as plain text when none is (`Detection`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from agent_wrap.adapter import Adapter
from agent_wrap.events import Event, Retracted, TurnStarted, Unknown, Unparsed
from agent_wrap.jsonvalue import objects, one_object
from agent_wrap.lines import LineDecoder, LongLine, strip

CLASSES = ("mapped", "ignored", "unknown", "unparsable")
"""The classes of lines, from the best to the worst."""

_NOTHING = -1
_MAPPED, _IGNORED, _UNKNOWN, _UNPARSABLE = range(4)
_UNKNOWN_TYPES = 100
_FAILURES = 10


class Detection:
    """Finds the adapter by the first lines.

    `recognise` gives an adapter for a native event that only one format has, or
    None; `fallback` gives the adapter for plain text.
    """

    LINES, BYTES = 20, 64 * 1024
    """How much is held before it is read as plain text."""

    def __init__(
        self,
        recognise: Callable[[dict[str, Any]], Adapter | None],
        fallback: Callable[[], Adapter],
    ) -> None:
        self.recognise = recognise
        self.fallback = fallback


class Reader:
    """Feed it the agent's bytes; it gives events and counts lines."""

    def __init__(
        self,
        adapter: Adapter | None,
        detection: Detection | None = None,
        max_line_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self.adapter = adapter
        self.unknown_types: dict[str, int] = {}
        self.failures: list[str] = []
        self._detection = detection if adapter is None else None
        self._held: list[bytes | LongLine] = []
        self._held_bytes = 0
        self._mistaken: set[str] = set()
        self._decoder = LineDecoder(max_line_bytes)
        self._counts = [0, 0, 0, 0]
        self._worst = _MAPPED

    @property
    def counts(self) -> dict[str, int]:
        """Lines by class, and `read`, their sum."""
        by_class = dict(zip(CLASSES, self._counts, strict=True))
        return {"read": sum(self._counts), **by_class}

    def start(self) -> Iterator[Event]:
        """Give what the adapter says before the first line (two-way agents)."""
        if self.adapter is not None:
            yield from self._guarded(self.adapter.start)

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take the next bytes; give the events they state, as early as possible."""
        lines = self._decoder.feed(data)
        if self._detection is None and (adapter := self.adapter) is not None:
            return self._read(lines, adapter)
        return self._detect_all(lines)

    def settle(self, *, ended: bool = False) -> Iterator[Event]:
        """Stop holding lines: read as plain text what nobody has recognised so far.

        A later line may still be recognised, and its adapter then takes over. Where
        nothing has come there is nothing to settle, unless the stream has `ended`.
        """
        if not (self._held or ended):
            return
        if self._detection is not None and self.adapter is None:
            self.adapter = self._detection.fallback()
            yield from self._remember_turns(self._release())

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """Give what the adapter makes of a decision on something the agent asked."""
        if (adapter := self.adapter) is None:
            return
        told = (interaction_id, resolution)  # most decisions have no content
        more = () if content is None else (content,)
        yield from self._guarded(lambda: adapter.answer(*told, *more))

    def cancel(self) -> Iterator[Event]:
        """Give what asks a two-way agent to stop."""
        if self.adapter is not None:
            yield from self._guarded(self.adapter.cancel)

    def pause(self) -> Iterator[Event]:
        """Give what the adapter holds only for a nicer grouping."""
        if self.adapter is not None:
            yield from self._remember_turns(self._guarded(self.adapter.pause))

    def close(self) -> Iterator[Event]:
        """End of the stream: the last line, and what the adapter held back."""
        lines = self._decoder.close()
        if self._detection is None and (adapter := self.adapter) is not None:
            yield from self._read(lines, adapter)
        else:
            yield from self._detect_all(lines)
        yield from self.settle(ended=True)
        if self.adapter is not None:
            yield from self._guarded(self.adapter.close)

    def _detect_all(self, lines: Iterable[bytes | LongLine]) -> Iterator[Event]:
        for line in lines:
            if self._detection is not None:
                yield from self._detect(line, self._detection)
            elif self.adapter is not None:
                yield from self._line(line, self.adapter)

    def _read(
        self, lines: Iterable[bytes | LongLine], adapter: Adapter
    ) -> Iterator[Event]:
        """Read lines, the usual ones without a detour: one JSON object each.

        Every line passes here, so this does by hand what `_line` and `_part` do with
        more care (docs/adr/0002).
        """
        feed, counts, text = adapter.feed, self._counts, adapter.reads == "text"
        for line in lines:
            event = None if text or type(line) is not bytes else one_object(line)
            if event is None:
                yield from self._line(line, adapter)
                continue
            worst = _NOTHING
            try:
                for fact in feed(event):
                    kind = type(fact)
                    if kind is Unknown or kind is Unparsed:
                        worst = max(worst, self._class_of(fact))
                    elif worst < _MAPPED:
                        worst = _MAPPED
                    yield fact
            except Exception as error:
                worst = _UNPARSABLE
                yield self._failed(line, error)  # type: ignore[arg-type]  # bytes, above
            counts[_IGNORED if worst < 0 else worst] += 1

    def _class_of(self, fact: Event) -> int:
        """Give the class that one fact puts its line in; count what is unknown."""
        if isinstance(fact, Unknown):
            self._count_unknown(fact.type)
            return _UNKNOWN
        return _UNPARSABLE if isinstance(fact, Unparsed) else _MAPPED

    def _detect(self, line: bytes | LongLine, detection: Detection) -> Iterator[Event]:
        found = (isinstance(line, bytes) and objects(line)) or []
        adapter = next(filter(None, map(detection.recognise, found)), None)
        if adapter is not None:
            self._detection = None
            if self.adapter is not None:  # what it took for an answer was noise
                yield from self._guarded(self.adapter.close)
                yield Retracted(tuple(self._mistaken))
            self.adapter = adapter
            yield from self._guarded(adapter.start)
            yield from self._release()
            yield from self._line(line, adapter)
        elif self.adapter is not None:
            yield from self._remember_turns(self._line(line, self.adapter))
        else:
            self._held.append(line)
            self._held_bytes += len(line) if isinstance(line, bytes) else 0
            held_enough = self._held_bytes >= Detection.BYTES
            if held_enough or len(self._held) >= Detection.LINES:
                yield from self.settle()

    def _remember_turns(self, events: Iterable[Event]) -> Iterator[Event]:
        """Remember the turns of an adapter that may turn out to be the wrong one."""
        for event in events:
            if isinstance(event, TurnStarted):
                self._mistaken.add(event.id)
            yield event

    def _release(self) -> Iterator[Event]:
        held, self._held = self._held, []
        for line in held:
            if self.adapter is not None:
                yield from self._line(line, self.adapter)

    def _line(self, line: bytes | LongLine, adapter: Adapter) -> Iterator[Event]:
        self._worst = _MAPPED
        if isinstance(line, LongLine):
            self._worst = _UNPARSABLE
            reason = f"a line of {line.length} bytes is over the limit, and skipped"
            if len(self.failures) < _FAILURES:
                self.failures.append(reason)
            yield Unparsed(line.head, reason)
        elif adapter.reads == "text":
            yield from self._text(line, adapter, _IGNORED)
        elif (found := objects(line)) is not None:
            for event in found:
                yield from self._part(line, adapter.feed, event, _IGNORED)
        elif line.strip():
            yield from self._text(line, adapter, _UNPARSABLE)
        else:
            self._worst = _IGNORED
        self._counts[self._worst] += 1

    def _text(self, line: bytes, adapter: Adapter, silent: int) -> Iterator[Event]:
        text = strip(line).decode("utf-8", "replace")
        return self._part(line, adapter.feed_text, text, silent)

    def _part(
        self,
        line: bytes,
        call: Callable[[Any], Iterable[Event]],
        given: Any,
        silent: int,
    ) -> Iterator[Event]:
        """Give the events of one part; a part without any is of class `silent`."""
        worst = _NOTHING
        try:
            for fact in call(given):
                worst = max(worst, self._class_of(fact))
                yield fact
        except Exception as error:
            worst = _UNPARSABLE
            yield self._failed(line, error)
        self._worst = max(self._worst, silent if worst < 0 else worst)

    def _guarded(self, call: Callable[[], Iterable[Event]]) -> Iterator[Event]:
        try:
            yield from call()
        except Exception as error:
            yield self._failed(b"", error)

    def note_failure(self, error: Exception) -> str:
        """Keep an adapter's failure for the summary; give it in words."""
        reason = f"the adapter failed: {type(error).__name__}: {error}"
        if len(self.failures) < _FAILURES:
            self.failures.append(reason)
        return reason

    def _failed(self, line: bytes, error: Exception) -> Unparsed:
        return Unparsed(strip(line), self.note_failure(error))

    def _count_unknown(self, name: str) -> None:
        if name not in self.unknown_types and len(self.unknown_types) >= _UNKNOWN_TYPES:
            name = "(others)"
        self.unknown_types[name] = self.unknown_types.get(name, 0) + 1
