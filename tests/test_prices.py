"""A cost that the agent does not tell comes from a small table, or from nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_wrap import assembly
from agent_wrap.accounting import Tokens
from agent_wrap.errors import UsageError
from agent_wrap.prices import Prices, parse
from agent_wrap.settings import read

from .harness import run, scripted

OWN = parse(Path(assembly.__file__).with_name(assembly.TABLE).read_bytes(), "own")
TABLE = Prices("2026-01", {"big": (4, 0.4, 5, 20), "big-4": (1, 1, 1, 1)})


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("big", 4.0),
        ("BIG", 4.0),
        ("provider/big", 4.0),
        ("a/b/big[1m]", 4.0),
        ("big-20260115", 4.0),
        ("big-2026-01-15", 4.0),
        ("big@20260115", 4.0),
        ("big-latest", 4.0),
        ("big-4-20260115", 1.0),
        ("big-5", None),
        ("big-4-1", None),
        ("bigger", None),
        ("big-mini", None),
        ("", None),
    ],
)
def test_models(model: str, expected: float | None) -> None:
    assert TABLE.cost(model, Tokens(input=1_000_000)) == expected


def test_each_part_has_its_price() -> None:
    used = Tokens(input=100, cached=1000, cache_written=10, output=50, reasoning=20)
    assert TABLE.cost("big", used) == pytest.approx(1850e-6)


def test_our_own_table_is_dated_and_plausible() -> None:
    assert OWN.as_of[:2] == "20"
    table = json.loads(Path(assembly.__file__).with_name(assembly.TABLE).read_text())
    assert table["source"]
    assert 5 <= len(table["models"]) <= 50
    for fresh, cached, written, wrote in table["models"].values():
        assert 0 < cached < fresh <= written < wrote < 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"as_of": "x"}',
        '{"as_of": "x", "models": []}',
        '{"as_of": "x", "models": {"m": 1}}',
        '{"as_of": "x", "models": {"m": [1, 2, 3]}}',
        '{"as_of": "x", "models": {"m": [1, 2, 3, "4"]}}',
        '{"as_of": "x", "models": {"m": [1, 2, 3, -4]}}',
        '{"as_of": "x", "models": {"m": [1, 2, 3, true]}}',
        '{"as_of": "x", "models": {"m": [1, 2, 3, NaN]}}',
    ],
)
def test_what_is_no_table_says_how_one_looks(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(UsageError, match=r"no table of prices.*cache_written"):
        read(["--prices", str(tmp_path / "p.json"), "--", "true"], {})


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--prices"):
        read(["--", "true"], {"AGENT_WRAP_PRICES": str(tmp_path / "none")})


# In a run

CLAUDE = "--adapter=claude-code"


def usage(message_id: str, model: str = "m-1") -> str:
    message = {
        "id": message_id,
        "model": model,
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
        "usage": {"input_tokens": 1000, "output_tokens": 100},
        "stop_reason": "end_turn",
    }
    return "event=" + json.dumps({"type": "assistant", "message": message})


def test_the_limit_goes_by_the_table(tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    table.write_text('{"as_of": "today", "models": {"m-1": [1000, 1, 1, 1000]}}')
    options = (CLAUDE, "--model=m-1", "--prices", str(table))
    command = scripted("init", usage("a"), usage("b"), "sleep=30")
    done = run(tmp_path, command, *options, "--max-cost=1.5")
    assert done.summary["reason"] == "cost_limit"
    assert done.code == 1
    assert done.summary["cost_usd"] is None
    assert "cost: about $2.2000 by the prices of today" in done.summary["notes"]


def test_a_model_without_a_price_makes_the_limit_fail_loudly(tmp_path: Path) -> None:
    command = scripted("init", usage("a"), "result")
    done = run(tmp_path, command, CLAUDE, "--model=nobody", "--max-cost=1")
    assert done.stderr.count("--max-cost had no effect") == 1
    assert "nobody has no price" in done.stderr
    assert done.complete["status"] == "success"


def test_without_the_limit_nothing_is_guessed(tmp_path: Path) -> None:
    command = scripted("init", usage("a"), "result")
    done = run(tmp_path, command, CLAUDE, "--model=gpt-5")
    assert done.summary["cost_usd"] is None
    assert done.summary["notes"] == []
