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


class OwnerProcess:
    """The process that opened a queue manager, which no forked child may use."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = os.getpid()

    @property
    def is_here(self) -> bool:
        """This is that process."""
        return os.getpid() == self._number

    def check(self) -> None:
        """Refuse to be used by a forked child."""
        if not self.is_here:
            raise InvalidHandle(
                f"process {self._number} has opened this queue manager, and process {os.getpid()}"
                " was forked from it: open it here under another directory, connect to a service,"
                " or start processes by spawning them"
            )
