"""The model that the live tests talk to: a loopback server that answers from a table.

Owns the scenarios and the two wire formats, Anthropic Messages (Claude Code) and
OpenAI Responses (Codex, Copilot). A base address ends in the scenario's name, as in
`http://127.0.0.1:PORT/tool_ok`; nothing here knows the wrapper.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]

SUBAGENT = "SUBAGENT"
"""A conversation with this word among its user texts is a sub-agent's."""


@dataclass(frozen=True)
class Text:
    """The model says something."""

    text: str


@dataclass(frozen=True)
class Shell:
    """The model runs a command with whatever shell tool the agent has."""

    command: str
    background: bool = False


@dataclass(frozen=True)
class Delegate:
    """The model starts a sub-agent."""

    task: str


@dataclass(frozen=True)
class Await:
    """The model waits for the sub-agent that it started (Codex)."""


@dataclass(frozen=True)
class Dismiss:
    """The model ends the sub-agent that it started (Codex)."""


@dataclass(frozen=True)
class Question:
    """The model asks the person a question (Claude Code)."""

    text: str


@dataclass(frozen=True)
class Silence:
    """The model is asked and says nothing until the server stops."""


Block = Text | Shell | Delegate | Await | Dismiss | Question | Silence


@dataclass(frozen=True)
class Scenario:
    """What the model answers: reply k to the request with k assistant turns in it."""

    replies: tuple[tuple[Block, ...], ...] = ()
    sub_replies: tuple[tuple[Block, ...], ...] = ()
    error: tuple[int, str, str] | None = None


_SUB_REPLIES: tuple[tuple[Block, ...], ...] = (
    (Text("I count as the sub-agent."), Shell("echo counted-by-sub")),
    (Text("There are no files."),),
)

SCENARIOS = {
    "text": Scenario(replies=((Text("The answer is 42."),),)),
    "tool_ok": Scenario(
        replies=(
            (Text("I will run echo."), Shell("echo hello-from-tool")),
            (Text("The command printed a greeting."),),
        )
    ),
    # Reading agents allow without asking; this one changes a file.
    "asks": Scenario(
        replies=(
            (Text("I need permission."), Shell("touch made.txt && echo made-it")),
            (Text("I was answered."),),
        )
    ),
    # This one changes nothing: it works in a sandbox too.
    "asks_to_compute": Scenario(
        replies=(
            (Text("I need permission."), Shell("python3 -c 'print(6 * 7)'")),
            (Text("I was answered."),),
        )
    ),
    "asks_twice": Scenario(
        replies=(
            (Shell("touch first.txt"), Shell("touch second.txt")),
            (Text("I was answered twice."),),
        )
    ),
    "question": Scenario(
        replies=((Question("Tea or coffee?"),), (Text("Nobody answered."),))
    ),
    "background": Scenario(
        replies=(
            (Shell("touch early.txt; sleep 2; echo late", background=True),),
            (Text("It runs on."),),
            (Shell("touch woken.txt"),),
            (Text("It has ended."),),
        )
    ),
    "server": Scenario(
        replies=(
            (Shell("touch up.txt; sleep 500", background=True),),
            (Text("It serves."),),
        )
    ),
    "tool_fail": Scenario(
        replies=(
            (Shell("echo out-before; echo err-before >&2; exit 1"),),
            (Text("The command failed."),),
        )
    ),
    "parallel": Scenario(
        replies=(
            (
                Text("Two commands at once."),
                Shell("echo first; sleep 0.5"),
                Shell("echo second"),
            ),
            (Text("Both are done."),),
        )
    ),
    "subagent": Scenario(
        replies=(
            (Text("I delegate."), Delegate(f"{SUBAGENT}: count the files here")),
            (Text("The sub-agent counted."),),
        ),
        sub_replies=_SUB_REPLIES,
    ),
    "subagent_awaited": Scenario(
        replies=(
            (Text("I delegate."), Delegate(f"{SUBAGENT}: count the files here")),
            (Await(),),
            (Dismiss(),),
            (Text("The sub-agent counted."),),
        ),
        sub_replies=_SUB_REPLIES,
    ),
    "err401": Scenario(error=(401, "authentication_error", "invalid x-api-key")),
    "long_tool": Scenario(
        replies=(
            (Text("A long command now."), Shell("echo started; sleep 60; echo over")),
            # An agent that is told to stop may kill the tool and ask once more.
            (Silence(),),
        )
    ),
    "late_answer": Scenario(
        replies=(
            (Text("A long command now."), Shell("echo started; sleep 60; echo over")),
            (Text("It was killed, but all is well."),),
        )
    ),
}


@dataclass(frozen=True)
class Call:
    """A model call that was answered."""

    scenario: str
    turn: int
    sub: bool
    asked: str


_IDS = itertools.count(1)


