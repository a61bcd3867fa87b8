"""The architecture as a test: imports run one way, and what is pure stays pure."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "agent_wrap"
ADAPTERS = ROOT / "adapters" / "agent_wrap_adapters"

LAYERS = [
    {"values", "newest"},
    {"version", "errors", "events", "jsonvalue", "lines", "entries", "limits"},
    {"options"},
    {"shapes", "adapter", "accounting", "story", "outcome", "identity", "ledger"},
    {"asked"},
    {"drift", "prices", "fragments", "view.words"},
    {"stderr", "view.plain"},
    {"rules.clauses", "rules.words", "rules.lines", "rules.fields", "rules.order"},
    {"tools"},
    {"libc"},
    {"encode", "dialog", "reader", "validate", "clocks", "secret_forms", "redact"},
    {"log_file"},
    {"event_lines", "writer", "process", "registry", "settings", "daemon", "cgroup"},
    {"answers"},
    {"resources", "echo", "finish", "plan", "keeper", "ladder", "talk", "guardian"},
    {"first_lines", "streams", "recorder", "testing", "dialog_writer"},
    {
        *("serve.keys", "serve.logins", "serve.bodies", "serve.login", "serve.page"),
        *("serve.wire", "serve.log", "serve.status", "serve.pieces"),
        *("serve.history", "serve.reasons", "serve.translate", "serve.session"),
        *("serve.access", "serve.feed", "serve.listener", "serve.web", "serve.live"),
        *("serve.bodies", "serve.answering"),
    },
    {"running", "summary", "side_files"},
    {"assembly", "rescue"},
    {"closing", "watchers"},
    {"supervisor"},
    {"launch"},
]
"""From the bottom up. A module imports from its own layer and those below it; what is
not named here stands above them all."""

PURE = {
    *("newest", "tools"),
    *("values", "events", "adapter", "lines", "jsonvalue", "shapes", "entries"),
    *("encode", "accounting", "dialog", "outcome", "story", "reader", "validate"),
    "errors",
    *("limits", "clocks", "secret_forms", "redact", "drift", "prices", "asked"),
    *("rules.clauses", "rules.words", "rules.lines", "rules.fields", "rules.order"),
    "fragments",
    *("serve.wire", "serve.log", "serve.status", "serve.pieces"),
    *("serve.history", "serve.reasons", "serve.translate", "serve.session"),
    "serve.access",
}
IMPURE_IMPORTS = {
    *("asyncio", "anyio", "trio", "threading", "multiprocessing", "concurrent"),
    *("subprocess", "os", "pathlib", "shutil", "tempfile", "io", "fcntl", "select"),
    *("socket", "time", "datetime", "random", "sched", "psutil", "signal", "sys"),
}
EXCUSED = {
    ("entries", "time"),  # gmtime and strftime of a given moment: no clock is read
    ("outcome", "signal"),  # the names of signals: none is sent or handled
    ("lines", "io"),  # BytesIO, which is no file
    ("redact", "libc"),  # memmem, which looks at its arguments alone
}
IMPURE_CALLS = {"open", "print", "input", "exec", "eval"}
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"}

AGENTS = re.compile(
    r"claude|codex|gemini|qwen|opencode|copilot|\bcline\b|kimi|mistral|openhands"
    r"|swe.?agent|\baider\b|\bgoose\b|\bdroid\b",
    re.IGNORECASE,
)
EXAMPLE_COMMAND = re.compile(r"agent-wrap .*-- .*|open_run\(.*")
"""Help shows how an agent is run: that is no knowledge of it."""

LONGEST_FUNCTION = 70


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def name_of(path: Path) -> str:
    """Name a module of the core: `dialog`, `serve.session`."""
    parts = path.relative_to(CORE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Give (module, name) of every import, also inside functions; name may be empty."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from ((node.module or "", alias.name) for alias in node.names)


def core_imports(path: Path) -> set[str]:
    """Give the modules of the core that a file imports."""
    found = set()
    for module, name in imports(path):
        if module == "agent_wrap" and name:
            found.add(name)
        elif module.startswith("agent_wrap."):
            found.add(module.removeprefix("agent_wrap."))
    return found


def layer_of(module: str) -> int:
    for number, layer in enumerate(LAYERS):
        if module in layer:
            return number
    return len(LAYERS)


core = pytest.mark.parametrize(
    "path", [p for p in files(CORE) if p.name != "__init__.py"], ids=name_of
)
everything = pytest.mark.parametrize(
    "path", files(CORE) + files(ADAPTERS), ids=lambda p: str(p.relative_to(ROOT))
)
pure = pytest.mark.parametrize(
    "path",
    [CORE / f"{name.replace('.', '/')}.py" for name in sorted(PURE)] + files(ADAPTERS),
    ids=lambda path: path.stem,
)


@core
def test_imports_run_one_way(path: Path) -> None:
    own = layer_of(name_of(path))
    above = {module for module in core_imports(path) if layer_of(module) > own}
    assert above == set()


def test_no_module_imports_itself_through_others() -> None:
    graph = {name_of(path): core_imports(path) for path in files(CORE)}
    graph.pop("__init__")  # its imports are for type checkers and on demand
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for inner in graph.get(module, ()):
                visit(inner, (*way, module))
            done.add(module)

    for low in [module for layer in LAYERS for module in layer]:
        visit(low, ())


@pure
def test_pure_modules_import_nothing_of_the_outside_world(path: Path) -> None:
    roots = {module.partition(".")[0] for module, _ in imports(path)}
    excused = {name for module, name in EXCUSED if module == path.stem}
    assert roots & (IMPURE_IMPORTS - excused) == set()


@pure
def test_pure_modules_import_pure_modules(path: Path) -> None:
    excused = {name for module, name in EXCUSED if module == path.stem}
    if CORE in path.parents:
        assert core_imports(path) - excused <= PURE


@pure
def test_pure_modules_open_no_file_and_read_no_clock(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            allowed = {"exec"} if path.stem == "values" else set()  # it makes classes
            assert node.func.id not in IMPURE_CALLS - allowed
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("time", c) for c in CLOCKS}
        assert not isinstance(node, ast.Await | ast.AsyncFunctionDef)


@pytest.mark.parametrize("path", files(ADAPTERS), ids=lambda path: path.stem)
def test_adapters_import_public_names_only(path: Path) -> None:
    public = {
        "adapter",
        "events",
        "fragments",
        "shapes",
        "jsonvalue",
        "Adapter",
        "Brief",
        "Prepared",
        "SIDE_FOLDER",
        "SideFile",
        "Surroundings",
    }
    assert core_imports(path) <= public


def test_adapters_are_short() -> None:
    lengths = [len(path.read_text().splitlines()) for path in files(ADAPTERS)]
    assert median(lengths) < 100
    assert max(lengths) <= 200


@pytest.mark.parametrize("path", files(CORE), ids=lambda p: str(p.relative_to(CORE)))
def test_the_core_knows_no_agent(path: Path) -> None:
    assert "agent_wrap_adapters" not in path.read_text()
    named = [
        f"{number}: {line.strip()}"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if AGENTS.search(EXAMPLE_COMMAND.sub("", line))
    ]
    assert named == []


@everything
def test_a_module_says_what_it_owns(path: Path) -> None:
    assert ast.get_docstring(parsed(path))


@everything
def test_functions_are_short(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name}: {length} lines"
