"""Sending: into a queue at once, or into a transaction."""

from __future__ import annotations

from openmsmq.errors import (
    InsufficientResources,
    MachineQuotaExceeded,
    QueueNotAvailable,
    QueueQuotaExceeded,
    StorageFull,
    TransactionUsage,
)
from openmsmq.model.committing import Batch, Outgoing
from openmsmq.model.core import Core
from openmsmq.model.layout import lookup_id, pack_record
from openmsmq.model.pending import Pending
from openmsmq.model.queue import NO_QUOTA, Queue
from openmsmq.model.reading import Entry
from openmsmq.model.transaction import Transaction

KIB = 1024
EXPRESS_SIZE_MAX = 1 << 30
"Bytes of memory that the express messages of all queues may take."


class Sending:
    """The sends of a queue manager; each is answered when what must last is on disk."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def send(
        self,
        queue: Queue,
        messages: list[Outgoing],
        now: int,
        transaction: Transaction | None = None,
    ) -> Pending[None]:
        """Enqueue Message ([MS-MQDMPR] 3.1.7.1.9), several at once: all of them or none."""
        self._check(queue, messages, transaction)
        if transaction is not None:
            return self._send_in(transaction, queue, messages)
        pending: Pending[None] = Pending()
        durable = [message for message in messages if not message.express]
        express = [message for message in messages if message.express]
        size = sum(len(message.packet) for message in messages)
        queue.reserved += size

        def apply(batch: Batch) -> None:
            if not queue.deleted:
                batch.insert_many(queue, durable, now)

        def committed() -> None:
            queue.reserved -= size
            if queue.deleted:
                pending.fail(QueueNotAvailable(queue.properties.name))
                return
            self._insert_express(queue, express, now)
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            queue.reserved -= size
            pending.fail(error)

        if durable:
            self._core.submit(apply, committed, failed, grows=True)
        else:
            self._core.after_inserts(queue, committed)
        return pending

    def _check(
        self, queue: Queue, messages: list[Outgoing], transaction: Transaction | None
    ) -> None:
        """Refuse what cannot be sent, before anything changes."""
        if queue.deleted:
            raise QueueNotAvailable(queue.properties.name)
        if transaction is not None:
            transaction.require_active()
        if queue.properties.transactional != (transaction is not None):
            kind = "transactional" if queue.properties.transactional else "not transactional"
            raise TransactionUsage(f"{queue.properties.name} is {kind}")
        size = sum(len(message.packet) for message in messages)
        core = self._core
        if core.quota is not None and core.total_size + size > core.quota * KIB:
            raise MachineQuotaExceeded(f"{size} bytes more than {core.quota} KiB")
        quota = queue.properties.quota
        if quota != NO_QUOTA and queue.total_size + size > quota * KIB:
            raise QueueQuotaExceeded(f"{queue.properties.name} holds {quota} KiB")
        express = sum(len(message.packet) for message in messages if message.express)
        if express and core.express_size + express > EXPRESS_SIZE_MAX:
            raise InsufficientResources("express messages take all the memory they may")
        if not core.store.has_room():
            raise StorageFull("the disk has no room for new messages")

    def _send_in(
        self, transaction: Transaction, queue: Queue, messages: list[Outgoing]
    ) -> Pending[None]:
        """Keep messages until their transaction commits; in the store, if they are many."""
        pending: Pending[None] = Pending()
        if not transaction.send(queue, messages):
            pending.succeed(None)
            return pending
        spill = transaction.take_buffer()

        def failed(error: BaseException) -> None:
            transaction.doom()
            pending.fail(error)

        self._core.submit(
            lambda batch: transaction.write_spill(batch, spill),
            lambda: pending.succeed(None),
            failed,
            grows=True,
        )
        return pending

    def _insert_express(self, queue: Queue, messages: list[Outgoing], now: int) -> None:
        """Put messages into a queue that need not outlive the process."""
        numbers = self._core.numbers
        entries = []
        for arrival, (packet, priority, expires, _) in enumerate(messages, numbers.arrival + 1):
            record = pack_record(0, len(packet), now, expires, 0, 0, 0, 0, 0)
            entries.append(Entry(lookup_id(priority, arrival), record, packet, True))
        numbers.arrival += len(messages)
        self._core.add_express(queue, entries)
        self._core.wake(queue, [entry.lookup for entry in entries])
