"""Moving messages between a queue and its subqueues."""

from __future__ import annotations

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.queues.holds import REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import Record, Total, place_and_expiry
from openmsmq.engine.storage.runs import record_of
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InvalidParameter,
    MessageLockedUnderTransaction,
    MessageNotFound,
    QueueNotAvailable,
    TransactionUsage,
)
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.lookup import LOOKUP_MAX
from openmsmq.types.queues import QueueKind

KINDS = (QueueKind.PRIVATE, QueueKind.PUBLIC, QueueKind.SUBQUEUE)


class Moves:
    """The moves of a queue manager."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def move(
        self,
        queue: ManagedQueue,
        lookup: int,
        target: ManagedQueue,
        transaction: ManagedTransaction | None = None,
        caller: Caller = INTERNAL,
    ) -> Future[None]:
        """Move Message ([MS-MQDMPR] 3.1.7.1.16); the checks are those of [MS-MQRR] 3.1.4.10.

        The message keeps its lookup identifier and with it its place (A-39); there is no quota to
        pass, as both queues share one (A-05).
        """
        self._check(queue, target, transaction)
        record, is_express = self._find(queue, lookup)
        if is_express:
            return self._move_express(queue, lookup, record, target, caller.name)
        target.pins += 1
        pending: Future[None] = Future()
        if transaction is not None:
            queue.holds.hold([lookup], transaction)
            transaction.moved[queue, lookup] = record, target
            pending.succeed(None)
            return pending
        queue.holds.hold([lookup], REMOVING)
        core, by = self._core, caller.name

        def apply(batch: Batch) -> None:
            if not queue.deleted and not target.deleted:
                batch.move(queue, lookup, record, target, by)

        def committed() -> None:
            target.pins -= 1
            core.removal.forget(queue, [lookup])
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            target.pins -= 1
            core.removal.release(queue, [lookup])
            pending.fail(error)

        core.submit(apply, committed, failed)
        return pending

    def _check(
        self, queue: ManagedQueue, target: ManagedQueue, transaction: ManagedTransaction | None
    ) -> None:
        for either in (queue, target):
            if either.deleted:
                raise QueueNotAvailable(either.name)
        if transaction is not None:
            transaction.require_active()
            if not target.properties.transactional:
                raise TransactionUsage(f"{target.name} is not transactional")
        related = queue is not target and queue.main is target.main
        if not related or queue.kind not in KINDS or target.kind not in KINDS:
            raise InvalidParameter(
                f"{queue.name} to {target.name}: messages move between a queue and its subqueues"
            )

    def _find(self, queue: ManagedQueue, lookup: int) -> tuple[bytes, bool]:
        """The record of a message that can be moved."""
        missing = MessageNotFound(f"no message has lookup identifier {lookup}")
        if not 0 < lookup <= LOOKUP_MAX or queue.is_purged(lookup):
            raise missing
        holder = queue.holds.holder_of(lookup)
        if holder is REMOVING:
            raise missing
        if holder is not None:
            raise MessageLockedUnderTransaction("the message is locked by another receiver")
        if lookup in queue.express:
            record, is_express = queue.express[lookup].record, True
        else:
            row = record_of(self._core.snapshot, queue.number, lookup)
            if row is None:
                raise missing
            record, is_express = row, False
        if place_and_expiry(record)[2] < self._core.timeline.now:
            raise missing
        return record, is_express

    def _move_express(
        self, queue: ManagedQueue, lookup: int, raw: bytes, target: ManagedQueue, by: str
    ) -> Future[None]:
        core = self._core
        entry = queue.express[lookup]
        core.express.drop(queue, [lookup])
        record = Record.unpack(raw).moved(core.timeline.wall)
        core.express.add(target, [entry._replace(record=record.pack())])
        core.statistics.count(Event.MOVED.word)
        queue.totals[Total.MOVED] += 1
        target.totals[Total.ARRIVED] += 1
        ids = identifiers([entry.packet])
        core.note(Event.MOVED, target, [lookup], ids, by, queue.name)
        core.readers.wake(target, [lookup])
        core.readers.notify()
        core.queues.touch(queue)
        core.queues.tidy()
        pending: Future[None] = Future()
        pending.succeed(None)
        return pending
