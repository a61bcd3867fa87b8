"""The model of a run: what the command names, else the agent's own variable."""

from __future__ import annotations

import re

import pytest

from agent_wrap import registry
from agent_wrap.plan import make_plan
from agent_wrap.settings import read

VARIABLES = {
    "aider": "AIDER_MODEL",
    "claude": "ANTHROPIC_MODEL",
    "copilot": "COPILOT_MODEL",
    "gemini": "GEMINI_MODEL",
    "goose": "GOOSE_MODEL",
}


@pytest.mark.parametrize("program", VARIABLES)
def test_the_command_goes_before_the_variable(program: str) -> None:
    told = {VARIABLES[program]: "told"}
    given = ("--model", "given")
    for words, environment, model in (
        (given, told, "given"),
        (given, {}, "given"),
        ((), told, "told"),
        ((), {VARIABLES[program]: ""}, ""),
        ((), {}, ""),
    ):
        assert make_plan(read(["--", program, *words], environment)).model == model


def test_what_the_caller_says_goes_before_both() -> None:
    words = ["--model", "ours", "--", "claude", "--model", "given"]
    assert make_plan(read(words, {"ANTHROPIC_MODEL": "told"})).model == "ours"


def test_an_option_of_the_same_letter_is_no_model() -> None:
    """Aider's `-m` is its message."""
    aider = registry.find("aider").load()
    assert aider.model_from(["aider", "-m", "do it"]) == ""
    assert aider.model_from(["aider", "-m", "--model"]) == ""
    kimi = registry.find("kimi-code").load()
    assert kimi.model_from(["kimi", "-m", "k3", "-p", "do it"]) == "k3"


@pytest.mark.parametrize("name", sorted(registry.known()))
def test_options_are_written_as_one_writes_them(name: str) -> None:
    options = getattr(registry.find(name).load(), "options", None)
    if options is None:
        return
    names = options.one | options.maybe | options.several
    assert [n for n in names if not re.fullmatch(r"-\w{1,2}|--\w+(-\w+)*", n)] == []
    assert not options.one & options.maybe
    assert not (options.one | options.maybe) & options.several
