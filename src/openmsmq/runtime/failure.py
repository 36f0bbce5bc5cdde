"""What goes wrong in a commit: what ends a manager, and what is written down."""

from __future__ import annotations

import logging
from typing import Final

from openmsmq.errors import MQError, StorageError, StorageFailed, StorageFull
from openmsmq.runtime.limits import FAULTS_LOGGED

_log: Final = logging.getLogger(__name__)


def is_fatal(error: BaseException) -> bool:
    """Whether the store is of no use after an error of `begin`, `commit` or a write.

    A full disk is not: nothing was kept, and there will be room again. After anything else that
    the system or LMDB says, the state of the disk is unknown; LMDB itself refuses all further
    writes if a page of its own state could not be written (MDB_PANIC).
    """
    return isinstance(error, StorageError) and not isinstance(error, StorageFull)


def storage_failure(error: BaseException) -> MQError:
    """The error that callers get, and the log, when a manager has ended."""
    _log.critical("the queue manager cannot go on: %s", error, exc_info=error)
    if isinstance(error, StorageError):
        return error
    return StorageFailed(f"a commit ended with {error!r}; open the directory again")


class FaultLog:
    """Writes down operations that raise what they should not."""

    def __init__(self) -> None:
        self._left = FAULTS_LOGGED

    def log(self, error: Exception) -> None:
        """One more; it fails alone."""
        if isinstance(error, MQError) or not self._left:
            return
        self._left -= 1
        more = "" if self._left else "; no more of these are written down"
        _log.error("an operation failed, please report it%s", more, exc_info=error)
