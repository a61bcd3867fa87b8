"""The page while agents work: sending, following, stopping, coming back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..harness import child
from ..serve.server import Server
from .conftest import Open, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>"


def seen(page: Page, selector: str, text: str | None = None) -> None:
    """Wait until something is there and seen."""
    found = page.locator(selector, has_text=text) if text else page.locator(selector)
    found.first.wait_for()


def texts(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def ask(page: Page, content: str) -> None:
    page.get_by_label("Message to the agent").fill(content)
    page.keyboard.press("Enter")


@pytest.fixture
def gates(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "first", tmp_path / "second"


@pytest.fixture
def server(tmp_path: Path, gates: tuple[Path, Path]) -> Iterator[Server]:
    """An agent that says something, waits, runs a tool, waits, and ends."""
    steps = ("init", f"text=Hello **you** {HOSTILE}", f"until={gates[0]}", "tool=t1")
    more = (f"until={gates[1]}", "done=t1", "text=All of it.", "result")
    server = Server(tmp_path, child("scripted", *steps, *more))
    yield server
    server.close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/"


def test_a_session_from_its_first_message_to_its_second(
    server: Server, gates: tuple[Path, Path], open_page: Open
) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    seen(page, "#empty", "Nothing has happened yet")
    ask(page, "Fix the test")
    seen(page, ".turn", "Fix the test")
    seen(page, ".text", "Hello you <img")  # while the agent waits
    expect(page.locator(".text strong")).to_have_text("you")
    seen(page, "#state", "working")
    assert page.get_by_role("button", name="Send").is_disabled()
    gates[0].touch()
    seen(page, '.tool[data-status="running"]', "make")
    gates[1].touch()
    seen(page, '.tool[data-status="complete"] .peek', "output of t1")
    seen(page, ".end.good", "Done")
    seen(page, "#nav [aria-current]", "Fix the test")
    expect(page.locator("#place")).to_contain_text("scripted-model")
    expect(page.locator("#working")).to_be_hidden()

    page.locator(".tool summary").click()
    seen(page, ".tool .body", "command: make")
    seen(page, ".tool .body pre", "output of t1")

    ask(page, "And now?")
    page.locator(".end.good").nth(1).wait_for()
    assert texts(page, ".turn .prose") == ["Fix the test", "And now?"]
    expect(page.locator(".tool")).to_have_count(2)

    other = open_page(page.url)  # the same from a snapshot
    other.locator(".text", has_text="All of it.").nth(1).wait_for()
    assert texts(other, ".turn .prose") == ["Fix the test", "And now?"]
    expect(other.locator(".tool")).to_have_count(2)


def test_stop(server: Server, open_page: Open) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    ask(page, "x")
    seen(page, ".text", "Hello")
    page.get_by_role("button", name="Stop").click()
    seen(page, ".end", "Stopped")
    seen(page, "#state", "stopped")
    seen(page, ".notice", "stopped by")
    page.reload()
    seen(page, ".notice", "stopped by")
    expect(page.locator("#timeline > .error")).to_have_count(0)


def test_what_is_written_is_not_lost_when_it_cannot_be_sent(
    server: Server, open_page: Open
) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    page.get_by_label("Folder").fill("/")
    ask(page, "a long text")
    seen(page, "#problem", "This folder is not served")
    assert page.get_by_label("Message to the agent").input_value() == "a long text"


def test_a_restart_of_the_server_leaves_no_gap_and_nothing_twice(
    server: Server, tmp_path: Path, open_page: Open
) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    ask(page, "Begin")
    seen(page, ".text", "Hello")
    server.end(signal.SIGKILL)
    seen(page, "#state", "reconnecting")
    again = Server(tmp_path, child("scripted", "init"), port=server.port)
    try:
        seen(page, ".end.bad", "Failed")
        seen(page, "#timeline > .error", "the server ended while this turn ran")
        seen(page, "#state", "failed")
        assert texts(page, ".turn .prose") == ["Begin"]
        expect(page.locator("#timeline > .text")).to_have_count(1)
        kinds = page.locator("#timeline > li").evaluate_all(
            "rows => rows.map(row => row.classList[0])"
        )
        assert kinds == ["turn", "text", "error", "end"]
        ask(page, "Go on")
        page.locator(".end").nth(1).wait_for()
    finally:
        again.close()


def test_by_keyboard_alone(
    server: Server, gates: tuple[Path, Path], open_page: Open
) -> None:
    for gate in gates:
        gate.touch()
    page = open_page(url(server))
    page.locator("#new").wait_for()

    def focused() -> str:
        return str(page.evaluate("document.activeElement.id || document.activeElement"))

    page.keyboard.press("Tab")
    assert focused() == "skip"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert focused() == "text"
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    seen(page, ".end.good")
    assert texts(page, ".turn .prose") == ["one\ntwo"]
    page.keyboard.press("Shift+Tab")
    while focused() != "scroll":
        page.keyboard.press("Shift+Tab")
    for _ in range(3):  # from the end: the end, the text, the tool
        page.keyboard.press("k")
    page.keyboard.press("Enter")
    seen(page, ".tool details[open] .body", "output of t1")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.className") == "text"


def test_a_screen_reader_finds_its_way(server: Server, open_page: Open) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    ask(page, "Tell me")
    seen(page, ".text", "Hello")
    page.get_by_role("navigation", name="Sessions").wait_for()
    page.get_by_role("main", name="Tell me").wait_for()
    page.get_by_role("region", name="Timeline").wait_for()
    page.get_by_role("heading", name="Asked: Tell me").wait_for()
    page.get_by_role("link", name="Tell me").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("status").filter(has_text="The turn has ended: Stopped").wait_for()
