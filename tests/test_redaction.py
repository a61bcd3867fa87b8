"""No file of the archive holds a secret; the agent and who watches it see all."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import agent_wrap
from agent_wrap.events import Event, Message

from .harness import Run, child, run, scripted
from .killing import kill_supervisor

NAME = "MY_API_KEY"
SECRETS = [
    "sk-ant-api03-Zk9qWe7Rt5xYz-0123",
    'quo"ted\\and/slashed<&>+=',
    "schl\u00fcssel-\u043a\u043b\u044e\u0447-\U0001f511-xyz",
]
CLAUDE = ("--adapter", "claude-code")
MARK = f"[redacted:{NAME}]"


def forms(secret: str) -> Iterator[bytes]:
    """Give what the child says in place of a secret, made in another way than there."""
    raw = secret.encode()
    yield raw
    yield json.dumps(secret)[1:-1].encode()
    yield json.dumps(secret, ensure_ascii=False)[1:-1].encode()
    for before in range(3):
        coded = base64.b64encode(b"x" * before + raw)
        yield coded[4 : 4 * (len(raw) // 3 - 1)]
    yield quote(secret, safe="").encode()


def leaks(archive: Path, secret: str) -> list[str]:
    """Say which file holds which form of a secret, in its bytes or as decoded."""
    found = []
    for path in archive.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        decoded = data
        if path.suffix in (".json", ".jsonl"):
            values = [json.loads(line) for line in data.splitlines()]
            decoded = json.dumps(values, ensure_ascii=False).encode()
        found += [
            f"{path.name}: {form!r}"
            for form in forms(secret)
            if form in data or form in decoded
        ]
    return found


@pytest.mark.parametrize("secret", SECRETS, ids=["plain", "awkward", "unicode"])
def test_everywhere_at_once(tmp_path: Path, secret: str) -> None:
    command = [*child("leaky", NAME), secret]
    options = (*CLAUDE, "--prompt", f"Use {secret} now", "--task", secret)
    done = run(tmp_path, command, *options, env={NAME: secret})
    assert leaks(done.archive, secret) == []
    assert done.code == 1
    assert done.complete["message"] == f"failed with {MARK}"
    assert done.entries[0]["data"]["task"] == MARK
    assert done.entries[1]["content"] == f"Use {MARK} now"
    assert done.summary["command"][-1] == MARK
    assert done.summary["redactions"] > 10
    assert done.messages[:2] == [f"split {MARK} end", f"escaped {MARK}"]
    tool, result = [e for e in done.entries if e["type"] == "tool"]
    assert tool["tool_id"] == result["tool_id"] == f"id-{MARK}"
    assert result["result"] == MARK
    # The agent's own behaviour, and what it shows, is unchanged.
    assert done.stdout.count(secret.encode()) >= 1
    assert secret in done.stderr
    assert f"no json: {secret}".encode() in done.stdout


def test_the_prompts_file(tmp_path: Path) -> None:
    """The agent must read the true prompt: the file goes when the run ends."""
    secret = SECRETS[0]
    options = ("--prompt", f"Use {secret}", "--adapter", "plain")
    done = run(tmp_path, ["cat", "{prompt_file}"], *options, env={NAME: secret})
    assert secret.encode() in done.stdout
    assert leaks(done.archive, secret) == []


def test_a_killed_supervisor_leaks_nothing(tmp_path: Path) -> None:
    secret = SECRETS[0]
    steps = ("init", f"text=Hi {secret}", "tool=t1", f"err={secret}", "sleep=60")
    prompt = ("--prompt", secret)
    with Run(tmp_path, scripted(*steps), *CLAUDE, *prompt, env={NAME: secret}) as (
        started
    ):
        started.until(lambda: "tool" in started.types, "a tool")
        started.process.send_signal(signal.SIGUSR1)
        kill_supervisor(started)
        assert started.wait() == 137
        assert leaks(started.archive, secret) == []
        assert started.messages == [f"Hi {MARK}"]


@pytest.mark.parametrize(
    "value",
    ["", "short", "12345678", "true", "/usr/lib/keys", "https://example.org/", "none"],
)
def test_common_values_stay(tmp_path: Path, value: str) -> None:
    steps = ("init", f"text=says {value}!", "result")
    done = run(tmp_path, scripted(*steps), *CLAUDE, env={NAME: value})
    assert done.messages == [f"says {value}!"]
    assert done.summary["redactions"] == 0


def test_other_names_stay_unless_they_are_given(tmp_path: Path) -> None:
    steps = ("init", "text=the pin is 4711, the code abcdefgh", "result")
    variables = {"PIN": "4711", "CODE": "abcdefgh"}
    done = run(tmp_path, scripted(*steps), *CLAUDE, env=variables)
    assert done.messages == ["the pin is 4711, the code abcdefgh"]
    options = (*CLAUDE, "--redact", "PIN,CODE")
    done = run(tmp_path, scripted(*steps), *options, env=variables)
    assert done.messages == ["the pin is [redacted:PIN], the code [redacted:CODE]"]


@pytest.mark.parametrize("value", ["2026", "data", "tool", "success", "complete"])
def test_a_word_of_the_protocol_may_be_a_secret(tmp_path: Path, value: str) -> None:
    """The dialog follows the protocol all the same."""
    command = ["sh", "-c", f"echo says {value}"]
    options = ("--adapter", "plain", "--redact", NAME, "--prompt", f"A {value}")
    done = run(tmp_path, command, *options, env={NAME: value})
    assert done.messages == [f"says {MARK}"]
    assert done.complete["status"] == "success"


def test_it_can_be_left_out(tmp_path: Path) -> None:
    secret = SECRETS[0]
    steps = ("init", f"text={secret}", "result")
    options = (*CLAUDE, "--no-redact")
    done = run(tmp_path, scripted(*steps), *options, env={NAME: secret})
    assert done.messages == [secret]
    assert done.stdout == done.raw


def test_what_is_no_secret_is_kept_byte_for_byte(tmp_path: Path) -> None:
    """Starts of a secret, and secrets cut off: the raw stream is as it was said."""
    secret = SECRETS[0]
    said = f"{secret[:-1]} {secret[:5]} {secret[1:]}\\n"
    steps = (f"raw={said}", f"raw={secret[:9]}")
    done = run(tmp_path, scripted(*steps), "--adapter", "plain", env={NAME: secret})
    assert done.raw == done.stdout


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_secret_in_small_pieces(tmp_path: Path, size: int) -> None:
    secret = SECRETS[1]
    script = (
        "import os, time\n"
        f"data = ('before ' + os.environ['{NAME}'] + ' after\\n').encode()\n"
        f"for at in range(0, len(data), {size}):\n"
        f"    os.write(1, data[at:at + {size}]); time.sleep(0.002)\n"
    )
    command = [*child("scripted")[:-1], "-c", script]
    done = run(tmp_path, command, "--adapter", "plain", env={NAME: secret})
    assert leaks(done.archive, secret) == []
    assert done.raw == f"before {MARK} after\n".encode()
    assert done.stdout == f"before {secret} after\n".encode()


async def test_the_events_of_a_python_caller(tmp_path: Path) -> None:
    """A live stream is something that the wrapper writes, too."""
    secret = SECRETS[1]
    events: list[Event] = []
    async with agent_wrap.open_run(
        child("leaky", NAME),
        adapter="claude-code",
        archive=str(tmp_path / "a"),
        prompt=f"Use {secret}",
        env={**os.environ, NAME: secret},
    ) as started:
        async for event in started:
            events.append(event)
        result = await started.result()
    assert result.exit_code == 1
    assert any(isinstance(event, Message) for event in events)
    said = repr(events) + json.dumps([repr(e) for e in events], ensure_ascii=False)
    for form in forms(secret):
        assert form.decode() not in said
    assert secret not in result.message
    assert leaks(tmp_path / "a", secret) == []
