"""The wire format of Anthropic's Messages (Claude Code)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .turn import Json, Turn, cut, text_of


def read(body: Json) -> tuple[int, list[str]]:
    """Give the number of answers so far in a request, and what the user said."""
    messages = body["messages"]
    turn = sum(message["role"] == "assistant" for message in messages)
    return turn, [text_of(m["content"]) for m in messages if m["role"] == "user"]


def whole_message(turn: Turn) -> Json:
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


def events(turn: Turn) -> Iterator[Json]:
    whole = whole_message(turn)
    # As the real service does: the output is not counted yet at the start.
    usage = {**whole["usage"], "output_tokens": 1}
    begun = {**whole, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(whole["content"]):
        at: Json = {"index": index}
        if block["type"] == "text":
            empty = {**block, "text": ""}
            pieces = [
                {"type": "text_delta", "text": piece} for piece in cut(block["text"])
            ]
        else:
            empty = {**block, "input": {}}
            pieces = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in cut(json.dumps(block["input"]))
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
