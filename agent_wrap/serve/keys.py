"""The keys of a server: made once, shown once, kept as hashes."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from hmac import compare_digest

from agent_wrap.errors import UsageError

FILE = "keys.json"


class Keys:
    """Name -> hash. Read anew for each use: a key that is removed is gone at once."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)

    def names(self) -> list[str]:
        """Give the names of the keys."""
        return sorted(self._read())

    def add(self, name: str) -> str:
        """Make a key; give it, for the only time. Raises UsageError."""
        known = self._read()
        if name in known:
            raise UsageError(f"there is a key {name!r} already", "Remove it first")
        key = secrets.token_urlsafe(32)
        self._write({**known, name: digest(key)})
        return key

    def remove(self, name: str) -> None:
        """Forget a key. Raises UsageError."""
        known = self._read()
        if name not in known:
            raise UsageError(f"there is no key {name!r}")
        del known[name]
        self._write(known)

    def know(self, key: str) -> bool:
        """Is this one of the keys?"""
        given = digest(key)
        # All are compared: how long it takes tells nothing.
        found = [compare_digest(given, known) for known in self._read().values()]
        return any(found)

    def holds(self, hashed: str) -> bool:
        """Is there still a key of which this is kept?"""
        return hashed in self._read().values()

    def _read(self) -> dict[str, str]:
        try:
            with open(self._path, "rb") as file:
                return dict(json.load(file))
        except FileNotFoundError:
            return {}

    def _write(self, known: dict[str, str]) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        draft = f"{self._path}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as file:
            json.dump(known, file)
        os.replace(draft, self._path)


def digest(key: str) -> str:
    """Give what is kept of a key."""
    # A random key of 256 bits cannot be guessed: a slow hash would add nothing.
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
