"""The agents under test: each one's command, and how it tells what the model did.

Owns what differs between them; `test_every_agent.py` owns what holds for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .harness import Outcome

PROMPT = "Please do the scripted thing."


def endings(shell: str) -> dict[str, Outcome]:
    """What the dialog says of each scenario, with the agent's name for its shell."""
    ran = ["I will run echo.", "The command printed a greeting."]
    both = ["Two commands at once.", "Both are done."]
    failed = ["The command failed."]
    good, bad = (shell, "success"), (shell, "error")
    return {
        "text": Outcome("success", 0, 1, (1000, 100), ["The answer is 42."]),
        "tool_ok": Outcome("success", 0, 2, (2001, 201), ran, [good]),
        "tool_fail": Outcome("success", 0, 2, (2001, 201), failed, [bad]),
        "parallel": Outcome("success", 0, 2, (2001, 201), both, [good, good]),
        # It may exit 0 then: the stream tells.
        "err401": Outcome("error", 1, 0, (0, 0), []),
    }


@dataclass(frozen=True)
class Agent:
    """One way to start an agent, and what is to be seen of it then."""

    name: str
    """Its adapter's."""
    fixture: str
    """What prepares its place (conftest.py)."""
    command: tuple[str, ...]
    """With the prompt in it."""
    models: tuple[str, ...]
    """What `init` may name."""
    refusal: str
    """What the end says when the model's service does not take the key."""
    endings: dict[str, Outcome]
    spent: tuple[int, int] = (1000, 100)
    """Tokens that are known of when it is cut off in its first tool."""
    variables: dict[str, str] = field(default_factory=dict)
    """What tells the wrapper the model, where the command does not."""
    flags: tuple[str, ...] = ()
    """What was added to its command."""

    def __str__(self) -> str:
        return " ".join((self.name, *self.flags[-1:]))

    @property
    def unprompted(self) -> tuple[str, ...]:
        """The command without its prompt."""
        return tuple(word for word in self.command if word != PROMPT)

    def with_flags(self, *flags: str, spent: tuple[int, int]) -> Agent:
        """The same agent with more flags, that change what is known when it is cut."""
        command = (*self.command, *flags)
        return replace(self, command=command, flags=flags, spent=spent)

    def cut_off(self, status: str, code: int) -> Outcome:
        """What the dialog says of an end from outside, in its first tool."""
        ((shell, _),) = self.endings["tool_fail"].tools
        said = ["A long command now."]
        return Outcome(status, code, 1, self.spent, said, [(shell, "error")])


CLAUDE_CODE = Agent(
    "claude-code",
    "claude_code",
    (
        *("claude", "-p", PROMPT),
        *("--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"),
    ),
    models=("claude-sonnet-4-5",),
    refusal="Invalid API key",
    endings={
        **endings("Bash"),
        # The sub-agent's two calls (500 and 501 in, 50 and 51 out) are in its totals,
        # its turns and its text are not the main assistant's.
        "subagent": Outcome(
            "success",
            0,
            2,
            (3002, 302),
            ["I delegate.", "The sub-agent counted."],
            [("Agent", "success"), ("Agent/Bash", "success")],
        ),
    },
)

CODEX = Agent(
    "codex",
    "codex",
    (
        *("codex", "exec", "--json", "--skip-git-repo-check"),
        *("--dangerously-bypass-approvals-and-sandbox", PROMPT),
    ),
    # Its stream names no model.
    models=("unknown",),
    variables={"SSE_MODEL_NAME": "gpt-5.5"},
    refusal="invalid x-api-key",
    # Its stream does not show the calls of the model: turns are the texts it said.
    endings={
        **endings("bash"),
        "tool_fail": Outcome(
            "success", 0, 1, (2001, 201), ["The command failed."], [("bash", "error")]
        ),
    },
    # Usage comes with the end of a turn only: nothing is known of a broken one.
    spent=(0, 0),
)

COPILOT = Agent(
    "copilot-cli",
    "copilot",
    ("copilot", "--allow-all-tools", "--disable-builtin-mcps", "-p", PROMPT),
    # Slow to start, its model is known from the environment.
    models=("scripted",),
    refusal="Authentication failed",
    # Its stdout has no tokens: they are read from the files that it leaves beside,
    # which also have those of the answer that was given when it is cut off.
    endings=endings("bash"),
)

PI = Agent(
    "pi",
    "pi",
    ("pi", "--provider", "scripted", "--model", "scripted", "-p", PROMPT),
    models=("scripted",),
    refusal="invalid x-api-key",
    endings=endings("bash"),
)

EVERY = (CLAUDE_CODE, CODEX, COPILOT, PI)
