"""Imports extension modules out of the zip behind the program, by way of memory.

The dynamic loader wants a file: a nameless one in memory will do, also where nothing on
the disk may be written or executed. Imported before anything else, it imports little.
"""

from __future__ import annotations

import _imp
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Finder:
    """Looks where `zipimport` has been, for what it does not know: shared objects."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give the spec of an extension module that is in a zip, or None."""
        for folder in sys.path if path is None else path:
            get_data = getattr(sys.path_importer_cache.get(folder), "get_data", None)
            if get_data is None:  # no zip
                continue
            for suffix in _imp.extension_suffixes():
                member = f"{folder}/{name.rpartition('.')[2]}{suffix}"
                try:
                    data = get_data(member)
                except OSError:
                    continue
                return _load(name, data)
        return None


def _load(name: str, data: bytes) -> ModuleSpec:
    """Put a shared object where the dynamic loader finds it."""
    from importlib.machinery import ExtensionFileLoader, ModuleSpec

    # Left open: the loader takes a second library of the same path for the first.
    file = os.memfd_create(name)
    path = f"/proc/self/fd/{file}"
    if not os.path.exists(path):
        os.close(file)
        return _load_from_disk(name, data)
    with open(file, "wb", closefd=False) as written:
        written.write(data)
    return ModuleSpec(name, ExtensionFileLoader(name, path), origin=path)


def _load_from_disk(name: str, data: bytes) -> ModuleSpec:
    """Do the same where there is no /proc; the file is gone once it is loaded."""
    import tempfile
    from importlib.machinery import ExtensionFileLoader, ModuleSpec

    class Loader(ExtensionFileLoader):
        def create_module(self, spec: ModuleSpec) -> ModuleType:
            try:
                return super().create_module(spec)
            finally:
                os.unlink(self.path)

    file, path = tempfile.mkstemp(suffix=".so")
    with open(file, "wb") as written:
        written.write(data)
    return ModuleSpec(name, Loader(name, path), origin=path)


sys.meta_path.append(_Finder)
