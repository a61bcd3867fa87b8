"""The three calls of the C library that Python has no name for.

By `_ctypes`, which is what `ctypes` itself is made of: importing `ctypes` costs more
than half an interpreter start, before the agent runs (docs/adr/0002).
"""

from __future__ import annotations

import errno

try:
    import _ctypes
except ImportError:  # an interpreter that was built without
    _ctypes = None  # type: ignore[assignment]  # what is missing is looked for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_LONG = 32 * 1024


def prctl(option: int, value: int) -> bool:
    """Call prctl(2); say whether it worked (never outside Linux)."""
    call = _function("prctl", "lllll", "i")
    return call is not None and call(option, value, 0, 0, 0) == 0


def fallocate(fd: int, mode: int, size: int) -> int:
    """Call fallocate(2) for the first `size` bytes; give the errno, or 0."""
    call = _function("fallocate", "llll", "i")
    if call is None:
        return errno.ENOSYS
    return _ctypes.get_errno() if call(fd, mode, 0, size) != 0 else 0


def contains(data: bytes, part: bytes) -> bool:
    """Say whether `part` is in `data`, long data by memmem(3).

    There that is two to four times as fast as `bytes.find`; the call itself takes a
    microsecond (docs/performance.md).
    """
    call = None if len(data) < _LONG else _function("memmem", "zLzL", "P")
    if call is None:
        # Not `in`: given bytes, it makes an exception and throws it away.
        return data.find(part) >= 0
    return call(data, len(data), part, len(part)) is not None


_found: dict[str, Callable[..., Any] | None] = {}


def _function(name: str, arguments: str, result: str) -> Callable[..., Any] | None:
    """Find a function of this process; types are ctypes' letters (z: bytes)."""
    if name not in _found:
        _found[name] = _look_up(name, arguments, result)
    return _found[name]


def _look_up(name: str, arguments: str, result: str) -> Callable[..., Any] | None:
    if _ctypes is None:
        return None

    def simple(letter: str) -> Any:
        return type(letter, (_ctypes._SimpleCData,), {"_type_": letter})

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
        _restype_ = simple(result)

    try:
        ourselves = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # as ctypes does
        function = Function(_ctypes.dlsym(ourselves, name))
    except OSError:
        return None
    function.argtypes = tuple(map(simple, arguments))
    return function
