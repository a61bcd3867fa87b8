"""What the live tests stand on: the agents' programs, the model, a throw-away place.

Owns the decision whether a test can run at all, and each agent's configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from .harness import Bench, find_program
from .scripted_model import Model

KEY = "dummy-key-of-the-live-tests"

CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false
"""


class Prepare(Protocol):
    """Makes the place in which an agent plays a scenario."""

    def __call__(self, scenario: str) -> Bench: ...


@pytest.fixture
def model() -> Iterator[Model]:
    """A scripted model on a free port."""
    with Model() as model:
        yield model


@pytest.fixture
def claude_code(model: Model, tmp_path: Path) -> Iterator[Prepare]:
    """A place for Claude Code: no account, no telemetry, no update, few retries."""
    programs = _programs("claude", "@anthropic-ai/claude-code")
    benches: list[Bench] = []

    def prepare(scenario: str) -> Bench:
        variables = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": model.url(scenario),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            # It refuses to skip permissions as root unless it is told this.
            "IS_SANDBOX": "1",
        }
        benches.append(Bench(tmp_path, programs, variables))
        return benches[-1]

    yield prepare
    for bench in benches:
        bench.close()


@pytest.fixture
def codex(model: Model, tmp_path: Path) -> Iterator[Prepare]:
    """A place for Codex: a provider of its own, no analytics, no update."""
    programs = _programs("codex", "@openai/codex")
    benches: list[Bench] = []

    def prepare(scenario: str) -> Bench:
        bench = Bench(tmp_path, programs, {"OPENAI_API_KEY": KEY})
        benches.append(bench)
        folder = bench.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(
            CODEX_CONFIG.format(url=model.url(scenario))
        )
        bench.variables["CODEX_HOME"] = str(folder)
        return bench

    yield prepare
    for bench in benches:
        bench.close()


@pytest.fixture
def copilot(model: Model, tmp_path: Path) -> Iterator[Prepare]:
    """A place for Copilot, over ACP: a provider of its own, no account, no network."""
    programs = _programs("copilot", "@github/copilot")
    benches: list[Bench] = []

    def prepare(scenario: str) -> Bench:
        variables = {
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_PROVIDER_BASE_URL": f"{model.url(scenario)}/v1",
            "COPILOT_PROVIDER_WIRE_API": "responses",
        }
        benches.append(Bench(tmp_path, programs, variables))
        return benches[-1]

    yield prepare
    for bench in benches:
        bench.close()


def _programs(name: str, package: str) -> str:
    folder = find_program(name)
    if folder is None:
        pytest.skip(
            f"{name} is neither on PATH nor in AGENT_WRAP_LIVE_BIN"
            f" (npm install {package}; then its folder is node_modules/.bin)"
        )
    return folder
