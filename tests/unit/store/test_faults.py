"""Errors of LMDB and the system become errors of the store."""

from __future__ import annotations

import errno

import lmdb
import pytest

from openmsmq.errors import StorageError, StorageFailed, StorageFull, StoreDamaged, StoreDenied
from openmsmq.store.faults import storage_error


def lmdb_error(kind: type[lmdb.Error], code: int) -> lmdb.Error:
    """An error as the library raises it."""
    error = kind("what")
    vars(error)["code"] = code
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "full"), StorageFull),
        (OSError(errno.EDQUOT, "quota"), StorageFull),
        (OSError(errno.EACCES, "denied"), StoreDenied),
        (OSError(errno.EROFS, "read only"), StoreDenied),
        (OSError(errno.ENOTDIR, "a file"), StoreDenied),
        (OSError(errno.EIO, "broken"), StorageFailed),
        (lmdb_error(lmdb.Error, errno.EACCES), StoreDenied),
        (lmdb_error(lmdb.MapFullError, -30792), StorageFull),
        (lmdb_error(lmdb.DiskError, errno.ENOSPC), StorageFull),
        (lmdb_error(lmdb.Error, errno.EFBIG), StorageFull),
        (lmdb_error(lmdb.Error, errno.EIO), StorageFailed),
        (lmdb_error(lmdb.BadTxnError, -30782), StorageFailed),
        (lmdb_error(lmdb.PanicError, -30795), StorageFailed),
        (lmdb_error(lmdb.CorruptedError, -30796), StoreDamaged),
        (lmdb_error(lmdb.PageNotFoundError, -30797), StoreDamaged),
    ],
    ids=str,
)
def test_every_error_becomes_one_of_the_store(
    error: lmdb.Error | OSError, kind: type[StorageError]
) -> None:
    assert type(storage_error(error)) is kind


def test_the_detail_names_what_it_happened_to() -> None:
    error = OSError(errno.ENOSPC, "no space")
    assert storage_error(error, "/data").detail == "/data: [Errno 28] no space"
    assert storage_error(error).detail == "[Errno 28] no space"


def test_what_we_did_wrong_ourselves_is_an_assertion() -> None:
    with pytest.raises(AssertionError, match="too long"):
        storage_error(lmdb_error(lmdb.BadValsizeError, -30781))
    with pytest.raises(AssertionError, match="used after"):
        storage_error(lmdb_error(lmdb.Error, 0))
