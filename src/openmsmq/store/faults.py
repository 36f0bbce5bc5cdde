"""What LMDB and the system call their errors, in the words of this project."""

from __future__ import annotations

import errno
from typing import Final

import lmdb

from openmsmq.errors import StorageError, StorageFailed, StorageFull, StoreDamaged

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
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
        return StorageFull(detail) if error.errno in _FULL else StorageFailed(detail)
    assert not isinstance(error, lmdb.BadValsizeError), "a key is empty or too long"
    # The library has no code for what it refuses itself: an object whose transaction is over.
    assert error.code, f"used after its transaction: {error}"
    if isinstance(error, lmdb.MapFullError) or error.code in _FULL:
        return StorageFull(detail)
    return StoreDamaged(detail) if isinstance(error, _DAMAGED) else StorageFailed(detail)