@dataclass
class Turn:
    """One answer on its way out: its blocks as tool calls and texts, its usage."""

    model: str
    blocks: list[Json]
    tokens_in: int
    tokens_out: int
    id: str = field(default_factory=lambda: f"{next(_IDS):08d}")


def _usage(turn: int, *, sub: bool) -> tuple[int, int]:
    """Tokens in and out of call `turn`: numbers whose sums tell which calls counted."""
    return (500 + turn, 50 + turn) if sub else (1000 + turn, 100 + turn)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            _text_of(part.get("text")) for part in content if isinstance(part, dict)
        )
    return ""


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

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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

    def _events(self, events: Iterator[Json]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self._end_headers()
        for event in events:
            text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(text.encode())
            self.wfile.flush()

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
        messages = body["messages"]
        if body.get("tools"):
            turn = sum(message["role"] == "assistant" for message in messages)
            users = [_text_of(m["content"]) for m in messages if m["role"] == "user"]
            answer = self._answer(name, turn, users, "", body["model"])
        else:
            # A title or a topic, beside the conversation.
            answer = Turn(body["model"], [{"text": "Aside."}], 7, 3)
        if body.get("stream"):
            self._events(_anthropic_events(answer))
        else:
            self._json(200, _anthropic_message(answer))

    def _responses(self, name: str, body: Json) -> None:
        items = body["input"]
        self.offered = {str(tool.get("name")) for tool in body.get("tools") or ()}
        made = [_by_model(item) for item in items]
        # Several items in a row are one answer.
        turn = sum(now and not before for before, now in itertools.pairwise([0, *made]))
        users = [_text_of(i.get("content")) for i in items if i.get("role") == "user"]
        seen = json.dumps(items)
        self._events(
            _openai_events(self._answer(name, turn, users, seen, body["model"]))
        )


def _anthropic_message(turn: Turn) -> Json:
    content = [
        {"type": "text", "text": block["text"]}
        if "text" in block
        else {
            "type": "tool_use",
            "id": f"toolu_{block['call']}",
            "name": block["tool"],
            "input": block["args"],
        }
        for block in turn.blocks
    ]
    tools = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{turn.id}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": content,
        "stop_reason": "tool_use" if tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": turn.tokens_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": turn.tokens_out,
        },
    }


def _anthropic_events(turn: Turn) -> Iterator[Json]:
    whole = _anthropic_message(turn)
    # As the real service does: the output is not counted yet at the start.
    usage = {**whole["usage"], "output_tokens": 1}
    begun = {**whole, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(whole["content"]):
        at: Json = {"index": index}
        if block["type"] == "text":
            empty = {**block, "text": ""}
            pieces = [
                {"type": "text_delta", "text": piece} for piece in _cut(block["text"])
            ]
        else:
            empty = {**block, "input": {}}
            pieces = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in _cut(json.dumps(block["input"]))
            ]
        yield {"type": "content_block_start", **at, "content_block": empty}
        for piece in pieces:
            yield {"type": "content_block_delta", **at, "delta": piece}
        yield {"type": "content_block_stop", **at}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
        "usage": whole["usage"],
    }
    yield {"type": "message_stop"}


def _openai_events(turn: Turn) -> Iterator[Json]:
    response: Json = {
        "id": f"resp_{turn.id}",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "model": turn.model,
        "output": [],
        "usage": None,
    }
    yield {"type": "response.created", "response": response}
    output = [_openai_item(turn, index) for index in range(len(turn.blocks))]
    for index, item in enumerate(output):
        at: Json = {"output_index": index}
        if item["type"] == "message":
            part: Json = {**at, "item_id": item["id"], "content_index": 0}
            begun = {**item, "status": "in_progress", "content": []}
            yield {"type": "response.output_item.added", **at, "item": begun}
            for piece in _cut(item["content"][0]["text"]):
                yield {"type": "response.output_text.delta", **part, "delta": piece}
        else:
            begun = {**item, "status": "in_progress", "arguments": ""}
            yield {"type": "response.output_item.added", **at, "item": begun}
        yield {"type": "response.output_item.done", **at, "item": item}
    usage = {
        "input_tokens": turn.tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": turn.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.tokens_in + turn.tokens_out,
    }
    ended = {**response, "status": "completed", "output": output, "usage": usage}
    yield {"type": "response.completed", "response": ended}


def _openai_item(turn: Turn, index: int) -> Json:
    block = turn.blocks[index]
    if "text" in block:
        return {
            "id": f"msg_{turn.id}_{index}",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": block["text"], "annotations": []}
            ],
        }
    item = {
        "id": f"fc_{block['call']}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{block['call']}",
        "name": block["tool"],
        "arguments": json.dumps(block["args"]),
    }
    if block["tool"].endswith("_agent"):
        item["namespace"] = "multi_agent_v1"
    return item


def _by_model(item: Json) -> bool:
    return item.get("role") == "assistant" or item.get("type") in (
        "function_call",
        "custom_tool_call",
        "reasoning",
    )


def _cut(text: str, size: int = 24) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
