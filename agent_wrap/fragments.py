"""Text that an agent gives in pieces: shown at once, a message when it is whole.

For adapters of streams that say nothing but pieces. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_wrap.events import Event, Message, TextDelta, Thinking, ThinkingDelta


class Fragments:
    """What is being said. Pieces of one kind and id are one text."""

    def __init__(self) -> None:
        self._kind: type[Message | Thinking] = Message
        self._message_id = ""
        self._pieces: list[str] = []

    def __bool__(self) -> bool:
        """Is anything being said?"""
        return bool(self._pieces)

    def say(self, piece: str, message_id: str = "") -> Iterator[Event]:
        """Take a piece of a message; what was another text before is whole."""
        yield from self._take(Message, piece, message_id)
        if piece:
            yield TextDelta(piece, message_id)

    def think(self, piece: str, message_id: str = "") -> Iterator[Event]:
        """Take a piece of a thought; what was another text before is whole."""
        yield from self._take(Thinking, piece, message_id)
        if piece:
            yield ThinkingDelta(piece, message_id)

    def whole(self) -> Iterator[Event]:
        """Give the text that was said: something else comes, or nothing more."""
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.strip():
            yield self._kind(text, self._message_id)

    def _take(
        self, kind: type[Message | Thinking], piece: str, message_id: str
    ) -> Iterator[Event]:
        if (kind, message_id) != (self._kind, self._message_id):
            yield from self.whole()
        self._kind, self._message_id = kind, message_id
        if piece:
            self._pieces.append(piece)
