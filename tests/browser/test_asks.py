"""What an agent asks, answered on the page: real agents, several windows."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..harness import child
from ..serve.server import Server
from ..serve.test_run import ServedRun
from .conftest import Open, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
Begin = Callable[..., str]


def agent(folder: Path, part: str) -> list[str]:
    """Make a program of the name that the adapter knows; give its command."""
    program = folder / "bin" / "claude"
    program.parent.mkdir()
    plays = shlex.join(child("control_agent", part))
    program.write_text(f'#!/bin/sh\nexec {plays} "$@"\n')
    program.chmod(0o700)
    return [str(program), "-p", "--input-format", "stream-json"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Start a server whose agent asks; give its address."""
    servers: list[Server] = []

    def begin(part: str, *options: str) -> str:
        command = agent(tmp_path, part)
        server = Server(tmp_path, command, "--permissions", "ask", *options)
        servers.append(server)
        return f"http://127.0.0.1:{server.port}/"

    yield begin
    for server in servers:
        server.close()


def ask(page: Page) -> None:
    page.get_by_role("button", name="New session").click()
    page.get_by_label("Message to the agent").fill("Hi")
    page.keyboard.press("Enter")
    page.locator(".ask").first.wait_for()


def said(page: Page, text: str) -> None:
    page.locator("#timeline > .text", has_text=text).wait_for()
    page.locator(".end.good").wait_for()
    expect(page.locator("#asks")).to_be_hidden()


def test_asked_in_one_window_and_granted_in_another(
    begin: Begin, open_page: Open
) -> None:
    page = open_page(begin("ask"))
    ask(page)
    page.locator('.tool[data-status="waiting"]').wait_for()
    phone = open_page(page.url, 390, 760)
    phone.get_by_role("form", name="May Bash run?").wait_for()
    expect(phone.locator(".ask")).to_contain_text("command: make")
    phone.get_by_role("button", name="Approve").click()
    for window in (page, phone):
        said(window, "r-t1: allow")
        window.locator('.tool[data-status="complete"]').wait_for()
    page.locator(".ask").wait_for(state="detached")


def test_denied_by_keyboard(begin: Begin, open_page: Open) -> None:
    page = open_page(begin("ask"))
    ask(page)
    page.get_by_role("button", name="Approve").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    said(page, "r-t1: deny")
    page.locator('.tool[data-status="error"]').wait_for()
    expect(page.locator(".tool .peek")).to_have_text("denied")
    # The focus was in a card that has gone: it is not lost.
    assert page.evaluate("document.activeElement.id") == "text"


def test_two_at_once(begin: Begin, open_page: Open) -> None:
    page = open_page(begin("pair"))
    ask(page)
    page.locator(".ask").nth(1).wait_for()
    page.locator(".ask").nth(1).get_by_role("button", name="Deny").click()
    page.locator(".ask").nth(1).wait_for(state="detached")
    page.get_by_role("button", name="Approve").click()
    said(page, "r-t1: allow")


def test_questions(begin: Begin, open_page: Open) -> None:
    page = open_page(begin("question"))
    ask(page)
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("Each question needs an answer.").wait_for()
    page.get_by_role("group", name="Which colour?").get_by_label("blue").check()
    page.get_by_role("group", name="Which size?").get_by_label("Answer").fill("large")
    page.keyboard.press("Enter")
    said(page, "answers")
    text = page.locator(".text .prose").inner_text().removeprefix("answers: ")
    assert set(json.loads(text).values()) == {"blue", "large"}


@pytest.mark.parametrize(
    ("button", "told"),
    [("Submit", '"name": "Ada"'), ("Decline", "decline"), ("Cancel", "cancel")],
)
def test_a_form(begin: Begin, open_page: Open, button: str, told: str) -> None:
    page = open_page(begin("form"))
    ask(page)
    page.get_by_role("form", name="crm asks").get_by_label("name").fill("Ada")
    page.get_by_role("button", name=button).click()
    said(page, told)


def test_a_page_to_visit(begin: Begin, open_page: Open) -> None:
    page = open_page(begin("link"))
    ask(page)
    link = page.get_by_role("link", name="https://example.org/allow")
    assert link.get_attribute("rel") == "noopener noreferrer"
    page.get_by_role("button", name="Submit").click()
    said(page, "accept")


def test_out_of_time(begin: Begin, open_page: Open) -> None:
    page = open_page(begin("ask", "--ask-timeout", "2"))
    ask(page)
    expect(page.locator(".time.soon")).to_have_count(1)
    said(page, "r-t1: deny")


def test_the_page_of_one_run_answers_too(tmp_path: Path, open_page: Open) -> None:
    options = ("--prompt", "Hi", "--permissions", "ask", "--serve-linger", "60")
    with ServedRun(tmp_path, command=agent(tmp_path, "ask"), options=options) as run:
        page = open_page(f"http://127.0.0.1:{run.port}/")
        page.get_by_role("button", name="Approve").click()
        said(page, "r-t1: allow")
        page.locator("#state", has_text="finished").wait_for()
        expect(page.locator("#composer")).to_be_hidden()
        run.process.send_signal(signal.SIGTERM)
        run.end()
