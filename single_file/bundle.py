"""The zip behind the program: our modules, what they need, and Python's own library.

    python3 single_file/bundle.py LIBRARY SITE_PACKAGES OUT.zip

`LIBRARY` is the `Lib` folder of the Python that is linked in (the one that runs this:
the modules are compiled here), `SITE_PACKAGES` holds what is installed beside.
"""

from __future__ import annotations

import importlib.util
import marshal
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

UNUSED = {
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip"),
    *("distutils", "venv", "curses", "dbm", "sqlite3", "pydoc_data", "__pycache__"),
    *("site-packages", "turtle.py", "antigravity.py", "this.py", "bin", "pip"),
    *("setuptools", "pkg_resources", "unittest", "msilib", "wsgiref", "xmlrpc"),
    *("pygments", "markdown_it", "mdurl"),  # rich's, for what we do not show
    *("RECORD", "WHEEL", "INSTALLER", "REQUESTED", "direct_url.json"),
}
"""What nothing of ours needs: each name in the zip costs 5 us at every start."""

BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every file: the same input gives the same zip."""


def compiled(path: Path, name: str) -> bytes:
    """Compile a module; it is never compared with a source."""
    code = compile(path.read_bytes(), name, "exec", dont_inherit=True)
    unchecked = (0b01).to_bytes(4, "little") + bytes(8)
    return importlib.util.MAGIC_NUMBER + unchecked + marshal.dumps(code)


def members(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Give what of a folder goes into the zip: (name, content)."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not path.is_file() or UNUSED & set(name.parts):
            continue
        if path.suffix == ".py":
            yield str(name.with_suffix(".pyc")), compiled(path, str(name))
        elif path.suffix not in (".pyi", ".pyx", ".c", ".h"):
            yield str(name), path.read_bytes()


def bundle(folders: list[Path], out: Path) -> None:
    """Write the zip. Not compressed: it is read at every start."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for folder in folders:
            for name, content in members(folder):
                archive.writestr(zipfile.ZipInfo(name, BEGINNING), content)


if __name__ == "__main__":
    *given, target = map(Path, sys.argv[1:])
    bundle(given, target)
