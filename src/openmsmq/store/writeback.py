"""Having the system begin to write what a file has in memory.

Otherwise it is written when the file is synced, all of it at once, and a sync of another file
meanwhile takes as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Final

_WRITE: Final = 2
"SYNC_FILE_RANGE_WRITE: begin to write pages, and do not wait."


def begin_writing(file: int) -> None:
    """Have all pages of a file written soon; this does not wait, and promises nothing."""
    _call()(file, 0, 0, _WRITE)


@lru_cache(maxsize=1)
def _call() -> Callable[[int, int, int, int], object]:
    """The call of Linux, for which Python has no name; elsewhere nothing is done."""
    try:
        # A service may be denied the memory that this takes.
        ctypes = import_module("ctypes")
        call = ctypes.CDLL(None).sync_file_range
        call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    except (ImportError, MemoryError, OSError, AttributeError):
        return lambda *_: None
    begin: Callable[[int, int, int, int], object] = call
    return begin
