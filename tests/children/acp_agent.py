"""A small agent that speaks ACP over stdin and stdout, and plays one part.

answer   says what it was asked
ask      asks for permission to run a tool, and says what was decided
stay     works until it is cancelled, then says so
stubborn works on, cancelled or not, until it is killed
deaf     asks for permission and never reads its stdin
mute     closes its stdin, then asks for permission
early    says that all is done before it was asked anything
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

part = sys.argv[1]
ASKED = {
    "toolCall": {"toolCallId": "t1", "title": "rm", "rawInput": {"command": "rm"}},
    "options": [
        {"optionId": "yes", "kind": "allow_once"},
        {"optionId": "no", "kind": "reject_once"},
    ],
}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(kind: str, /, **fields: Any) -> None:
    told = {"sessionUpdate": kind, **fields}
    send(method="session/update", params={"sessionId": "s", "update": told})


def say(text: str) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text})


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(9)  # the end of the input came before it was expected
    message: dict[str, Any] = json.loads(line)
    return message


def end(reason: str = "end_turn") -> None:
    send(id=2, result={"stopReason": reason})
    # A good agent ends with its input, and hears nothing more.
    sys.exit(8 if sys.stdin.read() else 0)


if part in ("deaf", "mute"):
    if part == "mute":
        os.close(0)
    send(id=0, result={"protocolVersion": 1, "agentInfo": {"name": part}})
    send(id=0, method="session/request_permission", params=ASKED)
    time.sleep(60)
if part == "early":
    send(id=2, result={"stopReason": "end_turn"})
    sys.stdin.read()
    sys.exit(0)

assert hear()["method"] == "initialize"
send(id=0, result={"protocolVersion": 1, "agentInfo": {"name": part, "version": "1"}})
session = hear()
assert session["method"] == "session/new"
assert session["params"]["cwd"] == os.getcwd()
send(id=1, result={"sessionId": "s"})
prompt = hear()
assert prompt["method"] == "session/prompt"
if part == "answer":
    say("asked: " + prompt["params"]["prompt"][0]["text"])
    end()
if part == "ask":
    send(id=0, method="session/request_permission", params=ASKED)
    answer = hear()
    assert answer["id"] == 0
    outcome = answer["result"]["outcome"]
    chosen = outcome.get("optionId", outcome["outcome"])
    status = "completed" if chosen == "yes" else "failed"
    update("tool_call_update", toolCallId="t1", status=status, rawOutput=chosen)
    if chosen == "cancelled":
        assert hear()["method"] == "session/cancel"
        end("cancelled")
    say(f"decided: {chosen}")
    end()
if part == "stay":
    say("working")
    update("tool_call", toolCallId="t1", title="work", kind="execute")
    assert hear()["method"] == "session/cancel"
    time.sleep(0.2)  # what it still has to do takes a moment
    update("tool_call_update", toolCallId="t1", status="failed", rawOutput="stopped")
    end("cancelled")
if part == "stubborn":
    say("working")
    update("tool_call", toolCallId="t1", title="work", kind="execute")
    while True:
        time.sleep(60)
