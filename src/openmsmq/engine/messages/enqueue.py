"""Sending: into a queue at once, or into a transaction."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Any

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.gather import Gathering
from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.engine.core import Core
from openmsmq.engine.messages.dedup import find_duplicate
from openmsmq.engine.messages.limits import EXPRESS_SIZE_MAX, MULTICAST_SIZE_MAX
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.quota import within_quota
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InsufficientResources,
    MachineQuotaExceeded,
    MessageTooLarge,
    QueueNotAvailable,
    QueueQuotaExceeded,
    StorageFull,
    TransactionUsage,
)
from openmsmq.limits import NO_QUOTA
from openmsmq.packet.view import PacketView
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.queues import QueueKind

_is_express = attrgetter("express")


class Enqueuer:
    """The sends of a queue manager; each is answered when what must last is on disk."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._gathering = Gathering(core)

    def send(
        self,
        queue: ManagedQueue,
        messages: list[NewMessage],
        transaction: ManagedTransaction | None = None,
        caller: Caller = INTERNAL,
        result: Any = None,
    ) -> Future[Any]:
        """Enqueue Message ([MS-MQDMPR] 3.1.7.1.9), several at once: all of them or none.

        The answer is `result`.
        """
        self.check(queue, messages, transaction)
        if transaction is not None:
            return self._send_in(transaction, queue, messages, result)
        if len(messages) == 1 and not messages[0].express and not messages[0].flags:
            return self._gathering.send(queue, messages[0], caller.name, result)
        return self._send_now(queue, messages, caller.name, result)

    def _send_now(
        self, queue: ManagedQueue, messages: list[NewMessage], by: str, result: object
    ) -> Future[Any]:
        """Put messages into a queue outside transactions; some may be express."""
        pending: Future[Any] = Future()
        express = [message for message in messages if message.express]
        durable = [message for message in messages if not message.express] if express else messages
        size = _size(messages)
        core = self._core
        places: list[int] = []
        core.reserve(queue, size)

        def apply(batch: Batch) -> None:
            if queue.deleted:
                return
            if express:
                places[:] = _insert_between(batch, queue, messages, by)
            else:
                batch.insert_many(queue, durable, by)
            core.dispositions.arrived(batch, queue, durable)

        def committed() -> None:
            core.reserve(queue, -size)
            if queue.deleted:
                pending.fail(QueueNotAvailable(queue.name))
                return
            if express:
                core.readers.wake(
                    queue, core.dispositions.insert_express(queue, express, places, by=by)
                )
            pending.succeed(result)

        def failed(error: BaseException) -> None:
            core.reserve(queue, -size)
            pending.fail(error)

        if durable:
            core.submit(apply, committed, failed, grows=True)
        else:
            core.after_inserts(queue, committed)
        return pending

    def send_run(
        self,
        queue: ManagedQueue,
        run: NewRun,
        transaction: ManagedTransaction | None,
        caller: Caller,
        result: object,
    ) -> Future[Any]:
        """The same for plain messages in one piece, to a queue here.

        `check_run` has allowed it.
        """
        if transaction is not None:
            return self._send_in(transaction, queue, run, result)
        pending: Future[Any] = Future()
        core, by, size = self._core, caller.name, len(run.packets)
        core.reserve(queue, size)

        def apply(batch: Batch) -> None:
            if not queue.deleted:
                batch.insert_run(queue, run, by)

        def committed() -> None:
            core.reserve(queue, -size)
            if queue.deleted:
                pending.fail(QueueNotAvailable(queue.name))
            else:
                pending.succeed(result)

        def failed(error: BaseException) -> None:
            core.reserve(queue, -size)
            pending.fail(error)

        core.submit(apply, committed, failed, grows=True)
        return pending

    def post(
        self,
        queue: ManagedQueue,
        messages: list[NewMessage],
        transaction: ManagedTransaction | None = None,
        caller: Caller = INTERNAL,
    ) -> Future[list[int]]:
        """The same for messages with ids of their own, or that are not due yet; none is express.

        The answer is the numbers that they are known by: of one whose id is known, that of the
        first that was sent under it.
        """
        core, by = self._core, caller.name
        known = [
            find_duplicate(core.snapshot, new.dedup_key) if new.dedup_key else None
            for new in messages
        ]
        fresh = [new for new, number in zip(messages, known, strict=True) if number is None]
        answer: Future[list[int]] = Future()
        numbers: list[int] = []

        def sent() -> list[int]:
            found = iter(numbers)
            return [next(found) if number is None else number for number in known]

        if len(fresh) < len(messages):
            core.statistics.count("repeated sends", len(messages) - len(fresh))
        if not fresh:  # whether there is room does not matter
            answer.succeed(sent())
            return answer
        self.check(queue, fresh, transaction)
        if transaction is not None:
            transaction.is_special = True
            numbers += [PacketView(new.packet).message_id for new in fresh]
            return self._send_in(transaction, queue, fresh, sent())
        size = _size(fresh)
        core.reserve(queue, size)

        def apply(batch: Batch) -> None:
            if not queue.deleted:
                numbers[:] = core.admission.put(batch, queue, fresh, by)

        def committed() -> None:
            core.reserve(queue, -size)
            if queue.deleted:
                answer.fail(QueueNotAvailable(queue.name))
            else:
                answer.succeed(sent())

        def failed(error: BaseException) -> None:
            core.reserve(queue, -size)
            answer.fail(error)

        core.submit(apply, committed, failed, grows=True)
        return answer

    def check(
        self,
        queue: ManagedQueue,
        messages: list[NewMessage],
        transaction: ManagedTransaction | None,
    ) -> None:
        """Refuse what cannot be sent, before anything changes."""
        in_transaction = _check_usage(queue, transaction)
        if queue.transfer is not None and queue.transfer.is_multicast:
            _check_multicast(queue, messages, in_transaction=in_transaction)
        express = [message for message in messages if message.express]
        self._check_room(queue, _size(messages), _size(express) if express else 0)

    def check_run(
        self, queue: ManagedQueue, size: int, transaction: ManagedTransaction | None
    ) -> None:
        """The same for plain messages of this many bytes, to a queue here."""
        _check_usage(queue, transaction)
        self._check_room(queue, size, 0)

    def _check_room(self, queue: ManagedQueue, size: int, express: int) -> None:
        """Refuse what there is no room for: `size` bytes, some of them express."""
        core = self._core
        machine = core.settings.quota
        if machine is not None and not within_quota(machine, core.total_size, size):
            raise MachineQuotaExceeded(
                f"sending {size} bytes would exceed the machine quota of {machine} KiB"
            )
        quota = queue.properties.quota
        if quota != NO_QUOTA and not within_quota(quota, queue.quota_size, size):
            raise QueueQuotaExceeded(
                f"sending {size} bytes would exceed the quota of {queue.name}, {quota} KiB"
            )
        if express and core.express_size + express > EXPRESS_SIZE_MAX:
            raise InsufficientResources("express messages take all the memory they may")
        core.watch_resources()
        if core.is_throttled:
            if not core.store.has_room():
                raise StorageFull("the disk has no room for new messages")
            raise InsufficientResources("flow control: nothing new is accepted for now")

    def _send_in(
        self,
        transaction: ManagedTransaction,
        queue: ManagedQueue,
        messages: list[NewMessage] | NewRun,
        result: Any,
    ) -> Future[Any]:
        """Keep messages until their transaction commits; in the store, if they are many."""
        pending: Future[Any] = Future()
        if isinstance(messages, NewRun):
            self._core.reserve(queue, len(messages.packets))
            is_large = transaction.send_run(queue, messages)
        else:
            self._core.reserve(queue, _size(messages))
            is_large = transaction.send(queue, messages)
        if not is_large:
            pending.succeed(result)
            return pending
        spill = transaction.take_buffer()

        def failed(error: BaseException) -> None:
            transaction.doom()
            pending.fail(error)

        self._core.submit(
            lambda batch: transaction.write_spill(batch, spill),
            lambda: pending.succeed(result),
            failed,
            grows=True,
        )
        return pending


