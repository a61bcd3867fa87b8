"""What the live tests stand on: the agents' programs, the model, a throw-away place.

Owns the decision whether a test can run at all, and each agent's configuration.
"""

from __future__ import annotations

import json
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


PI_MODEL = {
    "id": "scripted",
    "name": "scripted",
    "input": ["text"],
    "contextWindow": 200_000,
    "maxTokens": 8000,
    "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
}


class MakeBench(Protocol):
    """Makes a place for a program, that is cleaned up after the test."""

    def __call__(
        self, program: str, package: str, variables: dict[str, str]
    ) -> Bench: ...


class Prepare(Protocol):
    """Makes the place in which an agent plays a scenario."""

    def __call__(self, scenario: str) -> Bench: ...


class Place(Protocol):
    """Makes the place in which the agent of a fixture plays a scenario."""

    def __call__(self, fixture: str, scenario: str) -> Bench: ...


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Place:
    """The places of all agents, for tests that are the same for several."""

    def make(fixture: str, scenario: str) -> Bench:
        prepare: Prepare = request.getfixturevalue(fixture)
        return prepare(scenario)

    return make


@pytest.fixture
def model() -> Iterator[Model]:
    """A scripted model on a free port."""
    with Model() as model:
        yield model


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[MakeBench]:
    """Places for programs; a test whose program is not installed is skipped."""
    benches: list[Bench] = []

    def make(program: str, package: str, variables: dict[str, str]) -> Bench:
        folder = find_program(program)
        if folder is None:
            pytest.skip(
                f"{program} is neither on PATH nor in AGENT_WRAP_LIVE_BIN"
                f" (npm install {package}; then its folder is node_modules/.bin)"
            )
        benches.append(Bench(tmp_path, folder, variables))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()


@pytest.fixture
def claude_code(model: Model, make_bench: MakeBench) -> Prepare:
    """A place for Claude Code: no account, no telemetry, no update, few retries."""

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
        return make_bench("claude", "@anthropic-ai/claude-code", variables)

    return prepare


@pytest.fixture
def codex(model: Model, make_bench: MakeBench) -> Prepare:
    """A place for Codex: a provider of its own, no analytics, no update."""

    def prepare(scenario: str) -> Bench:
        bench = make_bench("codex", "@openai/codex", {"OPENAI_API_KEY": KEY})
        folder = bench.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(
            CODEX_CONFIG.format(url=model.url(scenario))
        )
        bench.variables["CODEX_HOME"] = str(folder)
        return bench

    return prepare


@pytest.fixture
def copilot(model: Model, make_bench: MakeBench) -> Prepare:
    """A place for Copilot: a provider of its own, no account, no network."""

    def prepare(scenario: str) -> Bench:
        variables = {
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_PROVIDER_BASE_URL": f"{model.url(scenario)}/v1",
            "COPILOT_PROVIDER_WIRE_API": "responses",
        }
        return make_bench("copilot", "@github/copilot", variables)

    return prepare


@pytest.fixture
def pi(model: Model, make_bench: MakeBench) -> Prepare:
    """A place for Pi: a provider of its own, no network, no update."""

    def prepare(scenario: str) -> Bench:
        variables = {
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
        }
        bench = make_bench("pi", "@earendil-works/pi-coding-agent", variables)
        folder = bench.home / ".pi" / "agent"
        folder.mkdir(parents=True)
        provider = {
            "api": "openai-completions",
            "apiKey": KEY,
            "baseUrl": f"{model.url(scenario)}/v1",
            "models": [PI_MODEL],
        }
        providers = {"providers": {"scripted": provider}}
        (folder / "models.json").write_text(json.dumps(providers))
        return bench

    return prepare
