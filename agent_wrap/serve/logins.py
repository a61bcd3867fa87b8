"""Who is logged in by a browser: tokens kept as hashes, each bound to its key."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable

from agent_wrap.errors import ArchiveError
from agent_wrap.serve.keys import digest

FILE = "logins.json"
LIFE = 7 * 24 * 3600
"""Seconds that a login lasts."""

MOST = 1000
"""Logins that are kept; the oldest goes."""


class Logins:
    """Hash of a token -> hash of the key that it was got with, and its end.

    With a folder they outlive the server. `holds_key` says whether there still is a
    key with this hash: a login ends with its key.
    """

    def __init__(
        self, holds_key: Callable[[str], bool] = lambda hashed: True, folder: str = ""
    ) -> None:
        self._holds_key = holds_key
        self._path = os.path.join(folder, FILE) if folder else ""
        self._known: dict[str, tuple[str, float]] = self._read()

    def open(self, key: str) -> str:
        """Log in with a key that was found good; give the token."""
        token = secrets.token_urlsafe(32)
        now = time.time()
        alive = {t: login for t, login in self._known.items() if login[1] > now}
        while len(alive) >= MOST:
            del alive[next(iter(alive))]
        self._known = {**alive, digest(token): (digest(key), now + LIFE)}
        self._write()
        return token

    def know(self, token: str) -> bool:
        """Is somebody logged in with this token?"""
        login = self._known.get(digest(token))
        if login is None or login[1] <= time.time():
            return False
        return self._holds_key(login[0])

    def close(self, token: str) -> None:
        """Log out."""
        if self._known.pop(digest(token), None) is not None:
            self._write()

    def _read(self) -> dict[str, tuple[str, float]]:
        try:
            with open(self._path, "rb") as file:
                return {t: (key, end) for t, (key, end) in json.load(file).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}  # then people log in again

    def _write(self) -> None:
        if not self._path:
            return
        draft = f"{self._path}.new"
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "w") as file:
                json.dump(self._known, file)
            os.replace(draft, self._path)
        except OSError as error:
            raise ArchiveError(self._path, error.strerror or str(error)) from None
