"""Where a live session is served: the socket, bound before the agent runs, and the key.

Whatever is wrong with the address, the key or the installation is said while nothing
has run yet. Imported by a run that is served only.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from importlib.util import find_spec

from agent_wrap.errors import UsageError
from agent_wrap.settings import Settings

NEEDED = ("starlette", "uvicorn", "sse_starlette")
LEAST_KEY = 16
BACKLOG = 512


class Listener:
    """A socket that listens, the host that was asked for, the key (or none)."""

    def __init__(self, sock: socket.socket, host: str, key: str) -> None:
        self.socket = sock
        self.host = host
        self.key = key

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Where clients find it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def check_installed() -> None:
    """Raise UsageError when the web server's packages are not there."""
    if not all(map(find_spec, NEEDED)):
        raise UsageError(
            "the web server is not installed",
            "In the checkout of agent-wrap: pip install '.[serve]'",
        )


def open_listener(settings: Settings) -> Listener:
    """Bind the address of `--serve`. Raises UsageError."""
    check_installed()
    host, _, port = settings.serve.rpartition(":")
    key = read_key(settings.serve_key_file) if settings.serve_key_file else ""
    return listen(host.strip("[]"), int(port), key)


def listen(
    host: str,
    port: int,
    key: str,
    *,
    option: str = "--serve",
    hint: str = "Give a key with --serve-key-file, or listen on 127.0.0.1",
) -> Listener:
    """Bind an address; one that others can reach needs a key. Raises UsageError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        if not key and not is_loopback(str(address[0])):
            raise UsageError(f"{option} {host}: others can reach this address", hint)
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        raise UsageError(
            f"{option} {host}:{port}: {error.strerror or error}",
            "Give another port, or 0 for any",
        ) from None
    return Listener(sock, host, key)


def is_loopback(address: str) -> bool:
    """Can only this machine reach an address?"""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def read_key(path: str) -> str:
    """Give the key in a file. Raises UsageError."""
    try:
        with open(os.fspath(path), encoding="ascii") as file:
            key = file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or "it is not plain ASCII"
        raise UsageError(f"--serve-key-file {path}: {reason}") from None
    if len(key) < LEAST_KEY:
        raise UsageError(
            f"--serve-key-file {path}: the key is shorter than {LEAST_KEY} characters"
        )
    return key
