"""What agents leave beside their stdout, as it was seen of each."""

from __future__ import annotations

import json
from typing import Any

COPILOT_METRICS = {
    "m-1": {
        "requests": {"count": 2},
        "usage": {
            "inputTokens": 2100,
            "outputTokens": 41,
            "cacheReadTokens": 601,
            "cacheWriteTokens": 0,
            "reasoningTokens": 7,
        },
    }
}
KIMI_RECORD = {
    "type": "usage.record",
    "model": "mock/m",
    "usage": {
        "inputOther": 700,
        "output": 20,
        "inputCacheRead": 300,
        "inputCacheCreation": 5,
    },
}
OPENHANDS_STATE = {
    "stats": {
        "usage_to_metrics": {
            "agent": {
                "accumulated_cost": 0.25,
                "accumulated_token_usage": {
                    "prompt_tokens": 2100,
                    "completion_tokens": 41,
                    "cache_read_tokens": 601,
                    "cache_write_tokens": 0,
                    "reasoning_tokens": 7,
                },
            },
            "condenser": {
                "accumulated_cost": 0.0,
                "accumulated_token_usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 1,
                },
            },
        }
    }
}
VIBE_EXPORT = {
    "outcome": "finished",
    "usage": {
        "input_tokens": 2100,
        "output_tokens": 41,
        "cached_input_tokens": 601,
        "total_tokens": 2141,
    },
    "cost_usd": 0.5,
}
CONTINUE_SESSION = {
    "sessionId": "s",
    "workspaceDirectory": "/src/project",
    "usage": {"promptTokens": 2100, "completionTokens": 41},
}
DROID_SETTINGS = {
    "model": "m",
    "tokenUsage": {
        "inputTokens": 1499,
        "outputTokens": 41,
        "cacheReadTokens": 601,
        "cacheCreationTokens": 0,
        "thinkingTokens": 7,
    },
}


def as_lines(*objects: object) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in objects)


def copilot_record(**usage: int) -> dict[str, Any]:
    return {"type": "session.usage_record", "data": {"model": "m-1", "usage": usage}}


COPILOT_CALLS = (
    copilot_record(inputTokens=1000, outputTokens=20, cacheReadTokens=300),
    copilot_record(inputTokens=1100, outputTokens=21, cacheReadTokens=301),
)
COPILOT_END = {
    "type": "session.shutdown",
    "data": {"modelMetrics": COPILOT_METRICS},
}


def vibe_call(sequence: int, **usage: int) -> dict[str, Any]:
    done = {"action_id": f"a-{sequence}", "result": {"usage": usage}}
    kind = {"type": "action_result", "sequence": sequence}
    return {**kind, "payload": {"result": done}}


VIBE_CALLS = (
    vibe_call(1, input_tokens=1000, output_tokens=20, cached_input_tokens=300),
    vibe_call(2, input_tokens=1100, output_tokens=21, cached_input_tokens=301),
)
