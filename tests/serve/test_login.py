"""Logging in by a key: the cookie, what it allows, and how it ends."""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_wrap.serve import logins
from agent_wrap.serve.access import Access, tokens_in
from agent_wrap.serve.keys import Keys, digest
from agent_wrap.serve.logins import LIFE, Logins

from ..harness import PATIENCE, child, wrapper
from .client import get
from .server import Server

PLAY = child("scripted", "init", "text=Hello", "result")


class Guarded:
    """A server with one key, and a browser's requests to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = self.make_key("me")
        self.server = Server(folder, PLAY)
        self.origin = f"http://127.0.0.1:{self.server.port}"

    def make_key(self, name: str) -> str:
        done = wrapper(
            "serve", "keys", "add", name, "--data", str(self.folder / "data")
        )
        return done.stdout.decode().strip()

    def log_in(self, key: str, **headers: str) -> tuple[int, str]:
        """Give the status and the cookie's header."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, PATIENCE)
        try:
            body = json.dumps({"key": key})
            sent = {"Origin": self.origin, **headers}
            connection.request("POST", "/api/login", body, sent)
            answer = connection.getresponse()
            answer.read()
            return answer.status, answer.getheader("Set-Cookie") or ""
        finally:
            connection.close()

    def cookie(self) -> str:
        status, told = self.log_in(self.key)
        assert status == 204
        return told.partition(";")[0]

    def reads(self, cookie: str) -> int:
        return get(self.server.port, "/api/sessions", cookie=cookie)[0]

    def sends(self, cookie: str, **headers: str) -> tuple[int, str]:
        path = f"/api/sessions/{uuid.uuid4()}/messages"
        body = {"content": "x"}
        status, told = self.server.post(path, body, cookie=cookie, **headers)
        return status, told.get("code", "")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server for all tests that do not end it."""
    guarded = Guarded(tmp_path_factory.mktemp("guarded"))
    yield guarded
    guarded.server.close()


def test_a_cookie_does_what_its_key_does_for_our_own_pages(guarded: Guarded) -> None:
    port = guarded.server.port
    assert get(port, "/")[0] == 200  # the page itself tells nothing
    assert get(port, "/page/main.js")[0] == 200
    assert get(port, "/api/features")[0] == 401
    assert guarded.log_in("wrong") == (401, "")
    assert guarded.log_in(guarded.key, Origin="http://evil.example") == (403, "")
    status, told = guarded.log_in(guarded.key)
    assert status == 204
    assert told.startswith(f"agent-wrap-login-{port}=")
    assert guarded.key not in told
    parts = {part.strip().lower() for part in told.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", f"max-age={LIFE}"} <= parts
    cookie = told.partition(";")[0]
    assert guarded.reads(cookie) == 200
    assert guarded.reads(cookie + "x") == 401
    assert guarded.sends(cookie) == (403, "ORIGIN_NOT_ALLOWED")
    evil = {"Origin": "http://127.0.0.1:1"}
    assert guarded.sends(cookie, **evil) == (403, "ORIGIN_NOT_ALLOWED")
    assert guarded.sends(cookie, Origin=guarded.origin) == (202, "")


def test_a_login_ends_with_its_key_its_logout_and_not_with_the_server(
    tmp_path: Path,
) -> None:
    guarded = Guarded(tmp_path)
    try:
        first, second = guarded.cookie(), guarded.cookie()
        origin = {"Origin": guarded.origin}
        guarded.server.post("/api/logout", {}, cookie=second, **origin)
        assert (guarded.reads(first), guarded.reads(second)) == (200, 401)
        port = guarded.server.port
        guarded.server.end()
        guarded.server = Server(tmp_path, PLAY, port=port)
        assert (guarded.reads(first), guarded.reads(second)) == (200, 401)
        kept = (tmp_path / "data" / "logins.json").read_text()
        assert first.partition("=")[2] not in kept
        wrapper("serve", "keys", "remove", "me", "--data", str(tmp_path / "data"))
        assert guarded.reads(first) == 401
        guarded.make_key("me")
        assert guarded.reads(first) == 401  # another key of the same name
    finally:
        guarded.server.close()


def test_without_keys_there_is_nothing_to_log_in_to(tmp_path: Path) -> None:
    server = Server(tmp_path, PLAY)
    try:
        assert server.post("/api/login", {"key": "x"})[0] == 404
        features = json.loads(get(server.port, "/api/features")[2])
        assert features["send"]
        assert not features["logout"]
    finally:
        server.close()


def test_behind_tls_the_cookie_is_for_tls_alone(guarded: Guarded) -> None:
    host = f"127.0.0.1:{guarded.server.port}"
    _, told = guarded.log_in(guarded.key, Origin=f"https://{host}")
    assert "secure" in told.lower()
    assert "secure" not in guarded.log_in(guarded.key)[1].lower()


def test_logins_expire_and_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(logins, "MOST", 3)
    known = Logins(folder=str(tmp_path))
    tokens = [known.open("key") for _ in range(4)]
    assert [known.know(token) for token in tokens] == [False, True, True, True]
    now += LIFE
    assert not known.know(tokens[3])
    again = known.open("key")
    assert list(Logins(folder=str(tmp_path))._known) == [digest(again)]


def test_a_damaged_file_of_logins_means_to_log_in_again(tmp_path: Path) -> None:
    for text in ("", "[]", '{"a": 1}', '{"a": [1]}'):
        (tmp_path / "logins.json").write_text(text)
        assert not Logins(folder=str(tmp_path)).know("a")


def test_which_cookies_are_ours() -> None:
    assert tokens_in("a=1; agent-wrap-login-80=x;agent-wrap-login=y; b") == ["x", "y"]
    assert tokens_in("") == []


def test_what_is_open_is_open_to_our_own_pages_alone(tmp_path: Path) -> None:
    keys = Keys(str(tmp_path))
    access = Access("0.0.0.0", keys.know)
    asked = {"host": "any.example", "origin": "http://evil.example"}
    assert access.refusal(asked, "POST", "/api/login") is not None
    assert access.refusal({"host": "any.example"}, "GET", "/page/../x") is None
    assert access.refusal({"host": "any.example"}, "GET", "/api/health") is not None
    local = Access("127.0.0.1")
    assert local.refusal({"host": "evil.example"}, "GET", "/") is not None
