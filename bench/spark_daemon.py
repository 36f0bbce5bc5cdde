"""Spark's daemon of Python workers, which waits for those that end, so that the kernel counts them.

Spark's own one ignores their end: what they have used of the processors is then forgotten.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Any

from pyspark import daemon

_set = signal.signal


def _wait(number: int, frame: FrameType | None) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _signal(number: int, action: Any) -> Any:
    is_end = number == signal.SIGCHLD and action == signal.SIG_IGN
    return _set(number, _wait if is_end else action)


if __name__ == "__main__":
    signal.signal = _signal  # type: ignore[assignment]
    daemon.manager()
