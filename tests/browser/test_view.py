"""The page on dialogs on disk: hostile, huge, long, narrow, dark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_wrap import entries
from agent_wrap.entries import Entry

from ..serve.viewed import TS, Viewed, begin, end, write
from .conftest import Open, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

EVIL = (
    "</title><script>window.hacked = 1</script><img src=x onerror='hacked=2'>"
    "\x1b[31mred\x1b]0;title\x07 \u202eabc\u2066 javascript:alert(1) ${hacked=3} {{4}}"
)
SEEN = (
    "<script>window.hacked = 1</script><img src=x onerror='hacked=2'>"
    "red \ufffdabc\ufffd"
)
SAID = f"# {EVIL}\n**{EVIL}** `{EVIL}`\n```\n{EVIL}\n```\n{EVIL}"
DIFF = f"--- a\n+++ b\n@@ @@\n+{EVIL}"
LONG_WORD = "x" * 3000
MANY = 5000


def calls(count: int, result: str = "ok") -> Iterator[Entry]:
    for number in range(count):
        tool, seq = f"t{number}", 2 * number + 2
        yield entries.tool_start(seq, TS, tool, "Bash", {"command": f"make {number}"})
        yield entries.tool_result(seq + 1, TS, tool, "Bash", result, ok=number % 7 > 0)


def hostile() -> list[Entry]:
    args = {"command": EVIL, EVIL: EVIL, "old_string": EVIL, "new_string": "x"}
    return [
        *begin(task=EVIL, asked=EVIL, cwd=f"/{EVIL}"),
        entries.thinking(2, TS, EVIL),
        entries.message(
            3, TS, f"# {EVIL}\n**{EVIL}** `{EVIL}`\n```\n{EVIL}\n```\n{EVIL}"
        ),
        entries.tool_start(4, TS, EVIL, EVIL, args),
        entries.tool_result(5, TS, EVIL, EVIL, EVIL, ok=False),
        entries.tool_start(6, TS, "__proto__", "constructor", {"__proto__": EVIL}),
        entries.tool_result(
            7, TS, "__proto__", "constructor", "--- a\n+++ b\n@@ @@\n+" + EVIL, ok=True
        ),
        end(8, "error", EVIL),
    ]


def open_all(page: Page) -> None:
    page.evaluate(
        "document.querySelectorAll('details').forEach((d) => (d.open = true))"
    )
    page.wait_for_timeout(100)  # a toggle event is a task of its own


def fits(page: Page) -> bool:
    """Is nothing wider than the window, but what scrolls by itself?"""
    return bool(
        page.evaluate(
            """() => document.documentElement.scrollWidth <= innerWidth
            && ["scroll", "nav", "asks"].every((id) => {
              const node = document.getElementById(id);
              return node.scrollWidth <= node.clientWidth;
            })"""
        )
    )


def test_hostile_texts_are_texts(tmp_path: Path, open_page: Open) -> None:
    write(tmp_path / "runs" / "evil", hostile())
    with Viewed(tmp_path, tmp_path / "runs") as viewed:
        page = open_page(viewed.url)
        page.locator("#timeline > .error").wait_for()
        open_all(page)
        for place in (
            ".turn",
            ".thinking .body",
            ".text .heading",
            ".text strong",
            ".text code",
            ".text pre",
            ".tool .body",
            ".peek",
            "#timeline > .error",
        ):
            assert SEEN in page.locator(place).first.inner_text(), place
        expect(page.locator("#title")).to_contain_text("<script>")
        assert page.evaluate("window.hacked") is None
        expect(page.locator("img, iframe, a[href^=javascript]")).to_have_count(0)
        assert page.evaluate("document.scripts.length") == 1
        whole = page.evaluate("document.documentElement.textContent + document.title")
        assert not set(whole) & set("\x1b\x07\u202e\u2066")
        expect(page.locator(".tool")).to_have_count(2)


def test_the_policy_stops_what_would_get_through(
    tmp_path: Path, open_page: Open
) -> None:
    write(tmp_path / "a", [*begin(), end(2)])
    with Viewed(tmp_path, tmp_path / "a") as viewed:
        page = open_page(viewed.url).context.new_page()  # this one may complain
        page.goto(viewed.url)
        page.locator(".turn").wait_for()
        told = page.evaluate(
            """() => {
              try { document.body.innerHTML = "<b>x</b>"; return "made"; }
              catch (error) { return error.name; }
            }"""
        )
        assert told == "TypeError"


def test_huge_texts(tmp_path: Path, open_page: Open) -> None:
    huge = "a line of text\n" * 150_000  # 2.2 MB
    written = [
        *begin(),
        entries.message(2, TS, huge),
        entries.tool_start(3, TS, "t", "Bash", {"command": "x"}),
        entries.tool_result(4, TS, "t", "Bash", "y" * 2_000_000, ok=True),
        entries.message(5, TS, "z" * 1_000_000),
        end(6),
    ]
    write(tmp_path / "a", written)
    with Viewed(tmp_path, tmp_path / "a") as viewed:
        page = open_page(viewed.url)
        page.locator(".text").nth(1).wait_for()
        page.locator(".tool summary").click()
        more = page.get_by_role("button", name="Show 1,900,000 more characters")
        more.click()
        assert (
            page.locator(".tool pre").last.evaluate("n => n.textContent.length")
            == 2_000_000
        )
        more = page.locator(".text").first.get_by_role("button", name="more characters")
        expect(more).to_contain_text("Show 2,050,0")
        more.click()
        shown = page.locator(".text .prose").first
        assert (
            shown.evaluate("n => n.textContent.split('a line of text').length")
            == 150_001
        )


def test_a_session_of_thousands_of_calls_is_there_at_once(
    tmp_path: Path, open_page: Open
) -> None:
    write(tmp_path / "a", [*begin(), *calls(MANY), end(2 * MANY + 2)])
    with Viewed(tmp_path, tmp_path / "a") as viewed:
        page = open_page(viewed.url)
        page.locator(".tool", has_text=f"make {MANY - 1}").wait_for()
        assert page.locator("#timeline > li").count() <= 400
        took = page.evaluate(
            """async () => {
              const frames = [];
              let before = performance.now();
              for (let n = 0; n < 20; n += 1) {
                document.getElementById("scroll").scrollTop -= 200;
                await new Promise(requestAnimationFrame);
                frames.push(performance.now() - before);
                before = performance.now();
              }
              return frames.sort((a, b) => a - b)[10];
            }"""
        )
        assert took < 200  # milliseconds; a tenth of it on an idle machine
        earlier = page.get_by_role("button", name="Show earlier steps (4,60")
        earlier.click()
        expect(page.locator("#timeline > li")).to_have_count(800)
        page.get_by_role("button", name="Latest").click()
        expect(page.locator("#latest")).to_be_hidden()


def test_a_burst_while_it_is_looked_at(tmp_path: Path, open_page: Open) -> None:
    archive = tmp_path / "a"
    write(archive, begin())
    with Viewed(tmp_path, archive) as viewed:
        page = open_page(viewed.url)
        page.locator(".turn").wait_for()
        began = time.monotonic()
        write(archive, [*calls(MANY), end(2 * MANY + 2, "timeout", "too long")])
        page.locator(".tool", has_text=f"make {MANY - 1}").wait_for()
        page.locator(".end", has_text="Failed").wait_for()
        assert time.monotonic() - began < 15
        assert page.locator(".tool").count() < 800
        earlier = int(
            page.locator("#earlier").inner_text().split("(")[1][:-1].replace(",", "")
        )
        rows = page.locator("#timeline > li").count()
        assert earlier + rows == MANY + 3  # what was asked, the error, the end


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark")])
def test_a_phone(tmp_path: Path, open_page: Open, width: int, scheme: str) -> None:
    written = [
        *begin(task=LONG_WORD, asked=LONG_WORD, cwd=f"/{LONG_WORD}"),
        entries.thinking(2, TS, LONG_WORD),
        entries.message(3, TS, f"{LONG_WORD} `{LONG_WORD}`\n```\n{LONG_WORD}\n```"),
        entries.tool_start(
            4, TS, "t", f"Agent/{LONG_WORD}", {"command": LONG_WORD, "x": LONG_WORD}
        ),
        entries.tool_result(5, TS, "t", LONG_WORD, LONG_WORD, ok=False),
        end(6, "error", LONG_WORD),
    ]
    folder = tmp_path / "runs"
    write(folder / "a", written)
    write(folder / "b", [*begin(asked="another"), end(2)])
    with Viewed(tmp_path, folder) as viewed:
        page = open_page(viewed.url, width, 700, color_scheme=scheme)
        page.locator("#sessions a").nth(1).wait_for()
        expect(page.locator("#main")).to_be_hidden()
        assert fits(page)
        page.locator("#sessions a", has_text="xxx").click()
        page.locator("#timeline > .error").wait_for()
        expect(page.locator("#nav")).to_be_hidden()
        assert page.evaluate("document.activeElement.id") == "title"
        open_all(page)
        assert fits(page)
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, dark[4:-1].split(","))) < 120) == (scheme == "dark")
        page.get_by_role("button", name="All sessions").click()
        page.locator("#sessions a", has_text="another").wait_for()
        assert page.evaluate("document.activeElement.closest('#sessions') !== null")


def test_the_list_follows_its_folder_and_can_be_filtered(
    tmp_path: Path, open_page: Open
) -> None:
    folder = tmp_path / "runs"
    for number in range(10):
        write(folder / f"run-{number}", [*begin(asked=f"Task {number}"), end(2)])
    with Viewed(tmp_path, folder) as viewed:
        page = open_page(viewed.url)
        rows = page.locator("#sessions a")
        rows.nth(9).wait_for()
        page.get_by_label("Filter the sessions").fill("task 7")
        page.locator("#sessions:not(:has(li:nth-child(2)))").wait_for()
        expect(rows).to_contain_text("Task 7")
        page.get_by_label("Filter the sessions").fill("")
        write(folder / "new", begin(asked="One more"))
        page.locator("#sessions a", has_text="One more").wait_for()
        expect(page.locator("#new")).to_be_hidden()
        expect(page.locator("#composer")).to_be_hidden()


def test_a_session_that_is_not_there(tmp_path: Path, open_page: Open) -> None:
    write(tmp_path / "a", [*begin(), end(2)])
    with Viewed(tmp_path, tmp_path / "a") as viewed:
        page = open_page(f"{viewed.url}#0f8fad5b-d9cb-469f-a165-70867728950e")
        page.locator("#empty", has_text="There is no such session here").wait_for()
        page.locator("#sessions a").click()
        page.locator(".turn", has_text="Fix it").wait_for()
