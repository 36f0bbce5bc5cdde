"""Beginning and ending transactions, in one phase or two ([MS-MQDMPR] 3.1.4.3 - 3.1.4.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from openmsmq.errors import TransactionSequence
from openmsmq.model.committing import Batch
from openmsmq.model.core import Core
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue
from openmsmq.model.transaction import State, Transaction

DOOMED = "part of it could not be written; it can only be aborted"


class Transacting:
    """The transactions of a queue manager."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._next = core.numbers.arrival + 1
        "Arrival numbers are reserved anew at each start: these were never used before."

    def begin(self, xid: str = "") -> Transaction:
        """Create Transaction ([MS-MQDMPR] 3.1.7.1.8)."""
        if xid and xid in self._core.prepared:
            raise TransactionSequence(f"{xid} is prepared already")
        transaction = Transaction(self._next, xid)
        self._next += 1
        return transaction

    def prepare(self, transaction: Transaction) -> Pending[None]:
        """Transaction Prepare ([MS-MQDMPR] 3.1.4.3): from here on a crash changes nothing."""
        transaction.require_active()
        if not transaction.xid or transaction.xid in self._core.prepared:
            raise TransactionSequence("a transaction needs a name of its own to be prepared")
        pending: Pending[None] = Pending()
        transaction.state = State.PREPARING
        self._core.prepared[transaction.xid] = transaction
        spill = transaction.take_buffer()

        def committed() -> None:
            transaction.state = State.PREPARED
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            transaction.state = State.ACTIVE
            transaction.restore_buffer(spill)
            del self._core.prepared[transaction.xid]
            pending.fail(error)

        self._core.submit(
            lambda batch: transaction.write_prepared(batch, spill), committed, failed, grows=True
        )
        return pending

    def commit(self, transaction: Transaction, now: int) -> Pending[None]:
        """Transaction Commit ([MS-MQDMPR] 3.1.4.4)."""
        core = self._core

        if transaction.state is State.DOOMED:
            raise TransactionSequence(DOOMED)

        def apply(batch: Batch) -> None:
            if not transaction.is_doomed:
                transaction.commit(batch, core.by_number, now)

        def ended() -> None:
            for queue, lookups in _by_queue(transaction).items():
                core.forget(queue, lookups)

        return self._end(transaction, apply, ended, grows=True)

    def abort(self, transaction: Transaction) -> Pending[None]:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): all is as before, but for the abort counts."""
        core = self._core

        def ended() -> None:
            for queue, lookups in _by_queue(transaction).items():
                purged = [lookup for lookup in lookups if queue.is_purged(lookup)]
                core.forget(queue, purged)
                core.release(queue, [lookup for lookup in lookups if lookup in queue.held])

        return self._end(transaction, transaction.abort, ended, grows=False)

    def _end(
        self,
        transaction: Transaction,
        apply: Callable[[Batch], None],
        ended: Callable[[], None],
        *,
        grows: bool,
    ) -> Pending[None]:
        before = transaction.state
        if before not in (State.ACTIVE, State.PREPARED, State.DOOMED):
            raise TransactionSequence(f"the transaction is {before.name.lower()}")
        pending: Pending[None] = Pending()
        transaction.state = State.ENDING
        if transaction.is_empty and before is State.ACTIVE:
            self._finish(transaction)
            pending.succeed(None)
            return pending

        def committed() -> None:
            if grows and transaction.is_doomed:  # by a send that was not answered yet
                failed(TransactionSequence(DOOMED))
                return
            ended()
            self._finish(transaction)
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            transaction.state = State.DOOMED if transaction.is_doomed else before
            pending.fail(error)

        self._core.submit(apply, committed, failed, grows=grows)
        return pending

    def _finish(self, transaction: Transaction) -> None:
        """It is over: what it had reserved is stored or dropped."""
        transaction.state = State.ENDED
        for queue, size in transaction.reserved.items():
            queue.reserved -= size
        if self._core.prepared.get(transaction.xid) is transaction:
            del self._core.prepared[transaction.xid]


def _by_queue(transaction: Transaction) -> dict[Queue, list[int]]:
    found: dict[Queue, list[int]] = defaultdict(list)
    for queue, lookup in transaction.received:
        found[queue].append(lookup)
    return found
