"""The store: what keeps messages on disk cannot be opened, read or written.

None of these has a code of its own. To a remote caller they are what a queue manager says of a
disk that failed; a store that somebody else holds is a sharing violation.
"""

from __future__ import annotations

from openmsmq.errors.messages import MessageStorageFailed
from openmsmq.errors.queues import SharingViolation


class StorageError(MessageStorageFailed):
    """The store of the queue manager could not do its work."""


class StorageFull(StorageError):
    """There is no space left for the store, so nothing of this was kept.

    What was stored before is safe. Free disk space or receive messages, then try again.
    """


class StorageFailed(StorageError):
    """The disk or the operating system refused to read or write the store.

    What was stored before is safe as far as the disk is. The detail is what the system said.
    """


class StoreDenied(StorageFailed):
    """The system does not let this process use the directory of the store.

    Check its path, its owner and its permissions, and whether the file system can be written to.
    """


class StoreMissing(StorageError):
    """There is no store in this directory, and it was not to be made."""


class StoreInUse(SharingViolation, StorageError):
    """Another process works with this store. Stop it first, or use another directory."""


class StoreDamaged(StorageError):
    """The file of the store is damaged, so it is left as it is.

    Restore it from a backup, or move it away to start with an empty store.
    """


class StoreForeign(StorageError):
    """The file in this directory belongs to another program. Use another directory."""


class StoreTooNew(StorageError):
    """A newer OpenMSMQ has written this store. Use that version or a later one."""


class StoreTooOld(StorageError):
    """An older OpenMSMQ has written this store. Open it once to bring it up to date."""


class StoreExists(StorageError):
    """Nothing was written, for there is something in this directory already."""


class BackupDamaged(StorageError):
    """Nothing was restored, for this is no backup or not a whole one."""
