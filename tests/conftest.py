"""Options of the test run."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

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
