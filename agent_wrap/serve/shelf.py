"""Archives as sessions that can be read only: found again and again, and followed."""

from __future__ import annotations

import os
from typing import Any

import anyio
import anyio.to_thread

from agent_wrap.errors import UsageError
from agent_wrap.serve.archived import Archived, Card, card_of, session_id, stamp_of
from agent_wrap.serve.feed import Feed, Hub
from agent_wrap.view.source import archives, dialog_path, is_folder_of_archives

LOADED = 10
"""Sessions in memory; of those that nobody reads, the oldest go."""

BEAT = 0.2
LOOK = 2.0
"""Seconds between two looks at what lies on the shelf."""


class Shelf:
    """A dialog, an archive, or a folder of archives. Raises UsageError."""

    def __init__(self, path: str, heartbeat: float) -> None:
        self.hub = Hub(heartbeat)
        self._path = path
        self._is_folder = is_folder_of_archives(path)
        self._cards: dict[str, Card] = {}
        self._loaded: dict[str, Archived] = {}
        if not self._is_folder:
            dialog_path(path)
        self._put(self._look())

    @property
    def is_empty(self) -> bool:
        """Is there no dialog?"""
        return not self._cards

    def feed(self, session_id: str) -> Feed | None:
        """Give the feed of an archive's session, up to date."""
        card = self._cards.get(session_id)
        if card is None:
            return None
        held = self._loaded.pop(session_id, None)
        if held is not None and held.is_another:
            held.close()
            held = None
        try:
            held = held or Archived(card, self.hub)
            held.read()
        except OSError:
            return None
        self._loaded[session_id] = held  # the last used is the last
        self._forget()
        return held.feed

    def known_feeds(self) -> list[Feed]:
        """Give the feeds that are loaded: the list itself says how a run ended."""
        return [held.feed for held in self._loaded.values()]

    def describe(self) -> list[dict[str, Any]]:
        """Give the list of archives, the latest first."""
        latest = sorted(self._cards.values(), key=lambda card: -card.stamp[2])
        return [card.described for card in latest]

    def finished(self, session_id: str) -> bool:
        """Has the dialog its end?"""
        held = self._loaded.get(session_id)
        return held is not None and held.ended

    async def follow(self) -> None:
        """Keep up with what is written, for those who read."""
        rest = LOOK
        while True:
            await anyio.sleep(BEAT)
            rest -= BEAT
            for name, held in list(self._loaded.items()):
                if held.feed.pins and not held.ended:
                    self._keep_up(name, held)
            if rest <= 0 and self.hub.mailboxes:
                rest = LOOK
                self._put(await anyio.to_thread.run_sync(self._look))

    def close(self) -> None:
        """Let all readers end."""
        for held in self._loaded.values():
            held.close()
        self.hub.close()

    def _keep_up(self, name: str, held: Archived) -> None:
        try:
            if held.is_another:
                raise FileNotFoundError
            held.read()
        except OSError:
            del self._loaded[name]
            held.close()  # its readers come again, for what is there then

    def _forget(self) -> None:
        for name, held in list(self._loaded.items())[:-1]:
            if len(self._loaded) > LOADED and not held.feed.pins:
                held.close()
                del self._loaded[name]

    def _look(self) -> dict[str, Card]:
        """Give the cards of all archives; those of unchanged files are kept."""
        found = {}
        places = archives(self._path) if self._is_folder else [self._path]
        for place in places:
            try:
                path = dialog_path(place)
                known = self._cards.get(session_id(path))
                if known is None or known.stamp != stamp_of(path) or not known.settled:
                    name = os.path.relpath(place, self._path) if self._is_folder else ""
                    known = card_of(path, name)
            except (OSError, UsageError):
                continue  # gone, or no dialog: the others are shown
            found[known.described["id"]] = known
        return found

    def _put(self, cards: dict[str, Card]) -> None:
        """Take the cards; tell the list what is new, another, or gone."""
        before, self._cards = self._cards, cards
        for name, card in cards.items():
            known = before.get(name)
            if known is None or known.described != card.described:
                self.hub.publish("session_upserted", session=card.described)
        for name in before.keys() - cards.keys():
            self.hub.publish("session_removed", sessionId=name)
