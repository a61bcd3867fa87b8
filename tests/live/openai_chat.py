"""The wire format of OpenAI's Chat Completions (Pi, and most agents of others)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .turn import Json, Turn, cut, text_of


def read(body: Json) -> tuple[int, list[str]]:
    """Give the number of answers so far in a request, and what the user said."""
    messages = body["messages"]
    turn = sum(message["role"] == "assistant" for message in messages)
    users = [text_of(m.get("content")) for m in messages if m["role"] == "user"]
    return turn, users


def events(turn: Turn) -> Iterator[Json]:
    """Give the chunks of a streamed answer; the last one has the usage."""
    yield _chunk(turn, {"role": "assistant", "content": ""})
    number = 0
    for block in turn.blocks:
        if "text" in block:
            for piece in cut(block["text"]):
                yield _chunk(turn, {"content": piece})
            continue
        function = {"name": block["tool"], "arguments": ""}
        call = {"index": number, "id": f"call_{block['call']}", "type": "function"}
        yield _chunk(turn, {"tool_calls": [{**call, "function": function}]})
        for piece in cut(json.dumps(block["args"])):
            part = {"index": number, "function": {"arguments": piece}}
            yield _chunk(turn, {"tool_calls": [part]})
        number += 1
    yield _chunk(turn, {}, "tool_calls" if number else "stop")
    usage = {
        "prompt_tokens": turn.tokens_in,
        "completion_tokens": turn.tokens_out,
        "total_tokens": turn.tokens_in + turn.tokens_out,
    }
    yield {**_chunk(turn, {}), "choices": [], "usage": usage}


def _chunk(turn: Turn, delta: Json, finish: str | None = None) -> Json:
    return {
        "id": f"chatcmpl-{turn.id}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": turn.model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
