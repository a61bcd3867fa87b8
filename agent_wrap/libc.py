"""The two calls of the C library that Python has no name for.

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


def prctl(option: int, value: int) -> bool:
    """Call prctl(2); say whether it worked (never outside Linux)."""
    call = _function("prctl", 5)
    return call is not None and call(option, value, 0, 0, 0) == 0


def fallocate(fd: int, mode: int, size: int) -> int:
    """Call fallocate(2) for the first `size` bytes; give the errno, or 0."""
    call = _function("fallocate", 4)
    if call is None:
        return errno.ENOSYS
    return _ctypes.get_errno() if call(fd, mode, 0, size) != 0 else 0


def _function(name: str, arguments: int) -> Callable[..., int] | None:
    """Find a function of the process that takes numbers and gives an int."""
    if _ctypes is None:
        return None

    class Int(_ctypes._SimpleCData):  # type: ignore[type-arg]  # at run time it has none
        _type_ = "i"

    class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # wide as an offset
        _type_ = "l"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
        _restype_ = Int

    try:
        ourselves = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # as ctypes does
        function = Function(_ctypes.dlsym(ourselves, name))
    except OSError:
        return None
    function.argtypes = (Long,) * arguments
    return function
