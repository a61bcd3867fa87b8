"""The page's files: which there are, what they may do, what the server says it can."""

from __future__ import annotations

import json
import re

import pytest

from .client import get
from .served import serve

INLINE = re.compile(r'<script(?! type="module" src=)|<style|style=|\son\w+=')
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacent|eval\(|document\.write")
KEY = "a-key-of-20-characters"
KINDS = ("css", "js", "svg")


def test_the_page_and_all_that_it_names() -> None:
    with serve() as served:
        status, headers, body = get(served.port, "/")
        assert status == 200
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        text = body.decode()
        assert INLINE.search(text) is None
        wanted = set(re.findall(r'(?:src|href)="(page/[^"]+)"', text))
        seen: set[str] = set()
        while wanted - seen:
            name = (wanted - seen).pop()
            seen.add(name)
            status, headers, body = get(served.port, f"/{name}")
            assert status == 200, name
            assert name.rpartition(".")[2] in KINDS
            assert "charset=utf-8" in headers["content-type"] or name.endswith("svg")
            imported = re.findall(r'from "\./([^"]+)"', body.decode())
            wanted |= {f"page/{other}" for other in imported}
        assert len(seen) > 10
        etag = headers["etag"]
        again = get(served.port, f"/{name}", if_none_match=etag)
        assert (again[0], again[2]) == (304, b"")


@pytest.mark.parametrize("name", ["nothing.js", "..%2fpage.py", "__init__.py", "%2e"])
def test_nothing_else_is_served(name: str) -> None:
    with serve() as served:
        assert get(served.port, f"/page/{name}")[0] == 404


def test_no_script_makes_markup_of_text() -> None:
    with serve() as served:
        for name in ("main", "dom", "items", "prose", "tool", "asks", "form", "aside"):
            text = get(served.port, f"/page/{name}.js")[2].decode()
            assert (
                re.search(
                    r"innerHTML|outerHTML|insertAdjacent|eval\(|document\.write", text
                )
                is None
            )


def test_a_run_can_be_read_only() -> None:
    with serve() as served:
        features = json.loads(get(served.port, "/api/features")[2])
        assert not features["send"]
        assert not features["interrupt"]


def test_a_run_with_a_key_asks_for_it() -> None:
    with serve(key=KEY) as served:
        assert get(served.port, "/")[0] == 200
        assert get(served.port, "/api/features")[0] == 401
        good = get(
            served.port, "/api/features", authorization="Bearer a-key-of-20-characters"
        )
        assert json.loads(good[2])["logout"]
