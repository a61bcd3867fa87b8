"""The model that the live tests talk to: a loopback server that answers from a table.

Owns the way from a request to the scripted answer; the wire formats are modules of
their own. A base address ends in the scenario's name, as in
`http://127.0.0.1:PORT/tool_ok`; nothing here knows the wrapper.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from . import anthropic_messages, openai_chat, openai_responses
from .scenarios import (
    SCENARIOS,
    SUBAGENT,
    Await,
    Delegate,
    Dismiss,
    Question,
    Shell,
    Silence,
    Text,
)
from .turn import Json, Turn


@dataclass(frozen=True)
class Call:
    """A model call that was answered."""

    scenario: str
    turn: int
    sub: bool
    asked: str


def _usage(turn: int, *, sub: bool) -> tuple[int, int]:
    """Tokens in and out of call `turn`: numbers whose sums tell which calls counted."""
    return (500 + turn, 50 + turn) if sub else (1000 + turn, 100 + turn)


class Model(ThreadingHTTPServer):
    """The server; `with Model() as model` runs it on a free port in a thread."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[Call] = []
        self.stopping = threading.Event()
        # The default interval of half a second would be paid at each shutdown.
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def url(self, scenario: str) -> str:
        """The base address that makes an agent play `scenario`."""
        assert scenario in SCENARIOS, scenario
        return f"http://127.0.0.1:{self.server_address[1]}/{scenario}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Agents are killed in the middle of answers here: that is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model
    offered: frozenset[str] | set[str] = frozenset()

    def log_message(self, format: str, *args: Any) -> None:
        """Calls are kept in `Model.calls`, not printed."""

    def do_HEAD(self) -> None:
        """Claude Code asks whether the address answers at all."""
        self._json(200, {})

    def do_GET(self) -> None:
        """Nothing can be listed: both agents go on without."""
        self._json(404, {"error": {"type": "not_found_error", "message": "no such"}})

    def do_POST(self) -> None:
        """Answer one model call."""
        body: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _, name, rest = self.path.partition("?")[0].split("/", 2)
        error = SCENARIOS[name].error
        if rest == "v1/messages/count_tokens":
            self._json(200, {"input_tokens": 1000})
        elif error is not None:
            status, kind, message = error
            shape = {"type": kind, "message": message, "code": kind, "param": None}
            self._json(status, {"type": "error", "error": shape})
        elif rest == "v1/messages":
            self._messages(name, body)
        elif rest == "v1/responses":
            self._responses(name, body)
        elif rest == "v1/chat/completions":
            self._chat(name, body)
        else:
            self._json(404, {"error": {"message": f"no endpoint {rest}"}})

    def _json(self, status: int, value: Json) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self._end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _events(self, events: Iterable[Json], *, named: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self._end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        if not named:
            self.wfile.write(b"data: [DONE]\n\n")

    def _end_headers(self) -> None:
        # No keep-alive: a connection that is kept would outlive the test.
        self.send_header("connection", "close")
        self.end_headers()

    def _answer(
        self, name: str, turn: int, users: list[str], seen: str, model: str
    ) -> Turn:
        """The scripted answer; past the end of the script its last reply again."""
        sub = any(SUBAGENT in text for text in users)
        scenario = SCENARIOS[name]
        replies = scenario.sub_replies if sub else scenario.replies
        self.server.calls.append(Call(name, turn, sub, "\n".join(users)))
        answer = Turn(model, [], *_usage(turn, sub=sub))
        for index, block in enumerate(replies[min(turn, len(replies) - 1)]):
            if isinstance(block, Silence):
                self.server.stopping.wait()
            elif isinstance(block, Text):
                answer.blocks.append({"text": block.text})
            else:
                tool, args = self._tool(block, seen)
                call = {"call": f"{answer.id}_{index}", "tool": tool, "args": args}
                answer.blocks.append(call)
        return answer

    def _tool(
        self, block: Shell | Delegate | Await | Dismiss | Question, seen: str
    ) -> tuple[str, Json]:
        """A block as the tool that the agent on the other side knows."""
        claude = "/messages" in self.path
        if isinstance(block, Question):
            options = [{"label": o, "description": o} for o in ("Tea", "Coffee")]
            question = {"question": block.text, "header": "Drink", "options": options}
            return "AskUserQuestion", {
                "questions": [{**question, "multiSelect": False}]
            }
        if isinstance(block, Shell):
            if "bash" in self.offered:
                return "bash", {"command": block.command, "description": "run it"}
            if claude:
                args = {"command": block.command, "description": "run it"}
                return "Bash", args | (
                    {"run_in_background": True} if block.background else {}
                )
            return "exec_command", {"cmd": block.command, "yield_time_ms": 30_000}
        if isinstance(block, Delegate):
            if claude:
                return "Agent", {
                    "description": "count files",
                    "prompt": block.task,
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                }
            return "spawn_agent", {"message": block.task, "agent_type": "default"}
        # Its id was chosen by the agent: the result of the first call tells it.
        agent = re.findall(r"agent_id\W+([0-9a-f-]{36})", seen)[-1]
        if isinstance(block, Await):
            return "wait_agent", {"targets": [agent], "timeout_ms": 20_000}
        return "close_agent", {"target": agent}

    def _messages(self, name: str, body: Json) -> None:
        if body.get("tools"):
            turn, users = anthropic_messages.read(body)
            answer = self._answer(name, turn, users, "", body["model"])
        else:
            # A title or a topic, beside the conversation.
            answer = Turn(body["model"], [{"text": "Aside."}], 7, 3)
        if body.get("stream"):
            self._events(anthropic_messages.events(answer))
        else:
            self._json(200, anthropic_messages.whole_message(answer))

    def _responses(self, name: str, body: Json) -> None:
        self.offered = {str(tool.get("name")) for tool in body.get("tools") or ()}
        turn, users = openai_responses.read(body)
        seen = json.dumps(body["input"])
        answer = self._answer(name, turn, users, seen, body["model"])
        self._events(openai_responses.events(answer))

    def _chat(self, name: str, body: Json) -> None:
        functions = [tool["function"] for tool in body.get("tools") or ()]
        self.offered = {str(function.get("name")) for function in functions}
        turn, users = openai_chat.read(body)
        answer = self._answer(name, turn, users, "", body["model"])
        self._events(openai_chat.events(answer), named=False)
