"""Options, twins, the configuration file, the defaults: who wins, what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import options, settings
from agent_wrap.errors import UsageError
from agent_wrap.options import OPTIONS
from agent_wrap.settings import Settings, read

COMMAND = ["--", "agent", "--flag"]


def given(
    *words: str, env: dict[str, str] | None = None, config: Path | None = None
) -> Settings:
    more = ["--config", str(config)] if config else []
    return read([*words, *more, *COMMAND], env or {})


def wrong(*words: str, env: dict[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        read([*words, *COMMAND], env or {})
    assert caught.value.exit_code == 2
    return str(caught.value)


# Precedence, for each kind of value

KINDS: list[tuple[str, list[str], list[Any]]] = [
    ("task", ["a", "b", "c"], ["a", "b", "c"]),
    ("cwd", ["/a", "/b", "/c"], ["/a", "/b", "/c"]),
    ("kill_grace", ["1.5", "2", "0"], [1.5, 2.0, 0.0]),
    ("timeout", ["1", "2.5", "3e1"], [1.0, 2.5, 30.0]),
    ("max_turns", ["1", "2", "3"], [1, 2, 3]),
    ("max_cost", ["0.5", "1", "2"], [0.5, 1.0, 2.0]),
    ("echo", ["native", "pretty", "none"], ["native", "pretty", "none"]),
    ("prompt_via", ["stdin", "file", "none"], ["stdin", "file", "none"]),
    ("archive", ["/a", "/b", "/c"], ["/a", "/b", "/c"]),
    ("prompt", ["a", "b", "c"], ["a", "b", "c"]),
]


@pytest.mark.parametrize(("name", "texts", "values"), KINDS, ids=[k[0] for k in KINDS])
def test_precedence(
    tmp_path: Path, name: str, texts: list[str], values: list[Any]
) -> None:
    flag, twin = "--" + name.replace("_", "-"), "AGENT_WRAP_" + name.upper()
    config = tmp_path / "run.toml"
    config.write_text(f'{name.replace("_", "-")} = "{texts[2]}"\n')
    env = {twin: texts[1]}
    assert getattr(given(flag, texts[0], env=env, config=config), name) == values[0]
    assert getattr(given(f"{flag}={texts[0]}", env=env), name) == values[0]
    assert getattr(given(env=env, config=config), name) == values[1]
    assert getattr(given(config=config), name) == values[2]
    assert getattr(given(), name) == getattr(Settings, name)
    empty = given(env={twin: ""}, config=config)
    assert getattr(empty, name) == values[2]  # an empty twin is none


@pytest.mark.parametrize("name", [o.name for o in OPTIONS if not o.metavar])
def test_switches(tmp_path: Path, name: str) -> None:
    flag, twin = "--" + name.replace("_", "-"), "AGENT_WRAP_" + name.upper()
    assert getattr(given(), name) is False
    assert getattr(given(flag), name) is True
    assert getattr(given(flag + "=0"), name) is False
    for text, value in (("1", True), ("0", False), ("true", True), ("FALSE", False)):
        assert getattr(given(env={twin: text}), name) is value
        assert getattr(given(flag, env={twin: text}), name) is True
    config = tmp_path / "run.toml"
    config.write_text(f"{name} = true\n")
    assert getattr(given(config=config), name) is True
    assert getattr(given(env={twin: "0"}, config=config), name) is False
    assert twin in wrong(env={twin: "yes"})


def test_the_command_and_what_follows_are_untouched() -> None:
    run = read(["--strict", "--", "agent", "--task", "x", "--", "-h"], {})
    assert run.command == ("agent", "--task", "x", "--", "-h")
    assert run.task == ""
    assert given("--task", "--strict").task == "--strict"
    assert given("--task=a=b").task == "a=b"
    assert given("--task=").task == ""
    assert given("--prompt", "").prompt == ""


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        given().task = "other"


# What is wrong, said in a way that helps


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout", "0"], "--timeout: '0'"),
        (["--timeout", "-1"], "above 0"),
        (["--timeout", "soon"], "a number"),
        (["--timeout", "nan"], "finite"),
        (["--timeout", "inf"], "finite"),
        (["--timeout="], "a number"),
        (["--kill-grace", "-0.1"], "0 or more"),
        (["--first-output-timeout", "1s"], "a number"),
        (["--idle-timeout", "0"], "above 0"),
        (["--max-turns", "0"], "whole number"),
        (["--max-turns", "1.5"], "whole number"),
        (["--max-turns", "-3"], "whole number"),
        (["--max-turns", "\N{ARABIC-INDIC DIGIT THREE}"], "whole number"),
        (["--max-tokens", "many"], "whole number"),
        (["--max-cost", "0"], "US dollars"),
        (["--max-cost", "$3"], "a number"),
        (["--max-line-bytes", "64M"], "whole number"),
        (["--echo", "loud"], "native, pretty, none"),
        (["--prompt-via", "mail"], "auto, argv, stdin"),
        (["--fsync", "always"], "never, complete, entry"),
        (["--strict=maybe"], "1, 0, true or false"),
        (["--no-such-option"], "unknown option --no-such-option"),
        (["--no-such=1"], "unknown option --no-such."),
        (["-x"], "unknown option -x"),
        (["claude"], "unexpected word 'claude'"),
        (["--strict", "1"], "unexpected word '1'"),
        (["--task"], "--task needs a value: --task ID"),
        (["--prompt", "a", "--prompt-file", "b"], "both"),
        (["--prompt-file", "/no/such/file"], "No such file"),
        (["--prompt-file", "/"], "directory"),
        (["--config", "/no/such/file"], "No such file"),
        (["--config", "/"], "directory"),
        (["--archive", ""], "--archive"),
        (["--cwd", ""], ""),
        (["--adapter", ""], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_words(words: list[str], said: str) -> None:
    if words in (["--cwd", ""], ["--adapter", ""]):
        given(*words)  # empty: as if it were not given
        return
    text = wrong(*words)
    assert said in text
    assert "\n" not in text


def test_a_bad_twin_is_named_by_its_variable() -> None:
    assert "AGENT_WRAP_TIMEOUT: 'x'" in wrong(env={"AGENT_WRAP_TIMEOUT": "x"})
    assert "AGENT_WRAP_ECHO" in wrong(env={"AGENT_WRAP_ECHO": "loud"})


def test_no_command() -> None:
    for words in ([], ["--"], ["--strict"], ["--task", "x", "--"]):
        with pytest.raises(UsageError, match="no command") as caught:
            read(words, {})
        assert "after --" in caught.value.hint


def test_an_unknown_twin_is_said_and_ignored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given(
        env={
            "AGENT_WRAP_TIMOUT": "3",
            "AGENT_WRAP_RUN": "r",
            "AGENT_WRAP_DEADLINE": "1",
        }
    )
    said = capsys.readouterr().err
    assert "AGENT_WRAP_TIMOUT" in said
    assert said.count("\n") == 1


# The configuration file


def test_a_configuration_file(tmp_path: Path) -> None:
    """Some containers join the command with spaces: then only a file has words."""
    config = tmp_path / "run.toml"
    config.write_text(
        'command = ["agent", "a b", "{prompt}"]\n'
        'prompt = "fix it"\ntimeout = 90\nkill_grace = 1.5\nmax-turns = 3\n'
        "strict = true\nno-adapt = false\n"
    )
    run = read(["--config", str(config)], {})
    assert run.command == ("agent", "a b", "{prompt}")
    assert (run.prompt, run.timeout, run.kill_grace) == ("fix it", 90.0, 1.5)
    assert (run.max_turns, run.strict, run.no_adapt) == (3, True, False)
    assert read([], {"AGENT_WRAP_CONFIG": str(config)}).command == run.command
    assert given(config=config).command == ("agent", "--flag")
    config.write_text('command = "agent --flag"')
    assert read(["--config", str(config)], {}).command == ("agent", "--flag")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"timeout = ", "not TOML"),
        (b"task = '\xff'", "not TOML"),
        (b"tiemout = 3", "no such option: tiemout. Did you mean timeout?"),
        (b"timeout = 'x'", "timeout: 'x'"),
        (b"timeout = [1]", "timeout"),
        (b"config = 'other'", "no such option: config"),
        (b"command = 3", "list of words"),
        (b"command = ['a', 3]", "list of words"),
        (b"[run]\ntimeout = 3", "no such option: run"),
        (b"max_turns = true", "max_turns"),
        (b"task = 'a'\ncommand = []", "no command"),
    ],
)
def test_bad_configuration_files(tmp_path: Path, text: bytes, said: str) -> None:
    config = tmp_path / "run.toml"
    config.write_bytes(text)
    with pytest.raises(UsageError) as caught:
        read(["--config", str(config)], {})
    assert said in str(caught.value)
    if said != "no command":
        assert str(config) in str(caught.value)


# What the environment says


def test_sse_variables() -> None:
    run = given(
        env={
            "SSE_ARCHIVE": "/arch",
            "SSE_MODEL_NAME": "big",
            "SSE_DAEMON_SOCKET": "/sock",
        }
    )
    assert (run.archive, run.model, run.daemon_socket) == ("/arch", "big", "/sock")
    assert given("--model", "small", env={"SSE_MODEL_NAME": "big"}).model == "small"
    for nothing in ("", "none"):
        assert given(env={"SSE_MODEL_NAME": nothing}).model == ""
    assert given(env={"SSE_ARCHIVE": ""}).archive == "/tmp/sse-archive"
    assert given("--archive", "/x", env={"SSE_ARCHIVE": "/arch"}).archive == "/x"


def test_the_agent_does_not_see_the_twins() -> None:
    env = {
        "AGENT_WRAP_TASK": "t",
        "AGENT_WRAP_RUN": "outer",
        "PATH": "/bin",
        "TIMEOUT": "5",
        "SSE_ARCHIVE": "/a",
    }
    run = given(env=env)
    assert run.environment == {"PATH": "/bin", "TIMEOUT": "5", "SSE_ARCHIVE": "/a"}
    assert env["AGENT_WRAP_TASK"] == "t"


@pytest.mark.parametrize(
    ("timeout", "limit", "grace"),
    [
        ("1", 0.5, 0.25),
        ("2", 1.0, 0.5),
        ("3", 2.0, 0.5),
        ("10", 9.0, 0.5),
        ("20", 18.0, 1.0),
        ("60", 54.0, 3.0),
        ("100", 90.0, 5.0),
        ("3600", 3590.0, 5.0),
        ("0060", 54.0, 3.0),
    ],
)
def test_the_containers_timeout(timeout: str, limit: float, grace: float) -> None:
    run = given(env={"TIMEOUT": timeout})
    assert (run.timeout, run.kill_grace) == (limit, grace)


@pytest.mark.parametrize(
    "text", ["", "0", "-5", "1.5", "5s", "abc", " 5", "\N{SUPERSCRIPT TWO}"]
)
def test_a_timeout_that_is_no_positive_whole_number(text: str) -> None:
    run = given(env={"TIMEOUT": text})
    assert (run.timeout, run.kill_grace) == (None, 5.0)


def test_of_two_limits_the_earlier() -> None:
    env = {"TIMEOUT": "100"}
    assert given("--timeout", "30", env=env).timeout == 30
    assert given("--timeout", "95", env=env).timeout == 90
    assert given("--kill-grace", "1", env=env).kill_grace == 1
    assert given("--kill-grace", "50", env=env).kill_grace == 5


# The rest


def test_prompt_files(tmp_path: Path) -> None:
    file = tmp_path / "prompt"
    file.write_bytes(b"\xef\xbb\xbfa\r\n\xff\x00b\n")
    assert (
        given("--prompt-file", str(file)).prompt
        == "a\r\n\N{REPLACEMENT CHARACTER}\0b\n"
    )
    file.write_bytes(b"")
    assert given("--prompt-file", str(file)).prompt == ""


def test_the_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings.run_directory(given()) == os.getcwd()
    assert settings.run_directory(given("--cwd", "x")) == str(tmp_path / "x")
    assert settings.run_directory(given("--cwd", "/x/../y")) == "/y"


def test_the_help_names_every_option() -> None:
    text = options.help_text()
    for option in OPTIONS:
        assert (f"  {option.flag}" in text) == bool(option.help)
        if option.name != "config":
            assert hasattr(Settings, option.name)
