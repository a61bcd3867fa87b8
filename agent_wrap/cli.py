"""The command line: which subcommand, or a run; every error as one clear line.

The run's path imports nothing that the agent would have to wait for.
"""

from __future__ import annotations

import os
import sys
import time

from agent_wrap import process
from agent_wrap.errors import AgentWrapError, did_you_mean
from agent_wrap.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "demo": "run a built-in scripted agent and show what comes out",
    "validate": "check dialogs: every breach of the protocol, with its line",
    "replay": "a recorded native stream -> the dialog it would have given",
    "repair": "finish a dialog whose wrapper was killed",
    "view": "a run in the terminal, a folder of runs as a table, two side by side",
    "convert": "a dialog in the formats of others: HTML, Markdown, traces",
    "adapters": "the known adapters; check one by recordings, begin one",
    "serve": "sessions over HTTP and SSE: a message starts a turn of an agent",
}

SIGINT_EXIT, SIGPIPE_EXIT = 130, 141

USAGE = """\
agent-wrap {version}: run any coding agent and get a true dialog.jsonl

usage: agent-wrap [OPTIONS] -- COMMAND [ARG...]    run an agent
       agent-wrap SUBCOMMAND ...

subcommands (each has its own --help):
{commands}

options of a run (each also as AGENT_WRAP_<OPTION>, and in a --config file):
{options}

  --version, --help

exit code: the agent's own; 1 error, 2 usage, 3 strict, 124 timeout, 125 agent-wrap
failed, 126 cannot be executed, 127 not found, 128+n signal n.

examples:
  agent-wrap -- my-agent "Fix the failing test"
  agent-wrap --timeout 600 --archive out -- my-agent "Fix the failing test"
  agent-wrap --adapter plain -- ./my-script.sh
  agent-wrap adapters    which agents are known
"""


def main(argv: Sequence[str] | None = None, *, mask: set[int] | None = None) -> int:
    """Run the command line; give the exit code.

    `mask` is the signal mask as it was, where the caller has blocked the stop signals
    already; only a run answers to them.
    """
    started = time.monotonic()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        _open_missing_files()
        if mask is not None and "--" not in words:
            process.set_mask(mask)
        code = _dispatch(words, started, mask)
        if sys.stdout is not None:  # None: it was closed when we started
            sys.stdout.flush()
        return code
    except AgentWrapError as error:
        _complain(str(error))
        return error.exit_code
    except BrokenPipeError:  # `agent-wrap adapters | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return SIGPIPE_EXIT
    except OSError as error:  # our own stdout: a full disk
        _complain(f"cannot write: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return AgentWrapError.exit_code
    except KeyboardInterrupt:
        return SIGINT_EXIT


def _dispatch(words: list[str], started: float, mask: set[int] | None) -> int:
    first = words[0] if words else ""
    if first in ("--help", "-h"):
        print(usage(), end="")
        return 0
    if first == "--version":
        print(f"agent-wrap {__version__}")
        return 0
    if first in COMMANDS:
        from importlib import import_module

        return int(import_module(f"agent_wrap.commands.{first}").main(words[1:]))
    if not first and not os.environ.get("AGENT_WRAP_CONFIG"):
        print(usage(), end="", file=sys.stderr)
        return 2
    if first and not first.startswith("-"):
        near = did_you_mean(first, (*COMMANDS, "--help"))
        _complain(
            f"no subcommand {first!r}. {near}To run an agent, put its command after "
            f"--: agent-wrap -- {' '.join(words)}"
        )
        return 2
    if "--help" in words[: words.index("--") if "--" in words else None]:
        print(usage(), end="")
        return 0
    blocked = process.block_signals()
    from agent_wrap.launch import launch
    from agent_wrap.settings import read

    mask = blocked if mask is None else mask
    process.set_mask(mask)  # a prompt from a terminal or a pipe may take for ever
    settings = read(words, os.environ)
    process.block_signals()
    return launch(settings, started, mask)


def usage() -> str:
    """Give the help text."""
    from agent_wrap.options import help_text

    commands = "\n".join(f"  {name:<10} {what}" for name, what in COMMANDS.items())
    return USAGE.format(version=__version__, commands=commands, options=help_text())


def _complain(text: str) -> None:
    line = f"agent-wrap: {text}\n".encode("utf-8", "backslashreplace")
    try:
        os.write(2, line)
    except OSError:
        pass


def _open_missing_files() -> None:
    """Make sure that 0, 1 and 2 are open: otherwise pipes and logs take their place."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(fd, True)
    os.close(fd)
