"""This process: its name in the history of messages, what it has opened, and its memory."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from openmsmq.errors import InvalidHandle

MEMORY_KEPT: Final = 30 * 1024 * 1024
"Bytes; beyond 32 MiB glibc learns nothing."


def this_process() -> str:
    """Who calls, in words."""
    name = Path(sys.argv[0]).name or "python"
    program = "".join(char if char.isprintable() else "?" for char in name)
    return f"{program} (process {os.getpid()})"


def opened_elsewhere(owner: int) -> InvalidHandle:
    """The error of a forked child that uses the queue manager of its parent."""
    return InvalidHandle(
        f"process {owner} has opened this queue manager, and process {os.getpid()} was forked from"
        " it: open it here under another directory, connect to a service, or start processes by"
        " spawning them"
    )


@lru_cache(maxsize=1)
def keep_memory() -> None:
    """Let the C library keep memory that is given back, instead of asking for it anew each time.

    glibc learns from the largest block that was ever given back how much to keep. Frames of a
    megabyte would else cost more for new pages than for all that is done with them. The block is
    not written to, so that it takes no memory itself; a process that may not have it goes without.
    """
    with suppress(MemoryError):
        bytes(MEMORY_KEPT)
