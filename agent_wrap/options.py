"""The options of a run: the one list of them, and how each value is read.

The help text, the environment twins, the configuration file and the Python functions
are made from it. Read before the agent runs, so this imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TWIN = "AGENT_WRAP_"
NOT_TWINS = frozenset({"AGENT_WRAP_RUN", "AGENT_WRAP_DEADLINE"})
DEFAULT_ARCHIVE = "/tmp/sse-archive"


def text(value: str) -> str:
    """Take any text."""
    return value


def word(value: str) -> str:
    """Take any text but none."""
    if not value:
        raise ValueError("a value: it is empty")
    return value


def seconds(value: str) -> float:
    """Take a duration: a number above zero."""
    number = _number(value)
    if number <= 0:
        raise ValueError("a number of seconds above 0")
    return number


def grace(value: str) -> float:
    """Take a grace period: a number, zero allowed."""
    number = _number(value)
    if number < 0:
        raise ValueError("a number of seconds, 0 or more")
    return number


def count(value: str) -> int:
    """Take a whole number above zero."""
    if not value.isascii() or not value.isdigit() or int(value[:18]) == 0:
        raise ValueError("a whole number above 0")
    return int(value[:18])


def descriptor(value: str) -> int:
    """Take the number of an open file descriptor."""
    if not value.isascii() or not value.isdigit():
        raise ValueError("the number of an open file descriptor")
    return int(value[:9])


def address(value: str) -> str:
    """Take a host and a port: `127.0.0.1:0`, `[::1]:8080`."""
    host, _, port = value.rpartition(":")
    known = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536
    if not known or not host.strip("[]") or (":" in host and host[:1] != "["):
        raise ValueError("HOST:PORT")
    return value


def money(value: str) -> float:
    """Take an amount of US dollars above zero."""
    number = _number(value)
    if number <= 0:
        raise ValueError("an amount in US dollars above 0")
    return number


def names(value: str) -> tuple[str, ...]:
    """Take names of variables, separated by commas."""
    return tuple(filter(None, map(str.strip, value.split(","))))


def switch(value: str) -> bool:
    """Take a boolean as the environment and the configuration file write it."""
    if value.lower() in ("1", "true"):
        return True
    if value.lower() in ("0", "false"):
        return False
    raise ValueError("1, 0, true or false")


def session(value: str) -> str:
    """Take the id of a session; it came from an agent, and must be no option."""
    if not is_plain(value):
        raise ValueError("the id of a session")
    return value


def is_plain(name: str) -> bool:
    """Is this a name that nothing can take for anything else?"""
    plain = "".join(sign for sign in name if sign not in "-_.:")
    return plain.isalnum() and name.isascii() and name[:1] not in "-"


def one_of(*words: str) -> Callable[[str], str]:
    """Make a parser that takes one of the words."""

    def parse(value: str) -> str:
        if value not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return value

    return parse


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise ValueError("a number") from None
    if not -1e12 < number < 1e12:
        raise ValueError("a finite number")
    return number


class Option:
    """One option of a run. `metavar` empty: a switch; `help` empty: not shown."""

    def __init__(
        self, name: str, metavar: str, parse: Callable[[str], object], help: str
    ) -> None:
        self.name = name
        self.metavar = metavar
        self.parse = parse
        self.help = help

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def twin(self) -> str:
        """The environment variable of the same meaning."""
        return TWIN + self.name.upper()


OPTIONS: tuple[Option, ...] = (
    Option(
        "adapter",
        "NAME",
        text,
        "an installed adapter or package.module:Class; auto: by program, else by the "
        "first lines, else plain text",
    ),
    Option(
        "archive",
        "DIR",
        word,
        f"where all is written ($SSE_ARCHIVE, {DEFAULT_ARCHIVE})",
    ),
    Option("task", "ID", text, "init.data.task (else the daemon's project id)"),
    Option(
        "model", "NAME", text, "init.data.model (else $SSE_MODEL_NAME, argv, stream)"
    ),
    Option("agent", "NAME", text, "init.data.agent (else the adapter's name)"),
    Option("cwd", "DIR", text, "where the agent runs (else here)"),
    Option(
        "resume",
        "ID",
        session,
        "go on with this session of the agent, where its adapter knows how",
    ),
    Option("prompt", "TEXT", text, "what the agent is asked"),
    Option("prompt_file", "FILE", text, "the same from a file; - is stdin"),
    Option(
        "prompt_via",
        "HOW",
        one_of("auto", "argv", "stdin", "file", "none"),
        "how the prompt reaches the agent: auto, argv ({prompt} in COMMAND), stdin, "
        "file ({prompt_file} in COMMAND), none",
    ),
    Option(
        "user",
        "USER[:GROUP]",
        text,
        "started as root: the agent runs as that user and cannot touch its own record",
    ),
    Option(
        "timeout",
        "S",
        seconds,
        "wall clock (also $TIMEOUT less a margin, the earlier of both)",
    ),
    Option("first_output_timeout", "S", seconds, "no first event for so long"),
    Option(
        "idle_timeout",
        "S",
        seconds,
        "no progress for so long (stands still while a tool runs)",
    ),
    Option("kill_grace", "S", grace, "from SIGTERM to SIGKILL (5)"),
    Option(
        "result_grace",
        "S",
        grace,
        "how long the agent may live on after its final event (10)",
    ),
    Option(
        "drain_grace",
        "S",
        grace,
        "how long others may hold its stdout after it is gone (2)",
    ),
    Option("max_turns", "N", count, "stop the run above so many turns"),
    Option("max_tokens", "N", count, "stop the run above so many tokens, in and out"),
    Option("max_cost", "USD", money, "stop the run above this cost"),
    Option(
        "prices",
        "FILE",
        text,
        "a table of prices for --max-cost, for agents that do not tell their cost",
    ),
    Option(
        "max_line_bytes",
        "N",
        count,
        "longer lines are kept raw, skipped and counted (64 MiB)",
    ),
    Option(
        "permissions",
        "WHAT",
        one_of("allow", "deny", "fail", "ask"),
        "what two-way agents are told when they ask: allow, deny, fail (ends the run); "
        "ask: what a client of the live session says",
    ),
    Option("ask_timeout", "S", seconds, "ask: denied after so long (600)"),
    Option(
        "echo",
        "HOW",
        one_of("auto", "native", "pretty", "none"),
        "stdout: native bytes, a readable timeline, none; auto: pretty on a terminal",
    ),
    Option("no_adapt", "", switch, "do not touch COMMAND"),
    Option(
        "fsync", "WHEN", one_of("never", "complete", "entry"), "never, complete, entry"
    ),
    Option("strict", "", switch, "unknown native events: exit 3 in place of 0"),
    Option("no_redact", "", switch, "leave the values of secret-looking variables"),
    Option("redact", "NAME", names, "hide this variable's value too (may be repeated)"),
    Option(
        "serve",
        "HOST:PORT",
        address,
        "this run's live session over HTTP and SSE (port 0: any)",
    ),
    Option("serve_key_file", "FILE", word, "clients must send the key in this file"),
    Option("serve_announce", "FILE", word, "write the port and the session's id there"),
    Option("serve_linger", "S", grace, "serve so long after the run's end (0)"),
    Option("sse_heartbeat", "S", seconds, "a comment on quiet streams so often (10)"),
    Option("config", "FILE", text, "the same options from a TOML file"),
    Option("events_fd", "FD", descriptor, ""),
    Option("caller", "PID", count, ""),
    Option("answers_fd", "FD", descriptor, ""),
)
BY_FLAG = {option.flag: option for option in OPTIONS}
BY_NAME = {option.name: option for option in OPTIONS}


def help_text(width: int = 88) -> str:
    """Give the options as lines for `--help`."""
    import textwrap

    lines = []
    for option in OPTIONS:
        if option.help:
            left = f"  {option.flag} {option.metavar}".rstrip()
            right = textwrap.wrap(option.help, width - 30)
            if len(left) > 28:
                lines.append(left)
                left = ""
            for line in right:
                lines.append(f"{left:<29} {line}")
                left = ""
    return "\n".join(lines)
