"""Follow a session from Python; send it a message. Standard library only.

    python examples/session_client.py http://127.0.0.1:4242 SESSION [MESSAGE]

SESSION is any UUID; of `agent-wrap --serve`, the one that it says. The stream is read
until its turn ends. A connection that breaks is opened again with the last id that was
read, so nothing is missed and nothing comes twice, also when the server is started
anew. $AGENT_WRAP_KEY holds the key, where the server asks for one.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any

QUIET = 60.0
"""Seconds without a byte after which a connection is taken for dead: the server sends
a comment every 10 s."""

AGAIN = 1.0


def request(url: str, body: object = None, **headers: str) -> urllib.request.Request:
    """Make a request: a POST when there is a body."""
    key = os.environ.get("AGENT_WRAP_KEY")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.Request(url, data, headers)


def events(session_url: str) -> Iterator[tuple[str, Any]]:
    """Give (type, data) of each event; come back after each break, where it broke."""
    last: dict[str, str] = {}
    while True:
        try:
            asked = request(f"{session_url}/events", **last)
            with urllib.request.urlopen(asked, timeout=QUIET) as stream:
                if stream.status == 204:
                    return  # the run is over, and all of it was read
                kind = data = name = ""
                for raw in stream:
                    line = raw.decode().rstrip("\n")
                    field, _, value = line.partition(": ")
                    if field == "event":
                        kind = value
                    elif field == "data":
                        data = value
                    elif field == "id":
                        name = value
                    elif not line and data:
                        if name:
                            last["Last-Event-ID"] = name
                        yield kind, json.loads(data)
                        kind = data = name = ""
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise refused(error) from None
        except (OSError, HTTPException):
            pass  # it is away: it may come back
        time.sleep(AGAIN)


def refused(error: urllib.error.HTTPError) -> SystemExit:
    """Make the end of this program out of an answer."""
    return SystemExit(f"the server refuses: {error.read().decode()}")


def show(kind: str, data: dict[str, Any]) -> bool:
    """Print what an event tells; say whether the turn is over."""
    if kind == "snapshot":
        for message in data["messages"]:
            print(f"[{message['role']}] {message['content']}", flush=True)
        for event in data["inProgressTurn"] or ():
            show(event["type"], event)
        return False
    if kind == "turn_start":
        print(f"[user] {data.get('userMessage', '')}", flush=True)
    elif kind == "text_delta":
        print(data["text"], end="", flush=True)
    elif kind == "tool_call":
        print(f"\n> {data['toolName']} {data.get('input', '')}", flush=True)
    elif kind == "tool_result":
        print(f"  {data['status']}: {data.get('result', '')[:200]}", flush=True)
    elif kind == "turn_end":
        print(f"\n[{data.get('terminalReason', 'ended')}]", flush=True)
        return True
    return False


def main() -> None:
    """Follow until a turn ends."""
    server, session, *message = sys.argv[1:]
    url = f"{server.rstrip('/')}/api/sessions/{session}"
    for kind, data in events(url):
        if show(kind, data):
            return
        if kind == "snapshot" and not message:
            if data["messages"] and data["inProgressTurn"] is None:
                return  # it is over, perhaps since the connection broke
        elif kind == "snapshot":
            # What it begins comes on the stream that is open already.
            body = {"content": " ".join(message)}
            try:
                urllib.request.urlopen(request(f"{url}/messages", body)).close()
            except urllib.error.HTTPError as error:
                raise refused(error) from None
            message = []


if __name__ == "__main__":
    main()
