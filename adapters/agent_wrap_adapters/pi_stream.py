"""What Pi prints with `--mode json`.

`agent_end` comes after every attempt and every prompt: the last one counts. Newer
versions say `agent_settled` when nothing more will come. Failed runs exit 0 as well,
so the last answer's own word decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import (
    Event,
    Notice,
    RunFinished,
    RunResumed,
    SessionStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from agent_wrap.shapes import as_args, get_count, get_dict, get_text
from agent_wrap_adapters.content import flatten
from agent_wrap_adapters.pi_answers import Answers, usage_of
from agent_wrap_adapters.reading import ByType


class PiStream(ByType):
    """Reads the lines of one process."""

    silent = frozenset(
        {
            "entry_appended",
            "queue_update",
            "session_info_changed",
            "summarization_retry_attempt_start",
            "summarization_retry_finished",
            "summarization_retry_scheduled",
            "thinking_level_changed",
            "turn_end",
            "turn_start",
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self._answers = Answers()
        self._end_told = self._ended_before = False
        self._compactions = 0
        self._shown: dict[str, str] = {}
        self.types = {
            "session": _session,
            "message_start": self._answers.started,
            "message_update": self._answers.updated,
            "message_end": self._answers.ended,
            "tool_execution_start": _tool_started,
            "tool_execution_update": self._tool_updated,
            "tool_execution_end": self._tool_ended,
            "agent_start": self._goes_on,
            "agent_end": self._agent_end,
            "agent_settled": self._agent_settled,
            "auto_retry_start": self._retry,
            "auto_retry_end": self._retry_end,
            "compaction_start": self._compacts,
            "compaction_end": self._compacted,
        }

    def close(self) -> Iterator[Event]:
        """Give what was still being said when the stream ended."""
        return self._answers.close()

    def _ends(self) -> Iterator[Event]:
        self._end_told = True
        yield self._answers.end

    def _goes_on(self, event: dict[str, Any]) -> Iterator[Event]:
        """Take an end back that was told: a retry, a compaction, the next prompt."""
        if self._end_told:
            self._end_told = False
            yield RunResumed()

    def _agent_end(self, event: dict[str, Any]) -> Iterator[Event]:
        if event.get("willRetry") is not True:
            yield from self._ends()

    def _agent_settled(self, event: dict[str, Any]) -> Iterator[Event]:
        yield from self._answers.release()
        if event.get("aborted") is True and self._answers.end.ok:
            self._answers.end = RunFinished(False, "the run was aborted", "aborted")
        yield from self._ends()

    def _retry(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read that the model is asked again: its failed answer is thrown away."""
        self._answers.failed.clear()
        yield from self._goes_on(event)
        attempt, limit = get_count(event, "attempt"), get_count(event, "maxAttempts")
        cause = get_text(event, "errorMessage")
        yield Notice(f"API retry {attempt} of {limit}: {cause}")

    def _retry_end(self, event: dict[str, Any]) -> Iterator[Event]:
        if event.get("success") is False:
            yield from self._answers.release()
            cause = get_text(event, "finalError") or self._answers.end.message
            self._answers.end = RunFinished(False, cause, "error")
            yield from self._ends()

    def _compacts(self, event: dict[str, Any]) -> Iterator[Event]:
        self._ended_before = self._end_told
        yield from self._goes_on(event)

    def _compacted(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read that the conversation was made shorter, by a call of the model."""
        self._compactions += 1
        figures = get_dict(get_dict(event, "result"), "usage")
        if figures:
            yield usage_of(figures, f"compaction-{self._compactions}")
        yield Notice(get_text(event, "errorMessage") or "context compacted")
        if self._ended_before and event.get("willRetry") is not True:
            yield from self._ends()

    def _tool_updated(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read the output so far, of which only what is new is told."""
        tool_id = get_text(event, "toolCallId")
        output = flatten(get_dict(event, "partialResult").get("content"))
        new = output.removeprefix(self._shown.get(tool_id, ""))
        self._shown[tool_id] = output
        if new:
            yield ToolProgress(tool_id, new)

    def _tool_ended(self, event: dict[str, Any]) -> Iterator[Event]:
        tool_id, result = get_text(event, "toolCallId"), get_dict(event, "result")
        self._shown.pop(tool_id, None)
        code = get_count(get_dict(result, "structuredContent"), "exit_code")
        ok = event.get("isError") is not True and not code
        yield ToolFinished(tool_id, flatten(result.get("content")), ok)


def _session(event: dict[str, Any]) -> Iterator[Event]:
    yield SessionStarted(get_text(event, "id"), cwd=get_text(event, "cwd"))


def _tool_started(event: dict[str, Any]) -> Iterator[Event]:
    name, args = get_text(event, "toolName"), as_args(event.get("args"))
    yield ToolStarted(get_text(event, "toolCallId"), name, args)
