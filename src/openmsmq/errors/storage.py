"""The store: what keeps messages on disk cannot be opened, read or written.

None of these has a code of its own. To a remote caller they are what a queue manager says of a
disk that failed; a store that another process has open is a sharing violation.
"""

from __future__ import annotations

from openmsmq.errors.messages import MessageStorageFailed
from openmsmq.errors.queues import SharingViolation


class StorageError(MessageStorageFailed):
    """The store of the queue manager failed."""


class StorageFull(StorageError):
    """The disk is full, and nothing was stored.

    Messages stored before are safe. Free disk space or receive messages, then try again.
    """


class StorageFailed(StorageError):
    """Reading or writing the store failed.

    What was stored before is safe unless the disk is damaged.
    """


class StoreDenied(StorageFailed):
    """No permission to use the directory of the store.

    Check its path, owner and permissions, and whether the file system is writable.
    """


class StoreMissing(StorageError):
    """There is no store in this directory."""


class StoreInUse(SharingViolation, StorageError):
    """Another process has this directory open. Stop it first, or use another directory."""


class StoreDamaged(StorageError):
    """The file of the store is damaged and was not changed.

    Restore it from a backup, or move it away to start with an empty store.
    """


class StoreForeign(StorageError):
    """The data file in this directory belongs to another program. Use another directory."""


class StoreTooNew(StorageError):
    """The store was written by a newer version of OpenMSMQ. Use that version or a later one."""


class StoreTooOld(StorageError):
    """The store was written by an older version of OpenMSMQ. Open it once to upgrade it."""


class StoreExists(StorageError):
    """The directory is not empty, and nothing was written."""


class BackupDamaged(StorageError):
    """Not a complete backup, and nothing was restored."""
