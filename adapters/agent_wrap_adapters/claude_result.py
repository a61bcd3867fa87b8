"""Claude Code's `result` lines: how the run ended, and what it used in all.

There can be several in one process: one for each message of the user, one for each
background task that ends. Each tells the totals up to then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_wrap.events import Event, RunFinished, Usage
from agent_wrap.shapes import get_count, get_dict, get_number, get_text
from agent_wrap_adapters.stream_json import usage_of

_DIAGNOSTIC = "[ede_diagnostic]"


class Results:
    """Adds the results of one process up.

    `said` is what the agent last said in the model's or the user's name: the cause
    of an error that the result itself does not name.
    """

    def __init__(self) -> None:
        self.said = ""
        self._last: dict[str, Any] = {}
        self._turns = 0
        self._deltas: Usage | None = None
        self._usage = Usage(scope="total")

    def read(self, event: dict[str, Any]) -> Iterator[Event]:
        """Read one result. `is_error` stands above a subtype of `success`."""
        if event == self._last:  # printed twice
            return
        self._last = event
        subtype = get_text(event, "subtype")
        ok = subtype == "success" and not event.get("is_error")
        message = "" if ok else failure(event, self.said)
        self.said = ""
        self._turns += get_count(event, "num_turns")
        yield RunFinished(
            ok,
            message,
            reason=get_text(event, "terminal_reason") or subtype,
            totals=self._totals(event),
            turns=self._turns or None,
        )

    def _totals(self, event: dict[str, Any]) -> Usage | None:
        """Give the best total there is; None rather than zero.

        `modelUsage` counts over the process and, resumed, over the session before
        it; what was added since the last result is exact where it is told. `usage`
        knows neither sub-agents nor the call that broke a budget.
        """
        cost = get_number(event, "total_cost_usd")
        self._usage = _add(self._usage, usage_of(get_dict(event, "usage"), ""), cost)
        if isinstance(event.get("model_usage_since_last_result"), dict):
            delta = _of_models(get_dict(event, "model_usage_since_last_result"))
            self._deltas = _add(self._deltas or Usage(), delta)
        best = self._deltas or _of_models(get_dict(event, "modelUsage"), cost)
        for total in (best, self._usage):
            if total.tokens_in or total.output:
                return total
        return None


def failure(event: dict[str, Any], said: str) -> str:
    """Say in words for people why a run failed."""
    errors = event.get("errors")
    texts = [str(e) for e in errors if e] if isinstance(errors, list) else []
    useful = [text for text in texts if not text.startswith(_DIAGNOSTIC)]
    subtype, reason = get_text(event, "subtype"), get_text(event, "terminal_reason")
    fallback = ": ".join(dict.fromkeys(filter(None, (subtype, reason))))
    result = get_text(event, "result")
    if result and subtype.startswith("error_max"):  # the last words before a limit
        result = f"{subtype}: {result}"
    text = (useful or [""])[0] or result or said or fallback
    status = get_count(event, "api_error_status")
    if status and str(status) not in text:
        return f"{text} (API status {status})"
    return text


def _of_models(models: dict[str, Any], cost: float | None = None) -> Usage:
    """Add up what the models used, sub-agents included."""
    total = Usage(scope="total")
    for name in models:
        used = get_dict(models, name)
        one = Usage(
            input=get_count(used, "inputTokens"),
            cached=get_count(used, "cacheReadInputTokens"),
            cache_written=get_count(used, "cacheCreationInputTokens"),
            output=get_count(used, "outputTokens"),
            reasoning=get_count(used, "thinkingTokens"),
            cost=get_number(used, "costUSD"),
        )
        total = _add(total, one)
    return total if cost is None else _add(total, Usage(), cost)


def _add(a: Usage, b: Usage, cost: float | None = None) -> Usage:
    """Add two figures up; a given `cost` stands above the sum."""
    costs = [c for c in (a.cost, b.cost) if c is not None]
    return Usage(
        input=a.input + b.input,
        cached=a.cached + b.cached,
        cache_written=a.cache_written + b.cache_written,
        output=a.output + b.output,
        reasoning=a.reasoning + b.reasoning,
        cost=cost if cost is not None else (sum(costs) if costs else None),
        scope="total",
    )
