"""HTML and Markdown: everything is there, nothing of it is more than text."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent_wrap import entries
from agent_wrap.export import html, html_page, markdown
from agent_wrap.export.run import Run, paired

from ..dialogs import ts
from .samples import HOSTILE, SAMPLES, dialog, runs

TAGS = {
    *("html", "head", "meta", "style", "title", "body", "header", "h1", "span", "p"),
    *("dl", "div", "dt", "dd", "nav", "a", "button", "small", "main", "article"),
    *("time", "details", "summary", "b", "pre", "footer", "script", "code"),
    *("input", "select", "option", "output", "svg", "path", "rect", "text"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id"),
    *("aria-label", "hidden", "href", "type", "open", "placeholder", "value"),
    *("xmlns", "role", "viewbox", "width", "height", "x", "y", "d", "text-anchor"),
}
UNCLOSED = {"meta", "input", "option", "path", "rect"}


class Page(HTMLParser):
    """What a browser finds: tags, attributes, texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in UNCLOSED
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_page_has_our_tags_only(name: str) -> None:
    page = Page("".join(html.export(SAMPLES[name])))
    assert page.open == []
    assert set(page.tags) <= TAGS
    assert page.tags.count("script") == 1
    assert {key for key, _ in page.attributes} <= ATTRIBUTES
    assert all(
        value and value[0] == "#" for key, value in page.attributes if key == "href"
    )


def test_every_recording_gives_a_page() -> None:
    for name, run in runs().items():
        assert Page("".join(html.export(run))).open == [], name


def test_the_policy_allows_our_script_and_style_alone() -> None:
    page = "".join(html.export(SAMPLES["hostile"]))
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "unsafe" not in html_page.POLICY
    assert html_page.POLICY.startswith("default-src 'none';")
    left = page.replace("http://evil", "").replace("http://www.w3.org/2000/svg", "")
    assert re.search(r"https?:", left) is None


def test_hostile_texts_are_texts() -> None:
    page = "".join(html.export(SAMPLES["hostile"]))
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert Page(page).text.count("<script>alert(1)</script>") >= 10


def test_all_that_happened_is_on_the_page() -> None:
    text = Page("".join(html.export(SAMPLES["plain"]))).text
    for part in ("$0.2500", "1,500 (1,000 cached)", "3 (1 failed)", "timeout", "124"):
        assert part in text
    assert "4.5 s" in text
    assert "no result" in text
    assert "print(1)" in text


def test_a_page_is_written_piece_by_piece_and_soon() -> None:
    def read() -> object:
        yield from dialog(end=False)[:2]
        for number in range(2, 20_002, 2):
            yield entries.tool_start(number, ts(number), f"t{number}", "bash", {"n": 1})
            text = "result <b>\n" * 10
            yield entries.tool_result(
                number + 1, ts(number), f"t{number}", "bash", text, ok=True
            )

    began = time.process_time()
    pieces = list(html.export(Run(read)))  # type: ignore[arg-type]
    assert len(pieces) > 10_000
    assert max(map(len, pieces)) < 20_000
    assert time.process_time() - began < 10


def test_what_it_used_is_on_the_page() -> None:
    used = {"resources": {"peak_rss_bytes": 309_000_000, "cpu_s": 2.14}}
    text = Page("".join(html.export(Run(lambda: iter(dialog()), used)))).text
    assert "memory, peak309 MB" in text
    assert "CPU time2.1 s" in text
    for broken in ({"resources": 5}, {"resources": {"peak_rss_bytes": "x"}}):
        page = "".join(html.export(Run(lambda: iter(dialog()), broken)))
        assert "memory, peak" not in page


