"""How each agent is told to go on with a session of its own."""

from __future__ import annotations

import pytest

from agent_wrap import registry

WAYS = {
    "claude -p": "claude --resume ID -p",
    "npx @anthropic-ai/claude-code -p": "npx @anthropic-ai/claude-code --resume ID -p",
    "claude -p --input-format stream-json": (
        "claude --resume ID -p --input-format stream-json"
    ),
    "codex exec": "codex exec resume ID",
    "codex exec -s read-only": "codex exec -s read-only resume ID",
    "codex exec {prompt}": "codex exec resume ID {prompt}",
    "codex -m x exec --json {prompt} -C /w": (
        "codex -m x exec --json -C /w resume ID {prompt}"
    ),
    "codex exec -- {prompt}": "codex exec resume ID {prompt}",
    "codex app-server": "codex app-server",
    "copilot -p {prompt}": "copilot --resume ID -p {prompt}",
    "copilot --acp": "copilot --acp",
    "gemini --yolo": "gemini --resume ID --yolo",
    "qwen {prompt}": "qwen --resume ID {prompt}",
    "opencode run {prompt}": "opencode run --session ID {prompt}",
    "opencode acp": "opencode acp",
    "pi -p": "pi --session ID -p",
    "kimi -p {prompt}": "kimi --session ID -p {prompt}",
    "vibe -p {prompt}": "vibe --resume ID -p {prompt}",
    "cursor-agent -p {prompt}": "cursor-agent --resume ID -p {prompt}",
    "droid exec {prompt}": "droid exec --session-id ID {prompt}",
    "openhands --headless -t {prompt}": "openhands --resume ID --headless -t {prompt}",
}
"""The command, and the command that goes on."""

NO_WAY = (
    *("claude --continue -p", "claude -r x -p", "codex exec resume x hello"),
    *("codex exec review", "codex login", "gemini -r latest", "opencode models"),
    *("pi --session x", "kimi --print -p x", "aider", "goose run", "amp -x"),
)


def going_on(command: str) -> str | None:
    words = command.split()
    entry = registry.by_program(words)
    assert entry is not None
    found = entry.load().resume(words, "ID")
    return None if found is None else " ".join(found)


@pytest.mark.parametrize("command", WAYS)
def test_the_command_that_goes_on(command: str) -> None:
    assert going_on(command) == WAYS[command]


@pytest.mark.parametrize("command", NO_WAY)
def test_another_job_or_a_session_of_its_own_choice(command: str) -> None:
    assert going_on(command) is None
