"""Reads one address over many connections at once, to the end of each; run by path.

    readers.py PORT PATH COUNT

Its own cost is in its own process. Prints, as JSON: for each reader how many events it
got and a hash of all their bytes, and the moment the last one had everything.
"""

from __future__ import annotations

import hashlib
import json
import selectors
import socket
import sys
import time

MARK = b"\nevent: text_delta\n"
END = b"\nevent: turn_end\n"


class Reader:
    """One connection; it takes the transfer's chunks apart."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.socket.setblocking(False)
        self.events = 0
        self.hash = hashlib.sha256()
        self.began = self.chunked = self.ended = False
        self._raw = b""
        self._tail = b""
        self._left = 0

    def read(self) -> bool:
        """Take what there is; false: that was the end."""
        data = self.socket.recv(1 << 18)
        if not data:
            return False
        if not self.began:
            head, found, data = (self._raw + data).partition(b"\r\n\r\n")
            if not found:
                self._raw = head
                return True
            self._raw, self.began = b"", True
            self.chunked = b"chunked" in head.lower()
        for piece in self._pieces(data) if self.chunked else (data,):
            self._take(piece)
        return not self.ended

    def _pieces(self, data: bytes) -> list[bytes]:
        """Take chunks apart; what is not whole waits for the rest."""
        found = []
        data = self._raw + data
        at = 0
        while at < len(data):
            if not self._left:
                end = data.find(b"\r\n", at)
                if end < 0:
                    break
                if end > at:
                    self._left = int(data[at:end], 16)
                at = end + 2
                continue
            piece = data[at : at + self._left]
            found.append(piece)
            self._left -= len(piece)
            at += len(piece)
        self._raw = data[at:]
        return found

    def _take(self, piece: bytes) -> None:
        seen = self._tail + piece
        self.events += seen.count(MARK)
        self.ended = self.ended or END in seen
        self._tail = seen[-len(MARK) + 1 :]
        self.hash.update(piece)


def main() -> None:
    """Read all to their ends."""
    port, path, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    readers = [Reader(port, path) for _ in range(count)]
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader.socket, selectors.EVENT_READ, reader)
        while selector.get_map():
            for key, _ in selector.select():
                if not key.data.read():
                    selector.unregister(key.fileobj)
    done = time.monotonic()
    told = [(reader.events, reader.hash.hexdigest()) for reader in readers]
    print(json.dumps({"done": done, "readers": told}))


main()
