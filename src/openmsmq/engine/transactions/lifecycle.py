"""Beginning and ending transactions, in one phase or two ([MS-MQDMPR] 3.1.4.3 - 3.1.4.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import ManagedTransaction, TransactionState
from openmsmq.errors import TransactionSequence
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.units import decider_of

DOOMED = "part of it could not be written; it can only be aborted"


class Also(NamedTuple):
    """What is committed together with a transaction."""

    write: Callable[[Batch], None]
    noted: Callable[[], None]
    "It is on disk."


class Transactions:
    """The transactions of a queue manager."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._next = core.numbers.arrival + 1
        "Arrival numbers are reserved anew at each start: these were never used before."
        self.units: dict[str, ManagedTransaction] = {}
        "The parts of this manager in units that it decides, while they are not over."

    def begin(self, xid: str = "", *, stages: bool = False) -> ManagedTransaction:
        """Create Transaction ([MS-MQDMPR] 3.1.7.1.8)."""
        if xid and xid in self._core.prepared:
            raise TransactionSequence(f"transaction {xid} is already prepared")
        if xid in self.units:
            raise TransactionSequence(f"transaction {xid} is already active")
        transaction = ManagedTransaction(self._next, xid, stages=stages)
        self._next += 1
        if decider_of(xid) == self._core.identity:
            self.units[xid] = transaction
        return transaction

    def prepare(self, transaction: ManagedTransaction) -> Future[None]:
        """Transaction Prepare ([MS-MQDMPR] 3.1.4.3): from here on a crash changes nothing."""
        transaction.require_active()
        if not transaction.xid or transaction.xid in self._core.prepared:
            raise TransactionSequence("a transaction needs a name of its own to be prepared")
        pending: Future[None] = Future()
        transaction.state = TransactionState.PREPARING
        transaction.prepared_at = self._core.timeline.now
        self._core.prepared[transaction.xid] = transaction
        spill = transaction.take_buffer()

        def committed() -> None:
            transaction.state = TransactionState.PREPARED
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            transaction.state = TransactionState.ACTIVE
            transaction.restore_buffer(spill)
            del self._core.prepared[transaction.xid]
            pending.fail(error)

        self._core.submit(
            lambda batch: transaction.write_prepared(batch, spill), committed, failed, grows=True
        )
        return pending

    def commit(
        self, transaction: ManagedTransaction, also: Also | None = None, caller: Caller = INTERNAL
    ) -> Future[None]:
        """Transaction Commit ([MS-MQDMPR] 3.1.4.4); something else may be part of it."""
        core, by = self._core, caller.name

        if transaction.state is TransactionState.DOOMED:
            raise TransactionSequence(DOOMED)

        def apply(batch: Batch) -> None:
            if not transaction.is_doomed:
                transaction.commit(batch, core.queues, core.admission, core.dispositions, by)
                if also is not None:
                    also.write(batch)

        def ended() -> None:
            for queue, lookups in _by_queue(transaction).items():
                core.removal.forget(queue, lookups)
            if also is not None:
                also.noted()

        is_nothing = transaction.is_empty and also is None
        return self._end(transaction, apply, ended, grows=True, is_nothing=is_nothing)

    def abort(self, transaction: ManagedTransaction, caller: Caller = INTERNAL) -> Future[None]:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): all is as before, but for the abort counts."""
        core, by = self._core, caller.name
        away: set[tuple[ManagedQueue, int]] = set()

        def apply(batch: Batch) -> None:
            away.clear()
            away.update(transaction.abort(batch, core.dispositions, core.poison, by))

        def ended() -> None:
            for queue, lookups in _by_queue(transaction).items():
                purged = [lookup for lookup in lookups if queue.is_purged(lookup)]
                if queue.delayed is not None:  # what was purged meanwhile is not to come back
                    queue.delayed.spared.difference_update(purged)
                gone = {*purged, *(lookup for lookup in lookups if (queue, lookup) in away)}
                core.removal.forget(queue, gone)
                core.removal.release(
                    queue, [lookup for lookup in lookups if queue.holds.is_held(lookup)]
                )

        is_nothing = transaction.is_empty
        return self._end(transaction, apply, ended, grows=False, is_nothing=is_nothing)

    def prepared_ages(self) -> dict[str, int]:
        """The transactions that are prepared, and for how many seconds."""
        core, found = self._core, {}
        for xid, transaction in sorted(core.prepared.items()):
            assert transaction.prepared_at is not None, "it is prepared"
            found[xid] = max(0, core.timeline.now - transaction.prepared_at)
        return found

    def commit_prepared(self, xid: str, caller: Caller = INTERNAL) -> Future[None]:
        """Commit a prepared transaction by its name; done before, it is not done again."""
        transaction = self._core.prepared.get(xid)
        if transaction is None:
            return self._ended_before(xid, committed=True)
        return self.commit(transaction, caller=caller)

    def abort_prepared(self, xid: str, caller: Caller = INTERNAL) -> Future[None]:
        """Abort a prepared transaction by its name; done before, it is not done again."""
        transaction = self._core.prepared.get(xid)
        if transaction is None:
            return self._ended_before(xid, committed=False)
        return self.abort(transaction, caller)

    def _ended_before(self, xid: str, *, committed: bool) -> Future[None]:
        outcome = self._core.decisions.get(xid)
        if outcome is None:
            raise TransactionSequence(f"no transaction {xid} is prepared")
        if outcome is not committed:
            words = "committed" if outcome else "aborted"
            raise TransactionSequence(f"{xid} was {words} before")
        pending: Future[None] = Future()
        pending.succeed(None)
        return pending

    def _end(
        self,
        transaction: ManagedTransaction,
        apply: Callable[[Batch], None],
        ended: Callable[[], None],
        *,
        grows: bool,
        is_nothing: bool,
    ) -> Future[None]:
        before = transaction.state
        if before not in (
            TransactionState.ACTIVE,
            TransactionState.PREPARED,
            TransactionState.DOOMED,
        ):
            raise TransactionSequence(f"the transaction is {before.name.lower()}")
        pending: Future[None] = Future()
        transaction.state = TransactionState.ENDING
        if is_nothing and before is TransactionState.ACTIVE:
            self._finish(transaction)
            pending.succeed(None)
            return pending

        def write(batch: Batch) -> None:
            apply(batch)
            if before is TransactionState.PREPARED:
                self._core.decisions.write(batch.writer, transaction.xid, committed=grows)

        def committed() -> None:
            if grows and transaction.is_doomed:  # by a send that was not answered yet
                failed(TransactionSequence(DOOMED))
                return
            if before is TransactionState.PREPARED:
                self._core.decisions.note(transaction.xid, committed=grows)
            ended()
            self._finish(transaction)
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            transaction.state = TransactionState.DOOMED if transaction.is_doomed else before
            pending.fail(error)

        self._core.submit(write, committed, failed, grows=grows)
        return pending

    def _finish(self, transaction: ManagedTransaction) -> None:
        """It is over: what it had reserved is stored or dropped."""
        transaction.state = TransactionState.ENDED
        for queue, size in transaction.reserved.items():
            self._core.reserve(queue, -size)
            self._core.queues.touch(queue)
        for _, target in transaction.moved.values():
            target.pins -= 1
            self._core.queues.touch(target)
        if self._core.prepared.get(transaction.xid) is transaction:
            del self._core.prepared[transaction.xid]
        if self.units.get(transaction.xid) is transaction:
            del self.units[transaction.xid]


def _by_queue(transaction: ManagedTransaction) -> dict[ManagedQueue, list[int]]:
    found: dict[ManagedQueue, list[int]] = defaultdict(list)
    for queue, lookup in (*transaction.received, *transaction.moved):
        found[queue].append(lookup)
    return found
