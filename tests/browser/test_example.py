"""`examples/event_source.html`, under the name of a server, as behind a proxy."""

from __future__ import annotations

import signal
import uuid
from pathlib import Path

import pytest

from ..harness import child
from ..serve.server import Server
from .conftest import Open

pytestmark = pytest.mark.browser
EXAMPLE = Path(__file__).parents[2] / "examples" / "event_source.html"


def test_it_sends_follows_and_comes_back(tmp_path: Path, open_page: Open) -> None:
    server = Server(tmp_path, child("scripted", "init", "text=<b>Hello", "sleep=600"))
    again = None
    try:
        page = open_page("about:blank")
        page.route("**/example.html", lambda route: route.fulfill(path=EXAMPLE))
        url = f"http://127.0.0.1:{server.port}/example.html#{uuid.uuid4()}"
        page.goto(url)
        page.get_by_text("connected").wait_for()
        page.get_by_label("Message").fill("Hi")
        page.keyboard.press("Enter")
        page.locator("#out", has_text="<b>Hello").wait_for()
        server.end(signal.SIGKILL)
        again = Server(tmp_path, child("scripted"), port=server.port)
        page.locator("#out", has_text="[error]").wait_for()
        assert page.locator("#out").inner_text() == "\n[user] Hi\n<b>Hello\n[error]\n"
    finally:
        server.close()
        if again is not None:
            again.close()
