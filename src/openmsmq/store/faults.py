"""What LMDB and the system call their errors, in the words of this project."""

from __future__ import annotations

import errno
from typing import Final

import lmdb

from openmsmq.errors import StorageError, StorageFailed, StorageFull, StoreDamaged, StoreDenied

FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"What the system calls it if there is no room on the disk."
_DENIED: Final = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}
_DAMAGED: Final = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.PageFullError,
    lmdb.CursorFullError,
)


def storage_error(error: lmdb.Error | OSError, about: object = "") -> StorageError:
    """The error to raise for one of LMDB or the system; `about` names what it happened to."""
    detail = f"{about}: {error}" if about else str(error)
    if isinstance(error, OSError):
        return _of_system(error.errno, detail)
    assert not isinstance(error, lmdb.BadValsizeError), "a key is empty or too long"
    # The library has no code for what it refuses itself: an object whose transaction is over.
    assert error.code, f"used after its transaction: {error}"
    if isinstance(error, lmdb.MapFullError):
        return StorageFull(detail)
    return StoreDamaged(detail) if isinstance(error, _DAMAGED) else _of_system(error.code, detail)


def _of_system(code: int | None, detail: str) -> StorageError:
    """The error for a number of the system's."""
    if code in FULL:
        return StorageFull(detail)
    return StoreDenied(detail) if code in _DENIED else StorageFailed(detail)
