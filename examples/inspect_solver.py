"""An Inspect AI solver: any command-line agent, run by agent-wrap inside the sandbox.

One task with it, in Inspect's own local sandbox and with its mock model, from the
repository's root:

    python3 -m venv .venv-inspect && .venv-inspect/bin/pip install . inspect-ai && \
    PATH=$PWD/.venv-inspect/bin:$PATH inspect eval examples/inspect_solver.py \
      --model mockllm/model --display plain

The sample's transcript then has the agent's messages and tool calls, its metadata the
run's summary. In a container's sandbox agent-wrap must be on PATH: the single-file
build (docs/harnesses.md) needs nothing else there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ContentReasoning,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolCallError
from inspect_ai.util import sandbox

ARCHIVE = ".agent-wrap"
AGENT = [*("sh", "-c"), "echo Done; echo hello > hello.txt"]


@solver
def agent_wrap(command: Sequence[str], flags: Sequence[str] = ()) -> Solver:
    """Run `command` on the sample's input; `flags` are options of agent-wrap."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = sandbox()
        own = ["--archive", ARCHIVE, "--echo", "none", "--prompt-file", "-"]
        done = await box.exec(
            ["agent-wrap", *own, *flags, "--", *command], input=state.input_text
        )
        try:
            dialog = await box.read_file(f"{ARCHIVE}/dialog.jsonl")
            summary = json.loads(await box.read_file(f"{ARCHIVE}/summary.json"))
        except FileNotFoundError:  # it could not start: wrong options, no archive
            raise RuntimeError(f"agent-wrap: {done.stderr}") from None
        entries = [json.loads(line) for line in dialog.splitlines()]
        state.messages.extend(messages(entries))
        state.output = output(entries, summary)
        state.metadata["agent_wrap"] = summary
        return state

    return solve


def messages(entries: list[dict[str, Any]]) -> Iterator[ChatMessage]:
    """Give the entries of a dialog as messages of a chat."""
    for entry in entries:
        kind = entry["type"]
        if kind == "message" and entry["role"] == "assistant":
            yield ChatMessageAssistant(content=entry["content"], source="generate")
        elif kind == "thinking":
            reasoning = ContentReasoning(reasoning=entry["content"])
            yield ChatMessageAssistant(content=[reasoning], source="generate")
        elif kind == "tool" and entry["status"] == "running":
            call = ToolCall(entry["tool_id"], entry["name"], entry["args"])
            yield ChatMessageAssistant(content="", tool_calls=[call])
        elif kind == "tool":
            failed = entry["status"] == "error"
            said = entry.get("error" if failed else "result", "")
            yield ChatMessageTool(
                content=said,
                tool_call_id=entry["tool_id"],
                function=entry["name"],
                error=ToolCallError("unknown", said) if failed else None,
            )


def output(entries: list[dict[str, Any]], summary: dict[str, Any]) -> ModelOutput:
    """Give the last thing that the agent said, and what the run used."""
    said = [entry["content"] for entry in entries if entry["type"] == "message"]
    made = ModelOutput.from_content(summary["model"], said[-1] if said else "")
    tokens = summary["tokens"]
    made.usage = ModelUsage(
        input_tokens=tokens["input"],
        output_tokens=tokens["out"],
        total_tokens=tokens["in"] + tokens["out"],
        input_tokens_cache_read=tokens["cached"],
        input_tokens_cache_write=tokens["cache_written"],
        reasoning_tokens=tokens["reasoning"],
    )
    made.error = summary["message"] if summary["status"] != "success" else None
    return made


@scorer(metrics=[accuracy()])
def the_file_says_it() -> Scorer:
    """Compare what the agent left in hello.txt with the sample's target."""

    async def score(state: TaskState, target: Target) -> Score:
        found = await sandbox().exec(["cat", "hello.txt"])
        return Score(value=found.stdout.strip() == target.text, answer=found.stdout)

    return score


@task
def hello(command: list[str] = AGENT) -> Task:
    """One sample: the word hello, in a file."""
    asked = 'Write the word "hello" into the file hello.txt.'
    return Task(
        dataset=[Sample(input=asked, target="hello")],
        solver=agent_wrap(command),
        scorer=the_file_says_it(),
        sandbox="local",
    )
