"""From a name, a program or the first lines of a stream to an adapter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agent_wrap import registry
from agent_wrap.adapter import Adapter
from agent_wrap.errors import AdapterError
from agent_wrap.events import Event, Message
from agent_wrap.registry import program_of


class Third(Adapter):
    """Somebody else's adapter, found by `module:Class`."""

    programs: ClassVar[frozenset[str]] = frozenset({"third", "third-cli"})

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        yield Message(str(event))

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        return "third" in event


class Raises(Third):
    """An adapter that cannot even look at an event."""

    programs: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        raise RuntimeError("broken")


ENTRY_POINTS = """\
[console_scripts]
third = third:main

[agent_wrap.adapters]
# a comment
; another = one:Two
broken-module = no_such_module_at_all:Adapter
broken-class = toy_adapters:Nothing
no-feed = toy_adapters:NOT_AN_ADAPTER
raises = toy_adapters:Raises [raises]
third=toy_adapters:Third
listed = toy_adapters:Third [one-program, other.program]
silent = toy_adapters:Third []

[other.group]
ghost = toy_adapters:Third [ghost]
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a few adapters, and nothing else."""
    info = tmp_path / "toys-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "empty-1.0.dist-info").mkdir()
    binary = tmp_path / "binary-1.0.dist-info"
    binary.mkdir()
    (binary / "entry_points.txt").write_bytes(b"\xff\xfe")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    toys = type(sys)("toy_adapters")
    vars(toys).update(Third=Third, Raises=Raises, NOT_AN_ADAPTER=object())
    monkeypatch.setitem(sys.modules, "toy_adapters", toys)


# ---- the program that a command really runs ---------------------------------


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("toy", "toy"),
        ("toy run --flag x", "toy"),
        ("/usr/local/bin/toy -p x", "toy"),
        ("./node_modules/.bin/toy", "toy"),
        ("toy.js --x", "toy"),
        ("/opt/toy.mjs", "toy"),
        ("toy.cjs", "toy"),
        ("toy.exe", "toy"),
        ("toy.py", "toy"),
        ("env toy", "toy"),
        ("env A=1 B=x=y toy -p x", "toy"),
        ("/usr/bin/env -u HOME -C /w toy", "toy"),
        ("env -- toy", "toy"),
        ("env -i toy -p x", "toy"),
        ("env -i A=1 toy", "toy"),
        ("nohup nice -n 5 toy", "toy"),
        ("stdbuf -oL toy", "toy"),
        ("stdbuf -o L toy", "toy"),
        ("timeout 60 toy -p x", "toy"),
        ("timeout -k 5 60s toy", "toy"),
        ("timeout --signal=INT 60 toy", "toy"),
        ("timeout -s KILL 60 env A=1 npx -y toy", "toy"),
        ("npx toy", "toy"),
        ("npx -y @scope/toy@1.2.3 -p x", "toy"),
        ("npx --yes toy@latest", "toy"),
        ("npx --package @scope/pkg toy", "toy"),
        ("npx -p @scope/pkg -- toy x", "toy"),
        ("bunx toy", "toy"),
        ("bun x toy", "toy"),
        ("uvx toy", "toy"),
        ("uvx --from toy-package toy", "toy"),
        ("uv run toy", "toy"),
        ("npm exec toy", "toy"),
        ("npm exec --yes -- @scope/toy -p x", "toy"),
        ("pnpm dlx toy", "toy"),
        ("pnpm exec toy", "toy"),
        ("yarn dlx toy", "toy"),
        ("npm install toy", "npm"),
        ("python3 my-agent.py", "python3"),
        ("node toy.js", "node"),
        ("env", ""),
        ("timeout 60", ""),
        ("", ""),
    ],
)
def test_program_of(command: str, program: str) -> None:
    assert program_of(command.split(" ")) == program


# ---- entry points -----------------------------------------------------------


def test_known_reads_our_group_alone() -> None:
    assert list(registry.known()) == [
        "broken-module",
        "broken-class",
        "no-feed",
        "raises",
        "third",
        "listed",
        "silent",
    ]


def test_the_first_one_on_the_path_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "mine-2.0.egg-info"
    other.mkdir(parents=True)
    (other / "entry_points.txt").write_text(
        "[agent_wrap.adapters]\nthird = mine:T []\n"
    )
    monkeypatch.setattr(sys, "path", [str(other.parent), *sys.path])
    assert registry.known()["third"].target == "mine:T"
    assert len(registry.known()) == 7


def test_the_brackets_list_the_programs_without_an_import() -> None:
    found = registry.known()
    assert found["listed"].programs == {"one-program", "other.program"}
    assert found["silent"].programs == frozenset()
    assert found["third"].programs == Third.programs


def test_find_by_name_and_by_class() -> None:
    assert registry.find("third").load() is Third
    assert registry.find("toy_adapters:Third").load() is Third


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(AdapterError) as error:
        registry.find("nobody")
    assert error.value.known == tuple(sorted(registry.known()))
    assert "Known: broken-class, broken-module, listed" in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken-module", "ModuleNotFoundError: No module named 'no_such_module"),
        ("broken-class", "AttributeError"),
        ("no-feed", "has no method feed(event)"),
        ("toy_adapters:", "cannot be loaded"),
        (":Third", "cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_says_why(name: str, words: str) -> None:
    with pytest.raises(AdapterError) as error:
        registry.find(name).load()
    assert words in str(error.value)
    assert error.value.name == name


# ---- choosing ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["third-cli", "-p"], "third"),
        (["npx", "one-program"], "listed"),
        (["raises"], "raises"),
        (["ghost"], None),
        (["python3", "third"], None),
        ([], None),
    ],
)
def test_by_program_passes_over_broken_entries(
    command: list[str], name: str | None
) -> None:
    found = registry.by_program(command)
    assert (found and found.name) == name


def test_recognising_passes_over_broken_adapters() -> None:
    chosen: list[tuple[str, Adapter]] = []
    recognise = registry.recogniser(
        lambda name, adapter: chosen.append((name, adapter))
    )
    assert recognise({"other": 1}) is None
    assert chosen == []
    found = recognise({"third": 1})
    assert isinstance(found, Third)
    assert chosen == [("third", found)]
    assert recognise({"third": 1}) is not found


@pytest.mark.parametrize(
    ("command", "acp"),
    [
        ("toy acp", True),
        ("npx toy acp --verbose", True),
        ("/opt/bin/toy --acp", True),
        ("toy-acp", True),
        ("toy -p acp", False),
        ("toy run acp", False),
    ],
)
def test_a_program_started_to_speak_acp(command: str, acp: bool) -> None:
    words = command.split()
    assert registry._speaks_acp(words, program_of(words)) is acp
