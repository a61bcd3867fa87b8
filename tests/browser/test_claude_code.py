"""Real Claude Code behind the page: asked in one window, granted in another."""

from __future__ import annotations

import os

import pytest

from ..live.conftest import Prepare, claude_code, make_bench, model
from ..serve.server import Server
from .conftest import Open, expect

pytestmark = [pytest.mark.browser, pytest.mark.live]
__all__ = ["claude_code", "make_bench", "model"]  # fixtures

COMMAND = (
    *("claude", "-p", "--input-format", "stream-json"),
    *("--model", "claude-sonnet-4-5"),
)


def test_asked_in_one_window_granted_in_another(
    claude_code: Prepare,
    open_page: Open,
) -> None:
    bench = claude_code("asks")
    path = os.pathsep.join((bench.programs, os.environ["PATH"]))
    env = {**bench.variables, "PATH": path, "HOME": str(bench.home)}
    options = ("--permissions", "ask")
    server = Server(bench.folder, COMMAND, *options, adapter="auto", env=env)
    try:
        page = open_page(f"http://127.0.0.1:{server.port}/")
        page.get_by_role("button", name="New session").click()
        page.get_by_label("Message to the agent").fill("Please do it.")
        page.keyboard.press("Enter")
        page.locator(".ask").wait_for()
        phone = open_page(page.url, 390, 760)
        phone.get_by_role("button", name="Approve").click()
        for window in (page, phone):
            window.locator(".end.good").wait_for()
            window.locator('.tool[data-status="complete"]').wait_for()
            expect(window.locator("#asks")).to_be_hidden()
        phone.get_by_label("Message to the agent").fill("And once more.")
        phone.get_by_role("button", name="Send").click()
        page.locator(".turn", has_text="And once more.").wait_for()
        page.locator(".end").nth(1).wait_for()
    finally:
        server.close()
