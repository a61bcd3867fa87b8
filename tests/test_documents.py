"""What the documents say is what the code has."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from agent_wrap import registry
from agent_wrap.cli import COMMANDS
from agent_wrap.options import OPTIONS, Option
from agent_wrap.outcome import STRICT, TIMED_OUT, WRAPPER_FAILED, Outcome
from agent_wrap.plan import Plan
from agent_wrap.settings import Settings
from agent_wrap.summary import skeleton
from agent_wrap.version import __version__

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
SHOWN = [option for option in OPTIONS if option.help]


def section(document: str, title: str) -> str:
    """Give the part of a document below a second-level heading."""
    found = re.search(
        rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", document, re.M | re.S
    )
    assert found is not None, f"no section {title!r}"
    return found[1]


def first_cells(text: str) -> list[str]:
    """Give the first cell of each row of the tables in a text, headings left out."""
    cells = re.findall(r"^\| (.*?) \|", text, re.M)
    return [cell for cell in cells if cell not in ("option", "code", "key", "module")]


def written(option: Option) -> str:
    return f"`{option.flag} {option.metavar}`" if option.metavar else f"`{option.flag}`"


def test_the_changelog_names_the_current_version() -> None:
    versions = re.findall(r"^## \[(.+?)\]", CHANGELOG, re.M)
    assert __version__ in versions
    assert versions[:2] == ["Unreleased", __version__]


def test_the_readme_begins_with_what_is_to_be_run() -> None:
    lines = [line.strip() for line in README.splitlines() if line.startswith("    ")]
    assert lines[:3] == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/agent-wrap demo",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && "
        ".venv/bin/pytest",
        'ENTRYPOINT ["agent-wrap", "--"]',
    ]


def test_links_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_extras_are_installed_from_the_checkout() -> None:
    """Nobody publishes the package: pip finds no `agent-wrap[serve]` by name."""
    places = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    places += [*(ROOT / "agent_wrap").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    named = re.compile(r"pip install '?agent-wrap\b")
    assert [str(path) for path in places if named.search(path.read_text())] == []


def test_the_subcommands_are_all_there_and_no_others() -> None:
    told = re.findall(r"^    agent-wrap ([a-z]+)", COMMAND_LINE, re.M)
    assert sorted(told) == sorted(COMMANDS)


def test_the_options_are_all_there_and_no_others() -> None:
    told = first_cells(section(COMMAND_LINE, "Options of a run"))
    assert told == [written(option) for option in SHOWN]


def test_the_exit_codes_are_all_there() -> None:
    told = first_cells(section(COMMAND_LINE, "Exit codes"))
    fixed = [0, 1, 2, STRICT, TIMED_OUT, WRAPPER_FAILED, 126, 127]
    assert told == ["the agent's own", *map(str, fixed), "128+n"]


def test_the_summarys_keys_are_all_there() -> None:
    text = section(COMMAND_LINE, "summary.json")
    example = json.loads(text.partition("```json\n")[2].partition("```")[0])
    plan = Plan(Settings(command=("true",)))
    made = skeleton(plan, Outcome("success", 0, "completed"), "", 0)
    assert keys(example) == keys(made)


def keys(value: object) -> object:
    """Give the keys of an object and of the objects in it, in order."""
    if not isinstance(value, dict):
        return None
    return [(key, keys(inner)) for key, inner in value.items()]


def test_every_module_has_its_line_in_the_architecture() -> None:
    told = set(re.findall(r"`([a-z_]+)`", "\n".join(first_cells(ARCHITECTURE))))
    there = {path.stem for path in (ROOT / "agent_wrap").glob("[a-z]*.py")}
    assert there - told - {"version"} == set()


def test_the_entry_points_name_the_programs_of_their_class() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = project["entry-points"][registry.GROUP]
    for name, target in listed.items():
        where, _, programs = target.rstrip("]").partition(" [")
        found = registry.load_class(name, where).programs
        assert set(filter(None, programs.split(", "))) == found, name
