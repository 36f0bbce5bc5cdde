"""Ballast: room that a store holds while the disk has some, and gives up when others fill it.

To remove messages takes room, too. Whether the disk has enough of it can be asked, but another
program may take the last of it a moment later.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

BALLAST_FILE: Final = "openmsmq.ballast"
_BLOCK: Final = 512
"What `st_blocks` counts."


class Ballast:
    """A file that takes room and holds nothing."""

    def __init__(self, directory: Path, size: int) -> None:
        """`size` is 0 for none."""
        self._path = directory / BALLAST_FILE
        self.size = size
        self.is_held = self._is_held()

    def _is_held(self) -> bool:
        try:
            found = self._path.stat()
        except OSError:
            return False
        return 0 < self.size <= min(found.st_size, found.st_blocks * _BLOCK)

    def take(self) -> None:
        """Take the room; without an error if it cannot be had.

        Nothing is synced: the file system counts the room as taken at once, and what a power cut
        leaves of the file is looked at and completed by the next start.
        """
        if self.is_held or not self.size:
            return
        with contextlib.suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.posix_fallocate(file, 0, self.size)
                self.is_held = True
            except OSError:
                os.ftruncate(file, 0)
            finally:
                os.close(file)

    def give_up(self) -> bool:
        """Free the ballast for the next write; False if there is none.

        The file stays, since to remove it and make it again takes room. It is synced, since some
        file systems do not give blocks out again before that.
        """
        if not self.is_held:
            return False
        self.is_held = False
        try:
            file = os.open(self._path, os.O_RDWR)
        except OSError:
            return False
        try:
            os.ftruncate(file, 0)
            os.fsync(file)
        except OSError:
            return False
        finally:
            os.close(file)
        return True
