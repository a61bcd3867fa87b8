"""Options of the test run."""

from __future__ import annotations

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


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Are golden dialogs to be written rather than compared?"""
    return bool(request.config.getoption("--update-golden"))
