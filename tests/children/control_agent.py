"""A small agent that is asked and asks over stdin and stdout, in Claude Code's protocol.

ask       asks whether it may run a tool, and says what was decided
pair      asks for two tools at once
question  asks two questions, and says what was answered
form      asks for a form, and says what came back
link      asks to visit a page, and says what came back
resume    says which session it was told to go on with
die       asks, and dies when a file (its second word) is there
prompted  plays the part that its prompt names, with the prompt's other words
late      ends well, and asks once more while a background task runs
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

part, *words = sys.argv[1:]
QUESTIONS = [
    {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "red"}, {"label": "blue", "description": "as the sky"}],
        "multiSelect": False,
    },
    {"question": "Which size?", "header": "Size", "options": [], "multiSelect": True},
]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def line(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    block = {"type": "text", "text": text}
    message = {"id": f"m-{text[:20]}", "role": "assistant", "content": [block]}
    line({"type": "assistant", "session_id": "s-1", "message": message})


def use(tool: str, name: str = "Bash") -> None:
    block = {"type": "tool_use", "id": tool, "name": name, "input": {"command": "make"}}
    message = {"id": f"m-{tool}", "role": "assistant", "content": [block]}
    line({"type": "assistant", "session_id": "s-1", "message": message})


def used(tool: str, text: str, *, failed: bool = False) -> None:
    block = {"type": "tool_result", "tool_use_id": tool, "content": text}
    message = {"role": "user", "content": [{**block, "is_error": failed}]}
    line({"type": "user", "session_id": "s-1", "message": message})


def ask(name: str, **request: Any) -> None:
    line({"type": "control_request", "request_id": name, "request": request})


def permission(name: str, tool: str, what: str = "Bash", **given: Any) -> None:
    asked = {"tool_name": what, "input": given, "tool_use_id": tool}
    ask(name, subtype="can_use_tool", **asked)


def hear() -> dict[str, Any]:
    text = sys.stdin.readline()
    if not text:
        sys.exit(9)  # the end of the input came before it was expected
    message: dict[str, Any] = json.loads(text)
    return message


def answered() -> tuple[str, dict[str, Any]]:
    while (told := hear())["type"] != "control_response":
        if told.get("request", {}).get("subtype") == "interrupt":
            end(failed=True)
            sys.exit(0)
    return told["response"]["request_id"], told["response"]["response"]


def end(text: str = "done", *, failed: bool = False) -> None:
    subtype = "error_during_execution" if failed else "success"
    line({"type": "result", "subtype": subtype, "is_error": failed, "result": text})


assert hear()["request"]["subtype"] == "initialize"
prompt = hear()["message"]["content"][0]["text"]
if part == "prompted":
    part, *words = prompt.split()
line(
    {
        "type": "system",
        "subtype": "init",
        "session_id": "s-1",
        "model": "scripted-model",
        "cwd": os.getcwd(),
        "tools": [],
        "claude_code_version": "2.1.332",
    }
)
if part in ("ask", "pair", "die"):
    tools = ["t1", "t2"] if part == "pair" else ["t1"]
    for tool in tools:
        use(tool)
        permission(f"r-{tool}", tool, command="make")
    if part == "die":
        while not os.path.exists(words[0]):
            time.sleep(0.01)
        os._exit(3)
    for _ in tools:
        name, decided = answered()
        allowed = decided["behavior"] == "allow"
        used(
            name.removeprefix("r-"),
            "made" if allowed else "refused",
            failed=not allowed,
        )
        say(f"{name}: {decided['behavior']}")
elif part == "question":
    use("t1", "AskUserQuestion")
    permission("r-1", "t1", "AskUserQuestion", questions=QUESTIONS)
    _, decided = answered()
    said = decided.get("updatedInput", {}).get("answers")
    used("t1", "answered", failed=said is None)
    say(f"answers: {json.dumps(said)}")
elif part in ("form", "link"):
    about: dict[str, Any] = {"requested_schema": FORM}
    if part == "link":
        about = {"mode": "url", "url": "https://example.org/allow"}
    asked = {"mcp_server_name": "crm", "message": "Who are you?", **about}
    ask("e-1", subtype="elicitation", **asked)
    _, decided = answered()
    say(f"form: {json.dumps(decided, sort_keys=True)}")
elif part == "late":
    line({"type": "system", "subtype": "task_started", "task_id": "b1"})
    end("so far")
    permission("r-1", "", command="make")
    _, decided = answered()
    say(f"late: {decided['behavior']}")
    line(
        {
            "type": "system",
            "subtype": "task_notification",
            "task_id": "b1",
            "status": "completed",
        }
    )
elif part == "resume":
    at = words.index("--resume") if "--resume" in words else len(words)
    say(f"{prompt}: {' '.join(words[at : at + 2]) or 'new'}")
end()
sys.exit(8 if sys.stdin.read() else 0)
