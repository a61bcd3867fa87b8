"""An agent that writes its own dialog: `DialogWriter` in a real agent loop.

On its own it writes `$SSE_ARCHIVE/dialog.jsonl`. Under agent-wrap the same entries go
to stdout, where the adapter `dialog` checks and numbers them:

    .venv/bin/python examples/my_agent.py
    .venv/bin/agent-wrap -- .venv/bin/python examples/my_agent.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from agent_wrap import DialogWriter


@dataclass
class Answer:
    """What a model gives back; a real agent asks one over the network."""

    text: str
    tokens_in: int
    tokens_out: int
    tool: list[str] | None = None


SCRIPT = [
    Answer("I look at what Python this is.", 310, 22, [sys.executable, "--version"]),
    Answer("Now something that fails.", 365, 31, [sys.executable, "-c", "1 / 0"]),
    Answer("The division by zero failed, as expected.", 590, 17),
]


def main() -> None:
    """Work through the script; the dialog is complete whatever happens."""
    with DialogWriter() as dialog:
        dialog.init(
            task="example",
            cwd=os.getcwd(),
            model=os.environ.get("SSE_MODEL_NAME", "scripted"),
            agent="my-agent",
        )
        dialog.prompt("Find out which Python this is, then divide by zero.")
        dialog.thinking("Two commands should do.")
        for number, answer in enumerate(SCRIPT):
            dialog.message(answer.text, answer.tokens_in, answer.tokens_out)
            if answer.tool:
                use_tool(dialog, f"call-{number}", answer.tool)


def use_tool(dialog: DialogWriter, tool_id: str, command: list[str]) -> None:
    """Run a command between the two entries of its tool call."""
    dialog.tool_start(tool_id, "bash", {"command": command})
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        dialog.tool_result(tool_id, error=done.stderr)
    else:
        dialog.tool_result(tool_id, result=done.stdout)


if __name__ == "__main__":
    main()
