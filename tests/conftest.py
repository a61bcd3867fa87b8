"""Options of the test run."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from agent_wrap.dialog_writer import DialogWriter

# Who starts the tests by `nohup`, or behind a `&`, has these ignored, and so would all
# that they start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine is no reason to fail: no test of ours is about its own speed.
settings.register_profile(
    "calm", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("calm")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the dialogs of tests/recordings anew: read them then."""
    parser.addoption("--update-golden", action="store_true", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Spread the whole suite over the processors; files that were named are run here.

    Half of its time is waiting. A file stays together: its tests share servers. `-n 0`
    and `-p no:xdist` run one test after the other.
    """
    option = config.option
    if (
        config.pluginmanager.hasplugin("xdist")
        and not hasattr(config, "workerinput")
        and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and option.numprocesses is None
        and not (option.usepdb or option.collectonly)
    ):
        option.numprocesses = min(max(os.cpu_count() or 1, 2), 4)
        option.dist = "loadfile"


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Are golden dialogs to be written rather than compared?"""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def writers_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the drop-in writer finds: an archive, a model, no wrapper."""
    monkeypatch.delenv("AGENT_WRAP_RUN", raising=False)
    monkeypatch.setenv("SSE_ARCHIVE", str(tmp_path / "archive"))
    monkeypatch.setenv("SSE_MODEL_NAME", "the-model")


@pytest.fixture
def dialog(writers_environment: None) -> Iterator[DialogWriter]:
    """A drop-in writer."""
    writer = DialogWriter()
    yield writer
    writer.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can pass through; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path
