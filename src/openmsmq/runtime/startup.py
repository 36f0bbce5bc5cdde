"""Opening a directory as a queue manager."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from openmsmq.clock import SystemClock
from openmsmq.engine.arrivals.receipts import ReceiptWriters
from openmsmq.engine.manager import QueueManager
from openmsmq.store.limits import BALLAST_SIZE
from openmsmq.store.lmdb import LmdbStore


def open_directory(
    directory: str | os.PathLike[str],
    name: str | None = None,
    quota: int | None = None,
    *,
    restored: bool = False,
    receipts: ReceiptWriters,
) -> QueueManager:
    """The queue manager kept in `directory`, which is made if it is not there.

    `name` is what other computers call this one; by default the host's own name. `quota` limits
    the messages of all queues together while it is open, in KiB. `restored` says that the
    directory is older than what other managers know of this one. `receipts` are those of all
    transports (`openmsmq.transports.receipts`): one may be owed when a message that came from
    another manager is received.
    """
    store = LmdbStore.open(Path(directory), ballast=BALLAST_SIZE)
    try:
        manager = QueueManager(
            store,
            SystemClock(),
            name=name or socket.gethostname(),
            restored=restored,
            receipts=receipts,
        )
    except BaseException:
        store.close()
        raise
    if quota is not None:
        manager.settings = manager.settings.changed(quota=quota)
    return manager
