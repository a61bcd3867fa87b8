"""Logging in by the page: the key, the streams after it, logging out."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..harness import child, wrapper
from ..serve.server import Server
from .conftest import Open, expect

pytestmark = pytest.mark.browser


def test_a_key_opens_the_page_until_its_logout(tmp_path: Path, open_page: Open) -> None:
    data = str(tmp_path / "data")
    key = wrapper("serve", "keys", "add", "me", "--data", data).stdout.decode().strip()
    play = child("scripted", "init", "text=Hello", "result")
    server = Server(tmp_path, play)
    try:
        url = f"http://127.0.0.1:{server.port}/"
        page = open_page(url)
        page.get_by_role("dialog", name="Log in").wait_for()
        page.keyboard.press("Escape")  # there is nothing behind it
        page.get_by_label("Key").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_text("This is not a key of this server").wait_for()
        page.get_by_label("Key").fill(key)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="New session").click()
        page.get_by_label("Message to the agent").fill("Hi")
        page.keyboard.press("Enter")
        page.locator(".end.good").wait_for()

        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("Object.values(localStorage).length") == 0

        page.reload()
        page.locator(".end, .text").first.wait_for()
        other = page.context.new_page()  # the same browser
        other.goto(url)
        other.locator("#sessions a", has_text="Hi").wait_for()

        page.get_by_role("button", name="Log out").click()
        page.get_by_role("dialog", name="Log in").wait_for()
        expect(page.locator("#timeline > li")).to_have_count(0)
        other.reload()
        other.get_by_role("dialog", name="Log in").wait_for()
    finally:
        server.close()
