"""The tools of a session: ids that no two share, names with their parents'. Pure."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from agent_wrap.dialog import take_unused
from agent_wrap.limits import LONGEST_NAME

REMEMBERED = 10_000


class Tools:
    """Gives each call an id of its own, as the dialog does."""

    def __init__(self) -> None:
        self._open: dict[str, deque[tuple[str, str]]] = {}
        self._used: set[str] = set()
        self._names: OrderedDict[str, str] = OrderedDict()

    def __bool__(self) -> bool:
        """Is any tool open?"""
        return bool(self._open)

    def start(self, native_id: str, name: str, parent: str) -> tuple[str, str]:
        """Open a call; give its (id, name)."""
        name = name or "tool"
        if parent and parent in self._names:
            name = f"{self._names[parent]}/{name}"
        name = name[:LONGEST_NAME]
        self._names[native_id] = name
        if len(self._names) > REMEMBERED:
            self._names.popitem(last=False)
        tool = (self._unique(native_id), name)
        self._open.setdefault(native_id, deque()).append(tool)
        return tool

    def current(self, native_id: str) -> str:
        """Give the id of an open call; empty when there is none."""
        same = self._open.get(native_id)
        return same[-1][0] if same else ""

    def finish(self, native_id: str) -> tuple[str, str] | None:
        """Close a call; give its (id, name), or None for one that never began."""
        same = self._open.get(native_id)
        if not same:
            return None
        tool = same.popleft()
        if not same:
            del self._open[native_id]
        return tool

    def finish_all(self) -> Iterator[tuple[str, str]]:
        """Close all that are open, oldest first."""
        opened, self._open = self._open, {}
        for same in opened.values():
            yield from same

    def recall(self, tool_id: str, name: str) -> None:
        """Open a call of an earlier life."""
        self._used.add(tool_id)
        self._open.setdefault(tool_id, deque()).append((tool_id, name))

    def _unique(self, native_id: str) -> str:
        wanted = native_id[:LONGEST_NAME] or f"tool-{len(self._used) + 1}"
        return take_unused(wanted, self._used)
