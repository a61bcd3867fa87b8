"""Any program that prints text: its output is what the assistant says."""

from __future__ import annotations

from collections.abc import Iterator

from agent_wrap import Adapter
from agent_wrap.events import Event, Message, TextDelta, TurnStarted
from agent_wrap.shapes import strip_terminal

_LIMIT = 64 * 1024
_FENCES = ("```", "~~~")


class Plain(Adapter):
    """Groups lines into paragraphs; each is a message, all of them are one turn."""

    reads = "text"
    promises_final_event = False
    gives = "text only, a message a paragraph; one turn, no tools, no tokens"

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._messages = 0
        self._fence = ""

    def feed_text(self, line: str) -> Iterator[Event]:
        """Take a line; a blank one ends the paragraph, but not inside a code fence."""
        text = last_state(strip_terminal(line))
        if not text.strip():
            if self._fence and self._lines:
                self._lines.append("")
            else:
                yield from self._flush()
            return
        if not self._messages:
            yield TurnStarted("output")
            self._messages = 1
        self._toggle_fence(text.lstrip())
        self._lines.append(text)
        self._size += len(text) + 1
        yield TextDelta(text + "\n", self._message_id)
        if self._size >= _LIMIT:
            yield from self._flush()

    def pause(self) -> Iterator[Event]:
        """Give the paragraph as far as it came: who reads along need not wait."""
        return self._flush()

    def close(self) -> Iterator[Event]:
        """Give the last paragraph."""
        return self._flush()

    @property
    def _message_id(self) -> str:
        return f"text-{self._messages}"

    def _toggle_fence(self, text: str) -> None:
        if self._fence:
            if text.startswith(self._fence):
                self._fence = ""
        elif text.startswith(_FENCES):
            self._fence = text[:3]

    def _flush(self) -> Iterator[Event]:
        text = "\n".join(self._lines).rstrip()
        if text:
            yield Message(text, self._message_id)
            self._messages += 1
        self._lines.clear()
        self._size = 0


def last_state(line: str) -> str:
    """Give what a terminal shows of a line that a progress bar has rewritten."""
    if "\r" not in line:
        return line
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1] if states else ""
