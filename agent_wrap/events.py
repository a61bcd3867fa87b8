"""The vocabulary of facts: what an adapter can say that an agent did.

Everything that the product writes (dialog, live stream, summary, exports) is a
projection of these events; a projection ignores what it has no place for.
Content nouns name content, past participles name what happened.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, TypeAlias

from agent_wrap.values import value

TaskStatus = Literal["running", "completed", "failed", "stopped"]


@value
class SessionStarted:
    """The agent began, or woke up (see `RunResumed`). Empty fields are unknown."""

    session_id: str = ""
    model: str = ""
    cwd: str = ""
    agent: str = ""
    agent_version: str = ""
    task: str = ""


@value
class Prompt:
    """What the agent was asked, as its stream tells it."""

    text: str


@value
class TurnStarted:
    """A new answer of the model in the main conversation; `id` is unique to it."""

    id: str


@value
class Message:
    """Text that the main assistant said, whole."""

    text: str
    message_id: str = ""


@value
class Thinking:
    """Reasoning of the main assistant, whole."""

    text: str
    message_id: str = ""


@value
class TextDelta:
    """A piece of a message that will come whole later."""

    text: str
    message_id: str = ""


@value
class ThinkingDelta:
    """A piece of reasoning; empty: the model reasons but does not show it."""

    text: str
    message_id: str = ""


@value
class ToolStarted:
    """A tool call began. `parent` is the id of the tool whose sub-agent makes it."""

    id: str
    name: str
    args: dict[str, Any] | None = None
    parent: str = ""


@value
class ToolProgress:
    """Output of a tool that is still running."""

    id: str
    text: str


@value
class ToolFinished:
    """A tool call ended; `ok` is the agent's own flag, or false for a failed exit."""

    id: str
    output: str
    ok: bool = True


@value
class Usage:
    """Tokens and cost of one answer, or of the run so far.

    What the model read is `input` (uncached) + `cached` + `cache_written`; what it
    wrote is `output`, of which `reasoning` is a part. `cost` is in US dollars.
    `scope` says what is counted: `message` counts once per `message_id`, the last
    value wins; `total` replaces the total told before. `final` is false while the
    agent may still correct the figure.
    """

    input: int = 0
    cached: int = 0
    cache_written: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None
    message_id: str = ""
    scope: Literal["message", "total"] = "message"
    final: bool = True

    @property
    def tokens_in(self) -> int:
        """Everything the model read."""
        return self.input + self.cached + self.cache_written


@value
class Retracted:
    """The agent threw these answers away and asks the model again."""

    message_ids: tuple[str, ...]


@value
class TodoItem:
    """One line of the agent's plan."""

    text: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    id: str = ""


@value
class TodoUpdated:
    """The agent's plan as it stands now."""

    items: tuple[TodoItem, ...]


@value
class SubagentUpdated:
    """A background task (sub-agent, background command) changed its state."""

    id: str
    status: TaskStatus
    description: str = ""
    tool_uses: int | None = None
    summary: str = ""


@value
class HookUpdated:
    """A hook of the agent ran."""

    id: str
    status: Literal["running", "completed", "failed"]
    name: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None


@value
class MemoryRecalled:
    """The agent took memories into the conversation."""

    mode: str
    memories: tuple[str, ...]


@value
class ApprovalAsked:
    """The agent waits for permission to run a tool."""

    id: str
    tool_name: str
    args: dict[str, Any] = field(default_factory=dict)
    tool_id: str = ""


@value
class QuestionAsked:
    """The agent waits for a person to answer questions."""

    id: str
    questions: tuple[dict[str, Any], ...] = ()
    tool_id: str = ""


@value
class ElicitationAsked:
    """The agent waits for a form to be filled in, or a page to be visited (MCP)."""

    id: str
    server: str
    message: str
    schema: dict[str, Any] = field(default_factory=dict)
    url: str = ""


@value
class InteractionResolved:
    """What was asked is answered, or no longer waits."""

    id: str
    resolution: Literal["approved", "denied", "answered", "cancelled"]


@value
class Notice:
    """Something the agent said about itself: a warning, a retry. No progress."""

    text: str


@value
class Unparsed:
    """A line that could not be read, or an adapter that failed on one."""

    line: bytes
    reason: str


@value
class Unknown:
    """A native event whose type the adapter does not know."""

    type: str


@value
class Send:
    """Bytes that go to the agent's standard input (two-way agents)."""

    data: bytes


@value
class RunFinished:
    """The agent's own account of how its run ended.

    `reason` is the agent's word (`max_turns`, `aborted_tools`, ...). `totals` and
    `turns` are its own figures where it gives them.
    """

    ok: bool
    message: str = ""
    reason: str = ""
    totals: Usage | None = None
    turns: int | None = None


@value
class RunResumed:
    """The agent works on after its own end: what it said of its end no longer holds."""


Event: TypeAlias = (
    SessionStarted
    | Prompt
    | TurnStarted
    | Message
    | Thinking
    | TextDelta
    | ThinkingDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Usage
    | Retracted
    | TodoUpdated
    | SubagentUpdated
    | HookUpdated
    | MemoryRecalled
    | ApprovalAsked
    | QuestionAsked
    | ElicitationAsked
    | InteractionResolved
    | Notice
    | Unparsed
    | Unknown
    | Send
    | RunFinished
    | RunResumed
)

PROGRESS: tuple[type[Event], ...] = (
    SessionStarted,
    TurnStarted,
    Message,
    Thinking,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    ToolProgress,
    ToolFinished,
    TodoUpdated,
    SubagentUpdated,
    ApprovalAsked,
    QuestionAsked,
    ElicitationAsked,
    InteractionResolved,
    RunFinished,
)
"""The events that show the agent getting on; keep-alives, retries and noise do not."""