def test_a_failed_tool_is_found() -> None:
    page = "".join(html.export(SAMPLES["plain"]))
    assert page.count('<a href="#first-failed">') == 1
    assert page.count('id="first-failed"') == 1
    assert '<article class="tool failed" id="e5">' in page
    assert '<a href="#e5"><title>' in page


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(not BROWSER, reason="no Chromium or Chrome on this machine")
def test_the_search_of_the_page_in_a_browser(tmp_path: Path) -> None:
    """Under its policy, which here allows its script with our typing at the end."""
    typing = (
        "find.value='NUMBER 7';kind.value='tool';choose();"
        "document.title=rows.filter(r=>!r.hidden).map(r=>r.id).join()"
        "+'|'+said.textContent+'|'+folds().length;"
    )
    found = [entry for entry in dialog(end=False) if entry["type"] != "tool"]
    for number in range(2):
        result = f"number {number + 6}"
        start = entries.tool_start(20 + number, ts(20), f"n{number}", "bash", {})
        end = entries.tool_result(
            30 + number, ts(30), f"n{number}", "bash", result, ok=True
        )
        found += [start, end]
    page = "".join(html.export(Run(lambda: iter(found))))
    script = html_page.SCRIPT + typing
    allowed = html_page._hash(html_page.SCRIPT), html_page._hash(script)
    page = page.replace(*allowed).replace(html_page.SCRIPT, script)
    (tmp_path / "page.html").write_text(page)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options += [
        f"--user-data-dir={tmp_path / 'profile'}",
        f"file://{tmp_path}/page.html",
    ]
    done = subprocess.run(
        [str(BROWSER), *options], capture_output=True, text=True, timeout=60, check=True
    )
    assert "<title>e21|1 of 8|1</title>" in done.stdout


def test_fences_that_never_end_take_no_longer() -> None:
    text = "```x\n" * 200_000
    run = Run(lambda: iter([entries.message(0, ts(0), text)]))
    began = time.process_time()
    assert len("".join(html.export(run))) > 200_000
    assert time.process_time() - began < 10


def test_pairs_keep_the_order_of_the_starts() -> None:
    pairs = list(paired(dialog()))
    assert [pair.entry["seq"] for pair in pairs] == [
        0,
        1,
        2,
        3,
        4,
        5,
        8,
        9,
        10,
        11,
        12,
        13,
    ]
    results = {pair.entry["seq"]: pair.result["seq"] for pair in pairs if pair.result}
    assert results == {4: 7, 5: 6}


def test_a_tool_started_twice_waits_for_nothing() -> None:
    start = entries.tool_start(0, ts(0), "t", "bash", None)
    result = entries.tool_result(2, ts(1), "t", "bash", "x", ok=True)
    assert list(paired([start, {**start, "seq": 1}, result])) == [
        (start, None),
        ({**start, "seq": 1}, result),
    ]


def outside_code(text: str) -> str:
    """Give what a Markdown renderer reads as Markdown: no fenced block."""
    left, fence = [], ""
    for line in text.split("\n"):
        mark = re.match("`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif mark:
            fence = mark[0]
        else:
            left.append(line)
    assert not fence
    return "\n".join(left)


def test_markdown_leaves_no_hostile_text_outside_code() -> None:
    text = outside_code("".join(markdown.export(SAMPLES["hostile"])))
    tags = set(re.findall(r"<[^>]*>", text))
    assert tags == {"<details>", "<summary>", "</summary>", "</details>"}
    assert re.search(r"(?<!\\)!\[|(?<!\\)\]\(", text) is None


def test_markdown_shows_the_run() -> None:
    text = "".join(markdown.export(SAMPLES["plain"]))
    assert text.startswith("# hello: timeout\n")
    assert "| tokens | 1,500 in, 42 out |" in text
    assert "| started | 2026-01-15 10:30:00 UTC |" in text
    assert "> hello" in text
    assert "<summary>✓ hello hello hello=hello 4.5 s</summary>" in text
    assert "```diff\n a\n-hello\n+b\n```" in text
    assert "## End: timeout" in text
    for name, run in runs().items():
        assert outside_code("".join(markdown.export(run))), name


def test_a_summary_is_html_and_has_no_backslashes() -> None:
    """Markdown does not unescape within an HTML block."""
    args = {"subagent_type": "a_b*c", "x": "<b> [y](z)"}
    call = entries.tool_start(0, ts(0), "t", "my_tool", args)
    text = "".join(markdown.export(Run(lambda: iter([call]))))
    (title,) = re.findall("<summary>(.*)</summary>", text)
    assert "\\" not in title
    assert unescape(title) == "… my_tool subagent_type=a_b*c x=<b> [y](z)"


def test_hostile_text_is_whole_in_markdown() -> None:
    text = "".join(markdown.export(SAMPLES["hostile"]))
    assert HOSTILE.split("\x1b")[0] in text
