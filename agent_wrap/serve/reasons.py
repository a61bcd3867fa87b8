"""Why a turn ended, in the words of the session protocol. Pure."""

from __future__ import annotations

KNOWN = frozenset(
    {
        *("aborted_tools", "aborted_streaming", "max_turns", "blocking_limit"),
        *("rapid_refill_breaker", "prompt_too_long", "image_error", "model_error"),
        *("stop_hook_prevented", "hook_stopped", "tool_deferred"),
    }
)
_ABORTED = ("aborted_tools", "aborted_streaming")
_LIMITS = {
    "turn_limit": "max_turns",
    "token_limit": "blocking_limit",
    "cost_limit": "blocking_limit",
}
_CATEGORIES = {"turn_limit": "max_turns", "cost_limit": "budget_exceeded"}


def terminal_reason(reason: str, agents_word: str, *, tools_open: bool) -> str:
    """Give a turn's `terminalReason` for the run's `reason` in `summary.json`.

    `agents_word` is what the agent itself called its end.
    """
    if reason == "completed":
        return "completed"
    if reason == "stopped" and agents_word in _ABORTED:
        return agents_word  # a tool that it closed itself is not open any more
    if reason == "stopped":
        return "aborted_tools" if tools_open else "aborted_streaming"
    if reason in _LIMITS:
        return _LIMITS[reason]
    word = agents_word.removeprefix("error_")
    return word if reason == "agent_error" and word in KNOWN else "error"


def category(reason: str) -> str:
    """Give the `category` of the error event for the run's `reason`."""
    return _CATEGORIES.get(reason, "execution_error")
