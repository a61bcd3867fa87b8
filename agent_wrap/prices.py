"""What tokens cost where the agent does not say: a small dated table. Pure.

Only `--max-cost` asks it. The table is prices.json beside this file, or the one that
`--prices` names; a model that is not in it has no price, and none is guessed.
"""

from __future__ import annotations

import json

from agent_wrap.accounting import Tokens
from agent_wrap.errors import UsageError

FORM = (
    '{"as_of": "2026-01", "models": {"NAME": [input, cached, cache_written, output]}}'
)
_MILLION = 1e6


class Prices:
    """US dollars per million tokens, by model, as of a date."""

    def __init__(self, as_of: str, models: dict[str, tuple[float, ...]]) -> None:
        self.as_of = as_of
        self._models = models

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """Give what these tokens cost, or None for a model without a price."""
        prices = self._of(model)
        if prices is None:
            return None
        counts = (tokens.input, tokens.cached, tokens.cache_written, tokens.output)
        paid = zip(counts, prices, strict=True)
        return sum(count * price for count, price in paid) / _MILLION

    def _of(self, model: str) -> tuple[float, ...] | None:
        """Find a model by its name, without its provider, its date and its variant."""
        name = model.lower().rpartition("/")[2].partition("[")[0]
        if name in self._models:
            return self._models[name]
        base = name.replace("@", "-").removesuffix("-latest")
        while base and base.rpartition("-")[2].isdigit() and base not in self._models:
            base = base.rpartition("-")[0]
        dated = len(name) - len(base)
        # `x-4` is no dated `x`: a date has 8 digits, with or without dashes.
        return self._models.get(base) if dated == 0 or dated >= len("-latest") else None


def parse(data: bytes, source: str) -> Prices:
    """Read a table. Raises UsageError, which says how one looks."""
    try:
        table = json.loads(data)
        models = {
            str(name).lower(): tuple(_price(price) for price in prices)
            for name, prices in table["models"].items()
        }
        if any(len(prices) != 4 for prices in models.values()):
            raise ValueError("four prices a model")
        return Prices(str(table["as_of"]), models)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"{source} is no table of prices ({reason})", FORM) from None


def _price(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no price")
    if not 0 <= value < float("inf"):
        raise ValueError(f"{value!r} is no price")
    return float(value)
