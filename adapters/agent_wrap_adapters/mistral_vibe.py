"""Mistral Vibe: `vibe -p PROMPT --output streaming`, before and after release 2.26."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wrap import Prepared, SideFile, Surroundings
from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    SessionStarted,
    Thinking,
    TodoItem,
    TodoUpdated,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Unknown,
)
from agent_wrap.shapes import as_args, get_dict, get_dicts, get_number, get_text
from agent_wrap_adapters.argv import Options, as_stdin
from agent_wrap_adapters.chat_messages import read_answer, read_result, text_of
from agent_wrap_adapters.command_line import CommandLine
from agent_wrap_adapters.vibe_side import SAME_RELEASE, TO_SIDE, place, read

_OPTIONS = Options(
    one="--workdir --output --max-turns --max-price --max-tokens --time-limit --agent "
    "--prompt-file --output-dir --enabled-tools --disabled-tools --add-dir",
    maybe="-p --prompt --resume --worktree",
)
_HEADLESS = ("-p", "--prompt", "--prompt-file")
_FAILED = ("<tool_error>", "<user_cancellation>")
_OPEN = ("pending", "running", "blocked")
_TODO: dict[str, Any] = {"in_progress": "in_progress", "completed": "completed"}


class MistralVibe(CommandLine):
    """Reads finished items of a session; chat messages of releases before 2.26."""

    programs = frozenset({"vibe", "mistral-vibe"})
    options = _OPTIONS
    model_options = ()
    versions_checked = ("2.0.2", "2.26.1", "3.0.2")
    promises_final_event = False
    gives = (
        "text, thinking, tools once they ended (since 2.26); no model or final event; "
        "tokens and cost from a side file with "
        "--output-dir; turns are answers of the model"
    )

    def __init__(self) -> None:
        self._session = ""
        self._turn = ""
        self._settled_at: float | None = 0.0
        self._open: set[str] = set()

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        if session := get_text(event, "sessionId"):
            if session != self._session:
                self._session = session
                yield SessionStarted(session_id=session)
            yield from self._item(event)
        else:
            yield from _chat(event)

    def _item(self, item: dict[str, Any]) -> Iterator[Event]:
        kind, item_id = get_text(item, "type"), get_text(item, "id")
        outcome = get_dict(item, "outcome")
        if outcome.get("type") == "discarded":
            yield Notice(f"an answer was discarded: {get_text(outcome, 'cause')}")
        elif kind == "message" and item.get("role") == "user":
            yield Prompt(text_of(item))
        elif kind == "message" and item.get("role") == "assistant":
            yield from self._say(Message(text_of(item), item_id))
        elif kind == "reasoning":
            summary = item.get("summary")
            parts = summary if isinstance(summary, list) else []
            text = get_text(item, "text") or "\n\n".join(map(str, parts))
            yield from self._say(Thinking(text, item_id))
        elif kind == "effect":
            yield from self._effect(item, item_id)
        elif kind in ("notice", "checkpoint"):
            yield Notice(get_text(item, "message"))
        elif kind not in ("message", "callback"):
            yield Unknown(kind or "(no type)")

    def _say(self, fact: Message | Thinking) -> Iterator[Event]:
        """Give what an answer says: ids of its parts differ around a common middle."""
        if fact.text.strip():
            self._turn = fact.message_id.partition("-")[2][:36] or fact.message_id
            self._settled_at = None
            yield TurnStarted(self._turn)
            yield fact

    def _effect(self, item: dict[str, Any], item_id: str) -> Iterator[Event]:
        """Read a tool call. An answer of calls alone shows in their times only."""
        detail, state = get_dict(item, "detail"), get_dict(item, "state")
        if item_id not in self._open:
            created = get_number(item, "createdAt") or 0.0
            if self._settled_at is not None and created >= self._settled_at:
                yield TurnStarted(item_id)
            self._open.add(item_id)
            name = get_text(detail, "toolName") or get_text(item, "title")
            yield ToolStarted(item_id, name, as_args(detail.get("input")))
        if get_text(state, "status") in _OPEN:
            return
        self._open.discard(item_id)
        settled = get_number(item, "updatedAt") or 0.0
        self._settled_at = max(self._settled_at or 0.0, settled)
        ok = state.get("status") == "completed"
        ok = ok and get_dict(state, "display").get("success") is not False
        yield ToolFinished(item_id, _output(detail, state), ok)
        if detail.get("kind") == "todo" and ok:
            yield TodoUpdated(
                tuple(map(_todo, get_dicts(get_dict(state, "output"), "todos")))
            )

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the agent by fields that every line has."""
        if "generationStatus" in event:
            return "sessionId" in event and "inputEntryId" in event
        fields = ("reasoning_content", "tool_call_id", "message_id")
        return "role" in event and all(field in event for field in fields)

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask for a stream where the command runs one prompt; stdin is one as well."""
        words = list(command)
        found = cls.arguments(words)
        told = found.value("-p", "--prompt") or None
        headless, in_file = found.has(*_HEADLESS), found.has("--prompt-file")
        if headless and told is None and found.operands:
            told = found.operands[0][1]
        if found.operands and not headless:  # a session for people, or a subcommand
            return Prepared(words)
        stdin = None
        if prompt is not None and told is None and not in_file:
            stdin = as_stdin(prompt)
        added = []
        if not headless and prompt is not None:
            added.append("-p")
        if (headless or added) and not found.has("--output"):
            added.append("--output streaming")
        if found.has(*SAME_RELEASE) and not found.has("--output-dir"):
            added.append(TO_SIDE)
        words += " ".join(added).split()  # `-p` takes the next word for its prompt
        return Prepared(
            words,
            prompt=told if prompt is None else prompt,
            stdin=stdin,
            environment={"PYTHONUNBUFFERED": "1"},
            added=added,
        )

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the export of the run."""
        found = cls.arguments(ran.command)
        return place(ran, found.value("--output-dir"))

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give tokens and cost of the run."""
        return read(contents)


def _chat(message: dict[str, Any]) -> Iterator[Event]:
    """Read a line of the format before release 2.26."""
    role = get_text(message, "role")
    if role == "assistant":
        yield from read_answer(message, get_text(message, "message_id"))
    elif role == "tool":
        yield read_result(message, not text_of(message).startswith(_FAILED))
    elif role == "user":
        yield Prompt(text_of(message))
    elif role != "system":
        yield Unknown(role or "(no role)")


def _output(detail: dict[str, Any], state: dict[str, Any]) -> str:
    """Give what a tool said: it stands in another place for each kind of tool."""
    display, output = get_dict(state, "display"), get_dict(state, "output")
    text = get_text(state, "outputText")
    text = text or get_text(get_dict(state, "error"), "message")
    if detail.get("kind") == "file_read":
        text = text or get_text(output, "content")
    done = f"{get_text(display, 'verb')} {get_text(display, 'message')}".strip()
    return text or get_text(state, "reason") or done


def _todo(item: dict[str, Any]) -> TodoItem:
    status = _TODO.get(get_text(item, "status"), "pending")
    return TodoItem(get_text(item, "content"), status, get_text(item, "id"))
