"""A real Chromium, offline; where there is none, the tests are skipped and say why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ..harness import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-dev-shm-usage"),
)
HARMLESS = ("net::ERR_", "responded with a status of")
"""What Chromium itself says of a server that is away, or refuses."""

Open = Callable[..., "Page"]


def expect(locator: Any) -> Any:
    """Say what a part of the page is to become: it is waited for."""
    from playwright import sync_api

    return sync_api.expect(locator)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser a module: Playwright's loop must not outlive it in this thread."""
    named = os.environ.get("AGENT_WRAP_CHROMIUM", "")
    program = named or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="pip install '.[browser]'"
    )
    sync_api.expect.set_options(timeout=PATIENCE * 1000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=list(OPTIONS)
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Open an address in a window of its own; whatever the page complains of fails."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def heard(message: Any) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def open_page(url: str, width: int = 1280, height: int = 800, **how: Any) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, **how
        )
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [c for c in complaints if not any(h in c for h in HARMLESS)] == []
