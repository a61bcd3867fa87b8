"""The page while agents work: sending, following, stopping, coming back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..harness import child
from ..serve.server import Server
from .conftest import Open

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>"


def expect(page: Page, selector: str, text: str | None = None) -> None:
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
    expect(page, "#empty", "Nothing has happened yet")
    ask(page, "Fix the test")
    expect(page, ".turn", "Fix the test")
    expect(page, ".text", "Hello you <img")  # while the agent waits
    assert page.locator(".text strong").inner_text() == "you"
    expect(page, "#state", "working")
    assert page.get_by_role("button", name="Send").is_disabled()
    gates[0].touch()
    expect(page, '.tool[data-status="running"]', "make")
    gates[1].touch()
    expect(page, '.tool[data-status="complete"] .peek', "output of t1")
    expect(page, ".end.good", "Done")
    expect(page, "#nav [aria-current]", "Fix the test")
    assert "scripted-model" in page.locator("#place").inner_text()
    assert page.locator("#working").is_hidden()

    page.locator(".tool summary").click()
    expect(page, ".tool .body", "command: make")
    expect(page, ".tool .body pre", "output of t1")

    ask(page, "And now?")
    page.locator(".end.good").nth(1).wait_for()
    assert texts(page, ".turn .prose") == ["Fix the test", "And now?"]
    assert page.locator(".tool").count() == 2

    other = open_page(page.url)  # the same from a snapshot
    other.locator(".text", has_text="All of it.").nth(1).wait_for()
    assert texts(other, ".turn .prose") == ["Fix the test", "And now?"]
    assert other.locator(".tool").count() == 2


def test_stop(server: Server, open_page: Open) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    ask(page, "x")
    expect(page, ".text", "Hello")
    page.get_by_role("button", name="Stop").click()
    expect(page, ".end", "Stopped")
    expect(page, "#state", "stopped")
    expect(page, ".notice", "stopped by")
    page.reload()
    expect(page, ".notice", "stopped by")
    assert page.locator("#timeline > .error").count() == 0


def test_what_is_written_is_not_lost_when_it_cannot_be_sent(
    server: Server, open_page: Open
) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    page.get_by_label("Folder").fill("/")
    ask(page, "a long text")
    expect(page, "#problem", "This folder is not served")
    assert page.get_by_label("Message to the agent").input_value() == "a long text"


def test_a_restart_of_the_server_leaves_no_gap_and_nothing_twice(
    server: Server, tmp_path: Path, open_page: Open
) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    ask(page, "Begin")
    expect(page, ".text", "Hello")
    server.end(signal.SIGKILL)
    expect(page, "#state", "reconnecting")
    again = Server(tmp_path, child("scripted", "init"), port=server.port)
    try:
        expect(page, ".end.bad", "Failed")
        expect(page, "#timeline > .error", "the server ended while this turn ran")
        expect(page, "#state", "failed")
        assert texts(page, ".turn .prose") == ["Begin"]
        assert page.locator("#timeline > .text").count() == 1
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
    expect(page, ".end.good")
    assert texts(page, ".turn .prose") == ["one\ntwo"]
    page.keyboard.press("Shift+Tab")
    while focused() != "scroll":
        page.keyboard.press("Shift+Tab")
    for _ in range(3):  # from the end: the end, the text, the tool
        page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page, ".tool details[open] .body", "output of t1")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.className") == "text"


def test_a_screen_reader_finds_its_way(server: Server, open_page: Open) -> None:
    page = open_page(url(server))
    page.get_by_role("button", name="New session").click()
    ask(page, "Tell me")
    expect(page, ".text", "Hello")
    page.get_by_role("navigation", name="Sessions").wait_for()
    page.get_by_role("main", name="Tell me").wait_for()
    page.get_by_role("region", name="Timeline").wait_for()
    page.get_by_role("heading", name="Asked: Tell me").wait_for()
    page.get_by_role("link", name="Tell me").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("status").filter(has_text="The turn has ended: Stopped").wait_for()
