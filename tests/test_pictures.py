"""The pictures of the documents can be made: docs/pictures/make.py is there for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

MAKE = Path(__file__).parent.parent / "docs" / "pictures" / "make.py"


def test_what_makes_the_pictures_starts_and_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("make_pictures", MAKE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SystemExit, match="claude and chromium must be on PATH"):
        module.main()
