"""This process: what it is called in the history of messages, and what it has opened."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from openmsmq.errors import InvalidHandle


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
