"""Compare our table of prices with that of the package `genai-prices`, by hand.

    pip install genai-prices; python -m tests.check_prices

Prints each model whose prices differ, or that the package does not know; exit 1 then.
No part of the suite: prices change while the code does not.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import agent_wrap

_PARTS = (
    {"input_tokens": 1000},
    {"input_tokens": 1000, "cache_read_tokens": 1000},
    {"input_tokens": 1000, "cache_write_tokens": 1000},
    {"output_tokens": 1000},
)
"""A thousand tokens of each kind: the lowest tier of a model that has several."""

_PROVIDERS = ("anthropic", "openai", "google", "moonshotai")


def main() -> int:
    """Compare each model of the table; give the exit code."""
    table = Path(agent_wrap.__file__).with_name("prices.json").read_bytes()
    differ = 0
    for model, ours in json.loads(table)["models"].items():
        theirs = _look_up(model)
        if theirs != ours:
            differ += 1
            print(f"{model}: ours {ours}, theirs {theirs or 'not known'}")
    return 1 if differ else 0


def _look_up(model: str) -> list[float]:
    """Give dollars per million tokens of each part; empty: nobody has that model."""
    prices = import_module("genai_prices")
    for provider in _PROVIDERS:
        try:
            costs = [
                prices.calc_price(prices.Usage(**part), model, provider_id=provider)
                for part in _PARTS
            ]
        except LookupError:
            continue
        return [round(float(cost.total_price) * 1000, 6) for cost in costs]
    return []


if __name__ == "__main__":
    sys.exit(main())
