"""The tool calls of a run: which are open, ids that no two share, names. Pure.

The dialog and the live session show the same calls by the same ids and names, since
both keep their books here.
"""

from __future__ import annotations

from collections import deque

from agent_wrap.jsonvalue import clean_text
from agent_wrap.limits import LONGEST_NAME
from agent_wrap.newest import Newest

REMEMBERED = 10_000
"""Calls whose names their sub-agents' calls may still be named after."""


class OpenTool:
    """A call that still waits for its result: the agent's id, ours, its name."""

    __slots__ = ("id", "name", "native_id")

    def __init__(self, native_id: str, tool_id: str, name: str) -> None:
        self.native_id = native_id
        self.id = tool_id
        self.name = name


class Tools:
    """Open calls; `len` is how many there are."""

    def __init__(self) -> None:
        self._open: dict[str, deque[OpenTool]] = {}
        self._used: dict[str, int] = {}
        self._names: Newest[str, str] = Newest(REMEMBERED)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def start(self, native_id: str, name: str, parent: str) -> OpenTool:
        """Open a call; a sub-agent's is named after the call that began it."""
        name = clean_text(name) or "tool"
        if parent and parent in self._names:
            name = f"{self._names[parent]}/{name}"
        name = name[:LONGEST_NAME]
        self._names.add(native_id, name)
        wanted = clean_text(native_id)[:LONGEST_NAME] or f"tool-{len(self._used) + 1}"
        return self._open_one(
            OpenTool(native_id, take_unused(wanted, self._used), name)
        )

    def reopen(self, tool_id: str, name: str) -> None:
        """Open a call known by our id: of an earlier life, or closed in vain."""
        self._used.setdefault(tool_id, 1)
        self._open_one(OpenTool(tool_id, tool_id, name))

    def current(self, native_id: str) -> str:
        """Give our id of an open call; empty when there is none."""
        same = self._open.get(native_id)
        return same[-1].id if same else ""

    def finish(self, native_id: str) -> OpenTool | None:
        """Close a call, the oldest of its id; None for one that never began."""
        same = self._open.get(native_id)
        if not same:
            return None
        tool = same.popleft()
        self._count -= 1
        if not same:
            del self._open[native_id]
        return tool

    def finish_all(self) -> list[OpenTool]:
        """Close all that are open; give them."""
        tools = self.all_open()
        self._open.clear()
        self._count = 0
        return tools

    def all_open(self) -> list[OpenTool]:
        """Give all that are open, those of one id together, the oldest first."""
        return [tool for same in self._open.values() for tool in same]

    def forget(self, tool_id: str) -> None:
        """Forget a call whose start nobody will see: its result has no place."""
        kept = [tool for tool in self.finish_all() if tool.id != tool_id]
        for tool in kept:
            self._open_one(tool)

    def _open_one(self, tool: OpenTool) -> OpenTool:
        self._open.setdefault(tool.native_id, deque()).append(tool)
        self._count += 1
        return tool


def take_unused(wanted: str, used: dict[str, int]) -> str:
    """Give the id, or its first `#2`, `#3`, ... that is not used; from now on it is.

    Of an id that has come twice, pages would hide all starts once one has ended.
    `used` holds the last number that was tried of each: an agent that repeats one
    thousands of times costs no more than one that does not.
    """
    unique, use = wanted, used.get(wanted, 1)
    while unique in used:
        use += 1
        unique = f"{wanted}#{use}"
    used[wanted] = use
    used[unique] = used.get(unique, 1)
    return unique
