"""Queues in transactions of Zope: `from openmsmq.adapters.zope import join`.

Needs the extra `openmsmq[zope]`. What is done with `transaction=join(manager)` is committed and
undone by `transaction.commit()` and `transaction.abort()`, with all that others have joined. There
are no savepoints: `transaction.savepoint()` says so with `TypeError`, and one that is `optimistic`
cannot be rolled back.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import Any

import transaction as zope

from openmsmq import Manager, Transaction
from openmsmq.errors import TransactionSequence


def join(manager: Manager, transaction_manager: Any = None) -> Transaction:
    """The part of a queue manager in the current transaction, the same until that is over.

    `transaction_manager` is the one of this thread unless another one is given.
    """
    current = (transaction_manager or zope.manager).get()
    try:
        found: QueueDataManager = current.data(manager)
    except KeyError:
        found = QueueDataManager(manager, transaction_manager or zope.manager)
        current.join(found)
        current.set_data(manager, found)
    return found.work


class QueueDataManager:
    """A queue manager as Zope knows those who have a part in a transaction (IDataManager).

    Zope keeps no record of its decisions. If the process dies between its two phases, the part
    stays prepared under a name that begins with `zope:`, and a person decides: `openmsmq
    transaction list`, then `commit` or `abort`.
    """

    def __init__(self, manager: Manager, transaction_manager: Any) -> None:
        self.transaction_manager = transaction_manager
        self._manager = manager
        self._name = f"zope:{uuid.uuid4().hex}"
        self._is_prepared = False
        "Or may be, if the answer was lost."
        self._is_decided = False
        self.work = manager.transaction(self._name)

    def sortKey(self) -> str:
        """Behind all others: what fails here can be made good later, by name."""
        return f"~openmsmq:{self._manager.id}"

    def tpc_begin(self, transaction: object) -> None:
        """The first phase begins."""

    def commit(self, transaction: object) -> None:
        """Nothing was kept back until now."""

    def tpc_vote(self, transaction: object) -> None:
        """Write down all that was done; from here on it can be committed whatever happens."""
        self._is_prepared = True
        self.work.prepare()

    def tpc_finish(self, transaction: object) -> None:
        """Commit it; if the manager is away for long, it stays prepared and is decided by name."""
        self._is_decided = True
        self._manager.commit_prepared(self._name)

    def tpc_abort(self, transaction: object) -> None:
        """The same as `abort`."""
        self.abort(transaction)

    def abort(self, transaction: object) -> None:
        """Undo it, unless the others were asked to commit; Zope may call this more than once."""
        if self._is_decided:
            return
        with contextlib.suppress(TransactionSequence):  # it is undone already
            if self._is_prepared:
                self._manager.abort_prepared(self._name)
            else:
                self.work.abort()
