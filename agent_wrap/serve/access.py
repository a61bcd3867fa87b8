"""Who may ask: the key or login, the Host and the Origin of a request. Pure.

A page of another site must neither read nor post: its Origin is refused, and so is a
Host that is not ours (its name may lead here for that page's sake, DNS rebinding).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hmac import compare_digest

Refusal = tuple[int, str, str]
"""Status, error, code."""

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


COOKIE = "agent-wrap-login"
"""How the names of our cookies begin; a port follows: ports share their cookies."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Access:
    """The rule of one server. With a key, any Host is ours: the key protects."""

    def __init__(
        self,
        host: str,
        knows_key: Callable[[str], bool] | None = None,
        knows_login: Callable[[str], bool] = lambda token: False,
    ) -> None:
        self._hosts = LOCAL | {host.lower()}
        self._knows_key = knows_key
        self._knows_login = knows_login

    def refusal(
        self, headers: Mapping[str, str], method: str = "GET", path: str = ""
    ) -> Refusal | None:
        """Say why a request is refused, if it is."""
        host = headers.get("host", "")
        if self._knows_key is None and name_of(host) not in self._hosts:
            return 403, "This host name is not served here", "HOST_NOT_ALLOWED"
        origin = headers.get("origin")
        if origin is not None and not self._same(origin, host):
            return 403, "Requests of other sites are refused", "ORIGIN_NOT_ALLOWED"
        if self._knows_key is None or is_open(path):
            return None
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._knows_key(key.strip()):
            return None
        if not any(map(self._knows_login, tokens_in(headers.get("cookie", "")))):
            return 401, "A key is needed", "AUTH_REQUIRED"
        if origin is None and method not in _SAFE:
            # A browser sends the cookie whoever asks; who asked is in the Origin.
            return 403, "With a cookie an Origin is needed", "ORIGIN_NOT_ALLOWED"
        return None

    def _same(self, origin: str, host: str) -> bool:
        scheme, found, authority = origin.lower().partition("://")
        return bool(found) and scheme in ("http", "https") and authority == host.lower()


def only_key(key: str) -> Callable[[str], bool] | None:
    """Make the test for the one key; None when there is none."""
    known = key.encode()
    if not known:
        return None
    return lambda given: compare_digest(given.encode("utf-8", "replace"), known)


def name_of(host: str) -> str:
    """Give the name in a Host header, without the port, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_open(path: str) -> bool:
    """Is this the page itself, or the way in? Neither tells anything."""
    return path in ("/", "/api/login") or path.startswith("/page/")


def tokens_in(cookies: str) -> list[str]:
    """Give the values of our cookies in a Cookie header."""
    pairs = (pair.strip().partition("=") for pair in cookies.split(";"))
    return [value for name, _, value in pairs if name.startswith(COOKIE)]
