"""What the scripted model answers: a table, without any wire format."""

from __future__ import annotations

from dataclasses import dataclass

SUBAGENT = "SUBAGENT"
"""A conversation with this word among its user texts is a sub-agent's."""


@dataclass(frozen=True)
class Text:
    """The model says something."""

    text: str


@dataclass(frozen=True)
class Shell:
    """The model runs a command with whatever shell tool the agent has."""

    command: str
    background: bool = False


@dataclass(frozen=True)
class Delegate:
    """The model starts a sub-agent."""

    task: str


@dataclass(frozen=True)
class Await:
    """The model waits for the sub-agent that it started (Codex)."""


@dataclass(frozen=True)
class Dismiss:
    """The model ends the sub-agent that it started (Codex)."""


@dataclass(frozen=True)
class Question:
    """The model asks the person a question (Claude Code)."""

    text: str


@dataclass(frozen=True)
class Silence:
    """The model is asked and says nothing until the server stops."""


Block = Text | Shell | Delegate | Await | Dismiss | Question | Silence


@dataclass(frozen=True)
class Scenario:
    """What the model answers: reply k to the request with k assistant turns in it."""

    replies: tuple[tuple[Block, ...], ...] = ()
    sub_replies: tuple[tuple[Block, ...], ...] = ()
    error: tuple[int, str, str] | None = None


_SUB_REPLIES: tuple[tuple[Block, ...], ...] = (
    (Text("I count as the sub-agent."), Shell("echo counted-by-sub")),
    (Text("There are no files."),),
)

SCENARIOS = {
    "text": Scenario(replies=((Text("The answer is 42."),),)),
    "tool_ok": Scenario(
        replies=(
            (Text("I will run echo."), Shell("echo hello-from-tool")),
            (Text("The command printed a greeting."),),
        )
    ),
    # Reading agents allow without asking; this one changes a file.
    "asks": Scenario(
        replies=(
            (Text("I need permission."), Shell("touch made.txt && echo made-it")),
            (Text("I was answered."),),
        )
    ),
    # This one changes nothing: it works in a sandbox too.
    "asks_to_compute": Scenario(
        replies=(
            (Text("I need permission."), Shell("python3 -c 'print(6 * 7)'")),
            (Text("I was answered."),),
        )
    ),
    "asks_twice": Scenario(
        replies=(
            (Shell("touch first.txt"), Shell("touch second.txt")),
            (Text("I was answered twice."),),
        )
    ),
    "question": Scenario(
        replies=((Question("Tea or coffee?"),), (Text("Nobody answered."),))
    ),
    "background": Scenario(
        replies=(
            (Shell("touch early.txt; sleep 2; echo late", background=True),),
            (Text("It runs on."),),
            (Shell("touch woken.txt"),),
            (Text("It has ended."),),
        )
    ),
    "server": Scenario(
        replies=(
            (Shell("touch up.txt; sleep 500", background=True),),
            (Text("It serves."),),
        )
    ),
    "tool_fail": Scenario(
        replies=(
            (Shell("echo out-before; echo err-before >&2; exit 1"),),
            (Text("The command failed."),),
        )
    ),
    "parallel": Scenario(
        replies=(
            (
                Text("Two commands at once."),
                Shell("echo first; sleep 0.5"),
                Shell("echo second"),
            ),
            (Text("Both are done."),),
        )
    ),
    "subagent": Scenario(
        replies=(
            (Text("I delegate."), Delegate(f"{SUBAGENT}: count the files here")),
            (Text("The sub-agent counted."),),
        ),
        sub_replies=_SUB_REPLIES,
    ),
    "subagent_awaited": Scenario(
        replies=(
            (Text("I delegate."), Delegate(f"{SUBAGENT}: count the files here")),
            (Await(),),
            (Dismiss(),),
            (Text("The sub-agent counted."),),
        ),
        sub_replies=_SUB_REPLIES,
    ),
    "err401": Scenario(error=(401, "authentication_error", "invalid x-api-key")),
    "long_tool": Scenario(
        replies=(
            (Text("A long command now."), Shell("echo started; sleep 60; echo over")),
            # An agent that is told to stop may kill the tool and ask once more.
            (Silence(),),
        )
    ),
    "late_answer": Scenario(
        replies=(
            (Text("A long command now."), Shell("echo started; sleep 60; echo over")),
            (Text("It was killed, but all is well."),),
        )
    ),
}
