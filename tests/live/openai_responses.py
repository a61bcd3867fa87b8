"""The wire format of OpenAI's Responses (Codex, Copilot)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from .turn import Json, Turn, cut, text_of


def read(body: Json) -> tuple[int, list[str]]:
    """Give the number of answers so far in a request, and what the user said."""
    items = body["input"]
    made = [_by_model(item) for item in items]
    # Several items in a row are one answer.
    turn = sum(now and not before for before, now in itertools.pairwise([0, *made]))
    return turn, [text_of(i.get("content")) for i in items if i.get("role") == "user"]


def events(turn: Turn) -> Iterator[Json]:
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
    output = [_item(turn, index) for index in range(len(turn.blocks))]
    for index, item in enumerate(output):
        at: Json = {"output_index": index}
        if item["type"] == "message":
            part: Json = {**at, "item_id": item["id"], "content_index": 0}
            begun = {**item, "status": "in_progress", "content": []}
            yield {"type": "response.output_item.added", **at, "item": begun}
            for piece in cut(item["content"][0]["text"]):
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


def _item(turn: Turn, index: int) -> Json:
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
