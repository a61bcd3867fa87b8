"""The page of one run: everything that an agent can tell, as the session tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    HookUpdated,
    InteractionResolved,
    Notice,
    QuestionAsked,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
    ToolProgress,
    ToolStarted,
    Usage,
)
from agent_wrap.outcome import Outcome

from ..harness import wait_for
from ..serve.served import Served, serve
from .conftest import Open, expect

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser


@pytest.fixture
def run() -> Iterator[Served]:
    with serve(prompt="Do it") as served:
        yield served


def url(run: Served) -> str:
    return f"http://127.0.0.1:{run.port}/"


def test_what_an_agent_tells_is_shown_as_it_comes(run: Served, open_page: Open) -> None:
    page = open_page(url(run), 1400)
    page.locator(".turn", has_text="Do it").wait_for()
    run.tell(
        SessionStarted(model="a-model"),
        ThinkingDelta("First I think", "m1"),
        TextDelta("Then ", "m2"),
        TextDelta("I `speak`.", "m2"),
        ToolStarted("t1", "Bash", {"command": "make all"}),
        ToolProgress("t1", "compiling a.c\n"),
        ToolProgress("t1", "compiling b.c\n"),
        Usage(input=1200, cached=300, output=40, cost=0.0125, message_id="m2"),
        TodoUpdated((TodoItem("one", "completed"), TodoItem("two", "in_progress"))),
        SubagentUpdated("s1", "running", "Looks around", 3),
        HookUpdated("h1", "completed", "PreToolUse", "checked", "", 0),
        Notice("The model is busy, trying again"),
    )
    page.locator(".notice", has_text="trying again").wait_for()
    expect(page.locator(".thinking .line")).to_have_text("First I think")
    expect(page.locator(".thinking .body")).to_be_hidden()
    page.locator(".thinking summary").click()
    expect(page.locator(".thinking .body")).to_have_text("First I think")
    expect(page.locator("#timeline > .text code")).to_have_text("speak")
    tool = page.locator('.tool[data-status="running"]')
    expect(tool.locator(".line")).to_have_text("make all")
    expect(tool.locator(".peek")).to_have_text("compiling b.c")
    expect(page.locator("#place")).to_contain_text("a-model")
    beside = page.locator("#aside-body")
    for part in (
        "1,500 tokens",
        "300 tokens",
        "$0.0125",
        "two, under way",
        "one, done",
    ):
        expect(beside).to_contain_text(part)
    expect(beside).to_contain_text("Looks around running · 3 tools")
    page.locator(".hook summary").click()
    page.locator(".hook pre", has_text="checked").wait_for()

    run.finish(Outcome("timeout", 124, "timeout"), "the time limit of 5 s")
    page.locator("#timeline > .error", has_text="the time limit of 5 s").wait_for()
    page.locator(".end.bad", has_text="Failed").wait_for()
    page.locator('.tool[data-status="error"]').wait_for()
    expect(page.locator("#state")).to_have_text("failed")
    expect(page.locator("#composer")).to_be_hidden()


def test_what_waits_is_shown_until_it_is_resolved(run: Served, open_page: Open) -> None:
    page = open_page(url(run), 390, 760)
    page.locator(".turn").wait_for()
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "size": {"type": "integer", "minimum": 1},
            "kind": {"enum": ["a", "b"], "enumNames": ["Alpha", "Beta"]},
            "sure": {"type": "boolean"},
        },
    }
    question = {
        "header": "Way",
        "question": "Which way?",
        "options": [
            {"label": "East", "description": "the old one"},
            {"label": "West"},
        ],
        "multiSelect": False,
    }
    run.tell(
        ToolStarted("t1", "Bash", {"command": "rm -rf build"}),
        ApprovalAsked("a1", "Bash", {"command": "rm -rf build"}, "t1"),
        QuestionAsked("q1", (question,)),
        ElicitationAsked("e1", "a-server", "Who are you?", schema),
    )
    page.get_by_role("form", name="May Bash run?").wait_for()
    page.get_by_role("form", name="a-server asks").wait_for()
    page.locator('.tool[data-status="waiting"]').wait_for()
    expect(page.locator("#state")).to_have_text("waits for you")
    asks = page.locator("#asks")
    expect(asks).to_contain_text("rm -rf build")
    for kind in ("East", "Your name", "size", "kind", "sure"):
        assert asks.get_by_label(kind).count() == 1, kind
    assert asks.locator("option").all_inner_texts()[1:] == ["Alpha", "Beta"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390

    def left() -> int:
        minutes, seconds = page.locator(".ask .time").first.inner_text().split(":")
        return int(minutes) * 60 + int(seconds)

    at_first = left()
    assert 580 < at_first <= 600
    wait_for(lambda: left() < at_first, "the time to pass")
    late = open_page(url(run))  # from a snapshot
    late.locator(".ask").nth(2).wait_for()
    run.tell(
        InteractionResolved("a1", "denied"),
        InteractionResolved("q1", "answered"),
        InteractionResolved("e1", "cancelled"),
    )
    page.locator("#asks").wait_for(state="hidden")
    late.locator("#asks").wait_for(state="hidden")
    page.locator(".tool .peek", has_text="denied").wait_for()
    page.locator("#state", has_text="working").wait_for()


def test_a_turn_under_way_is_whole_for_who_comes_late(
    run: Served, open_page: Open
) -> None:
    run.tell(TextDelta("One. ", "m1"), ToolStarted("t1", "Read", {"path": "a"}))
    first = open_page(url(run))
    first.locator(".tool").wait_for()
    run.tell(ToolStarted("t2", "Agent/Read", {"path": "b"}), TextDelta("Two.", "m2"))
    first.locator(".text", has_text="Two.").wait_for()
    second = open_page(url(run))
    second.locator(".text", has_text="Two.").wait_for()
    for page in (first, second):
        kinds = page.locator("#timeline > li").evaluate_all(
            "rows => rows.map(row => row.classList[0])"
        )
        assert kinds == ["turn", "text", "tool", "tool", "text"]
    run.finish()
    second.locator(".end.good").wait_for()
    second.locator("#state", has_text="finished").wait_for()


def test_a_window_that_nobody_sees_lets_go_of_its_stream(
    run: Served, open_page: Open
) -> None:
    run.tell(TextDelta("One. ", "m1"))
    page = open_page("about:blank")
    page.clock.install()
    page.goto(url(run))
    page.locator(".text", has_text="One.").wait_for()
    assert run.readers == 1

    def show(*, hidden: bool) -> None:
        what = f"{{ value: {str(hidden).lower()}, configurable: true }}"
        page.evaluate(f"Object.defineProperty(document, 'hidden', {what})")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    show(hidden=True)
    page.clock.fast_forward(31_000)
    wait_for(lambda: run.readers == 0, "the end of the stream")
    run.tell(TextDelta("Two. ", "m1"))
    show(hidden=False)
    page.locator(".text", has_text="One. Two.").wait_for()
    expect(page.locator("#timeline > .text")).to_have_count(1)


def test_a_proxy_that_fails_is_tried_again(run: Served, open_page: Open) -> None:
    run.tell(TextDelta("One. ", "m1"))
    page = open_page("about:blank")
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) < 3:
            route.fulfill(status=502, body="Bad Gateway")
        else:
            route.continue_()

    page.route("**/api/sessions/*/events*", answer)
    page.goto(url(run))
    page.locator(".text", has_text="One.").wait_for()
    assert len(asked) == 3
