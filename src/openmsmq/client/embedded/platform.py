"""Whether this platform can keep queues in the process of a program."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Final

from openmsmq.errors import UnsupportedOperation

MODULES: Final = ("fcntl", "lmdb")
"Locks on directories, and the store."
CLOCK: Final = "CLOCK_MONOTONIC"


def require_platform() -> None:
    """Refuse to open a directory where that cannot work, with what is missing."""
    missing = [name for name in MODULES if find_spec(name) is None]
    if not hasattr(time, CLOCK):
        missing.append(f"time.{CLOCK}")
    if missing:
        names = ", ".join(missing)
        raise UnsupportedOperation(
            f"a queue manager in this process needs {names}, which this platform lacks;"
            " use openmsmq.connect() with a service on a POSIX system"
        )
