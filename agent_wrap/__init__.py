"""agent-wrap: run any coding agent and get a true dialog.jsonl.

The public names are loaded when they are first used: what runs before the agent
must not pay for what runs beside it (docs/adr/0002).
"""

from __future__ import annotations

from agent_wrap.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_wrap import events, fragments, shapes
    from agent_wrap.adapter import (
        SIDE_FOLDER,
        Adapter,
        Brief,
        Prepared,
        SideFile,
        Surroundings,
    )
    from agent_wrap.api import Run, RunResult, arun, open_run, run
    from agent_wrap.dialog_writer import DialogWriter
    from agent_wrap.errors import (
        AdapterError,
        AgentWrapError,
        ArchiveError,
        DialogError,
        SpawnError,
        UsageError,
    )

_HOMES = {
    "Adapter": "adapter",
    "Brief": "adapter",
    "Prepared": "adapter",
    "SIDE_FOLDER": "adapter",
    "SideFile": "adapter",
    "Surroundings": "adapter",
    "Run": "api",
    "RunResult": "api",
    "arun": "api",
    "open_run": "api",
    "run": "api",
    "DialogWriter": "dialog_writer",
    "AdapterError": "errors",
    "AgentWrapError": "errors",
    "ArchiveError": "errors",
    "DialogError": "errors",
    "SpawnError": "errors",
    "UsageError": "errors",
}
_MODULES = ("events", "fragments", "shapes")

__all__ = [
    "SIDE_FOLDER",
    "Adapter",
    "AdapterError",
    "AgentWrapError",
    "ArchiveError",
    "Brief",
    "DialogError",
    "DialogWriter",
    "Prepared",
    "Run",
    "RunResult",
    "SideFile",
    "SpawnError",
    "Surroundings",
    "UsageError",
    "__version__",
    "arun",
    "events",
    "fragments",
    "open_run",
    "run",
    "shapes",
]


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> object:
    home = name if name in _MODULES else _HOMES.get(name)
    if home is None:  # first: `from agent_wrap import process` asks here, too
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Adapters come by here before their agent runs: `importlib` is a module more.
    module = __import__(f"agent_wrap.{home}", fromlist=[home])
    return module if name in _MODULES else getattr(module, name)