def _insert_between(
    batch: Batch, queue: ManagedQueue, messages: list[NewMessage], by: str
) -> list[int]:
    """Put messages into a queue; arrival numbers between them for those that are express."""
    places: list[int] = []
    for is_express, run in groupby(messages, _is_express):
        together = list(run)
        if is_express:
            places += batch.numbers.arrivals(len(together))
        else:
            batch.insert_many(queue, together, by)
    return places


def _check_usage(queue: ManagedQueue, transaction: ManagedTransaction | None) -> bool:
    """Refuse what does not go together; whether messages are those of a transaction."""
    if queue.deleted:
        raise QueueNotAvailable(queue.name)
    if transaction is not None:
        transaction.require_active()
    in_transaction = transaction is not None and not transaction.is_plain_to(queue)
    is_local = queue.kind is not QueueKind.OUTGOING
    if is_local and queue.properties.transactional != in_transaction:
        kind = "transactional" if queue.properties.transactional else "not transactional"
        raise TransactionUsage(f"{queue.name} is {kind}")
    return in_transaction


def _size(messages: list[NewMessage]) -> int:
    """The bytes of messages, as quotas count them."""
    return sum([len(message[0]) for message in messages])


def _check_multicast(
    queue: ManagedQueue, messages: list[NewMessage], *, in_transaction: bool
) -> None:
    """Refuse what cannot be sent to a group address ([MC-MQSRM] 1.6)."""
    if in_transaction:
        raise TransactionUsage(f"{queue.name}: not in a transaction: nothing confirms that it came")
    largest = max(len(message.packet) for message in messages)
    if largest > MULTICAST_SIZE_MAX:
        raise MessageTooLarge(
            f"{queue.name}: a message of {largest} bytes; at most {MULTICAST_SIZE_MAX} are possible"
        )
