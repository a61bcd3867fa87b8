"""What one run is asked to do: options, environment, configuration file -> Settings.

Read before the agent runs, so this imports only what the interpreter has at hand.
"""

from __future__ import annotations

import os
import sys

from agent_wrap.errors import UsageError, did_you_mean
from agent_wrap.options import (
    BY_FLAG,
    BY_NAME,
    DEFAULT_ARCHIVE,
    NOT_TWINS,
    OPTIONS,
    TWIN,
    Option,
    names,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


MOST_PROMPT = 64 * 1024 * 1024


class Settings:
    """Everything one run was asked to do. Frozen; the defaults stand here.

    Times are seconds, sizes bytes, money US dollars; None means no limit.
    """

    command: tuple[str, ...] = ()
    adapter: str = "auto"
    archive: str = DEFAULT_ARCHIVE
    task: str = ""
    model: str = ""
    agent: str = ""
    cwd: str = ""
    resume: str = ""
    prompt: str | None = None
    prompt_file: str = ""
    prompt_via: str = "auto"
    timeout: float | None = None
    first_output_timeout: float | None = None
    idle_timeout: float | None = None
    kill_grace: float = 5.0
    result_grace: float | None = None
    drain_grace: float = 2.0
    max_turns: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: str = ""
    price_table: bytes = b""
    max_line_bytes: int = 64 * 1024 * 1024
    permissions: str = "deny"
    ask_timeout: float = 600.0
    echo: str = "auto"
    user: str = ""
    no_adapt: bool = False
    fsync: str = "complete"
    strict: bool = False
    no_redact: bool = False
    redact: tuple[str, ...] = ()
    serve: str = ""
    serve_key_file: str = ""
    serve_announce: str = ""
    serve_linger: float = 0.0
    sse_heartbeat: float = 10.0
    events_fd: int | None = None
    caller: int | None = None
    answers_fd: int | None = None
    daemon_socket: str = ""
    environment: Mapping[str, str] = {}  # never changed: the class is frozen

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen: {name} cannot be set")


def read(argv: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Make the settings of a run from its command line and environment.

    `argv` is what follows the program's name. Raises UsageError.
    """
    given, command = scan(argv)
    twins = {
        name: _parse(option, environment[option.twin], option.twin)
        for name, option in BY_NAME.items()
        if environment.get(option.twin)
    }
    _warn_of_unknown_twins(environment)
    config = str(given.get("config") or twins.get("config") or "")
    values = {**(_from_file(config) if config else {}), **twins, **given}
    values.pop("config", None)
    return finish(values, command, environment)


def finish(
    values: Mapping[str, Any], command: Sequence[str], environment: Mapping[str, str]
) -> Settings:
    """Complete given values by what the environment says, and check them together.

    Raises UsageError.
    """
    chosen = dict(values)
    words = tuple(command) or tuple(chosen.pop("command", ()))
    chosen.pop("command", None)
    if not words:
        raise UsageError(
            "no command to run", "Put it after --, as in: agent-wrap -- my-agent 'Hi'"
        )
    chosen.setdefault("archive", environment.get("SSE_ARCHIVE") or DEFAULT_ARCHIVE)
    model = environment.get("SSE_MODEL_NAME", "")
    if not chosen.get("model") and model not in ("", "none"):
        chosen["model"] = model
    chosen.update(_limits(chosen, environment.get("TIMEOUT", "")))
    if chosen.get("prompt_file"):
        if chosen.get("prompt") is not None:
            raise UsageError(
                "--prompt and --prompt-file are both given", "Give one of them"
            )
        chosen["prompt"] = read_prompt(chosen["prompt_file"])
    if chosen.get("prices"):
        chosen["price_table"] = _read_prices(chosen["prices"])
    return Settings(
        **chosen,
        command=words,
        daemon_socket=environment.get("SSE_DAEMON_SOCKET", ""),
        environment={k: v for k, v in environment.items() if not k.startswith(TWIN)},
    )


def read_prompt(path: str) -> str:
    """Give a prompt file's text; `-` is standard input. Raises UsageError.

    What is not UTF-8 is replaced: a prompt with a stray byte is still a prompt.
    """
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(MOST_PROMPT + 1)
    except OSError as error:
        raise UsageError(
            f"--prompt-file {path}: {error.strerror or error}",
            "Give a file that can be read, or - for standard input",
        ) from None
    if len(data) > MOST_PROMPT:
        raise UsageError(f"--prompt-file {path}: more than {MOST_PROMPT} bytes")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _read_prices(path: str) -> bytes:
    """Give the bytes of a table of prices that can be read. Raises UsageError."""
    from agent_wrap.prices import parse

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"--prices {path}: {error.strerror or error}") from None
    parse(data, f"--prices {path}")
    return data


def _limits(chosen: Mapping[str, Any], hard: str) -> dict[str, float]:
    """Join `--timeout` with the container's own `TIMEOUT`.

    SSEBench kills with SIGKILL at TIMEOUT seconds, so the run ends a margin earlier:
    10 %, at least 1 s, at most 10 s, never over half. The kill ladder then has half
    of the margin.
    """
    if not hard.isascii() or not hard.isdigit() or not int(hard[:12]):
        return {}
    limit = float(int(hard[:12]))
    margin = min(max(limit / 10, 1.0), 10.0, limit / 2)
    timeout = chosen.get("timeout")
    kill_grace = chosen.get("kill_grace", Settings.kill_grace)
    return {
        "timeout": limit - margin if timeout is None else min(timeout, limit - margin),
        "kill_grace": min(kill_grace, margin / 2),
    }


def scan(argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Read options and, after `--`, the command. Raises UsageError.

    By hand: argparse costs two interpreter starts.
    """
    values: dict[str, Any] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            return values, words
        name, equals, value = word.partition("=")
        option = BY_FLAG.get(name)
        if option is None:
            raise UsageError(
                f"unknown option {name}"
                if name.startswith("-")
                else f"unexpected word {name!r}",
                f"{did_you_mean(name, BY_FLAG)}The agent's command comes after --; see "
                "agent-wrap --help",
            )
        if option.metavar and not equals:
            if not words or words[0] == "--":
                raise UsageError(f"{name} needs a value: {name} {option.metavar}")
            value = words.pop(0)
        elif not option.metavar and not equals:
            value = "1"
        parsed = _parse(option, value, name)
        if isinstance(parsed, tuple):
            parsed = (*values.get(option.name, ()), *parsed)
        values[option.name] = parsed
    return values, []


def _parse(option: Option, value: str, source: str) -> object:
    try:
        return option.parse(value)
    except ValueError as error:
        raise UsageError(f"{source}: {value!r} is not {error}") from None


def _from_file(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"--config {path}: not TOML: {error}") from None
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name == "command":
            values["command"] = _words(value, path)
        elif name in BY_NAME and name != "config":
            option = BY_NAME[name]
            many = option.parse is names
            values[name] = _parse(option, _written(value, many), f"{path}: {key}")
        else:
            near = did_you_mean(name, BY_NAME).rstrip()
            raise UsageError(f"{path}: no such option: {key}", near)
    return values


def _written(value: object, many: bool) -> str:
    """Give a value of the file as it would be written on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if many and isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def _words(value: object, path: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise UsageError(f"{path}: command must be a list of words")


def _warn_of_unknown_twins(environment: Mapping[str, str]) -> None:
    twins = {option.twin for option in OPTIONS}
    for name in environment:
        if name.startswith(TWIN) and name not in twins and name not in NOT_TWINS:
            print(
                f"agent-wrap: {name} is not an option's twin, ignored", file=sys.stderr
            )


def run_directory(settings: Settings) -> str:
    """Give the folder in which the agent runs; empty when it has been removed."""
    try:
        return os.path.abspath(settings.cwd) if settings.cwd else os.getcwd()
    except OSError:
        return ""
