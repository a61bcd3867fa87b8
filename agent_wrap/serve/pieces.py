"""Texts that came in pieces and come whole later: each is said once. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from agent_wrap.newest import Newest

REMEMBERED = 64
"""Messages of which pieces were seen but which did not come whole."""

LONGEST = 8 * 1024 * 1024
"""Characters that are kept for the comparison; beyond it only their number."""


class _Seen:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0

    def add(self, text: str) -> None:
        self.length += len(text)
        self.parts.append(text)
        if self.length > LONGEST:
            self.parts.clear()


class Pieces:
    """What was said of messages that are not whole yet."""

    def __init__(self) -> None:
        self._seen: Newest[str, _Seen] = Newest(REMEMBERED)

    def begins(self, message_id: str) -> bool:
        """Is nothing known of this message?"""
        return self._key(message_id) is None

    def add(self, text: str, message_id: str) -> None:
        """Take note of a piece that was said."""
        seen = self._seen.get(message_id)
        if seen is None:
            seen = _Seen()
            self._seen.add(message_id, seen)
        seen.add(text)

    def rest(self, text: str, message_id: str) -> str:
        """Give what of a whole message was not said in pieces."""
        key = self._key(message_id)
        if key is None:
            return text
        seen = self._seen.pop(key)
        if not seen.parts:
            return text[seen.length :]
        said = "".join(seen.parts)
        whole, had = text.strip(), said.strip()
        if whole.startswith(had):
            return whole[len(had) :]
        if had.startswith(whole):  # the message comes whole in several parts
            left = had[len(whole) :].lstrip()
            self.add(left, key)
            return ""
        return text  # the pieces were of an attempt that was thrown away

    def forget(self, message_ids: Iterable[str]) -> None:
        """Forget messages that will not come."""
        for message_id in message_ids:
            self._seen.pop(message_id, None)

    def _key(self, message_id: str) -> str | None:
        if message_id in self._seen:
            return message_id
        if "" in self._seen:
            return ""
        if not message_id and self._seen:
            return next(reversed(self._seen))
        return None
