"""The heart of a queue manager: its queues, and commits that many callers share.

A `Core` is synchronous and never waits. Calls return at once, with a `Pending` answer where a
commit must come first. Whoever drives the core commits when `wants_commit` says so:

    writer = store.begin()           on the thread that will commit
    core.start_commit(writer)        gathers all that was asked for so far
    store.commit()                   meanwhile further calls gather for the next commit
    core.finish_commit()             answers are given, readers wake

What readers see is what the last finished commit left. The caller serialises all calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from openmsmq.errors import (
    MQError,
    OperationCancelled,
    QueueDeleted,
    QueueExists,
    QueueNotAvailable,
    QueueNotFound,
    StorageFull,
)
from openmsmq.model.committing import Batch, Operation
from openmsmq.model.emptying import drop_messages, purge, resume_purge
from openmsmq.model.layout import (
    COUNTERS_ROW,
    DELETED_ROW,
    PURGED_ROW,
    queue_key,
)
from openmsmq.model.opening import Mode, check_sharing
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue, QueueProperties
from openmsmq.model.reading import Entry
from openmsmq.model.recovery import (
    ARRIVAL_BLOCK,
    ARRIVAL_KEY,
    MESSAGE_ID_BLOCK,
    MESSAGE_ID_KEY,
    QUEUE_NUMBER_KEY,
    load,
    pack_number,
)
from openmsmq.model.storage import Snapshot, Store, Table, Writer
from openmsmq.names.parts import fold


class Core:
    """A queue manager's state and the rules about its queues ([MS-MQDMPR] 3.1)."""

    def __init__(self, store: Store, *, new_identity: UUID) -> None:
        """Start on a store, finishing what a crash interrupted ([MS-MQDMPR] 3.1.3)."""
        loaded = load(store, new_identity)
        self.identity = loaded.identity
        self.numbers = loaded.numbers
        self.quota: int | None = None
        "KiB all messages together may take; None for no limit."
        self.prepared = {transaction.xid: transaction for transaction in loaded.prepared}
        self.express_size = 0
        "Bytes of express messages in all queues."
        self.store = store
        self._queues = loaded.queues
        self._by_name = {fold(q.properties.name): q for q in loaded.queues.values()}
        self._next_number = loaded.next_queue
        self._operations: list[Operation] = []
        self._committing: tuple[list[Operation], Batch] | None = None
        self._awake: list[tuple[Queue, list[int]]] = []
        self._after_commit: list[Callable[[], None]] = []
        for queue in loaded.emptying:
            drop_messages(self, queue)
        for queue in loaded.queues.values():
            if queue.purge_mark:
                resume_purge(self, queue)

    # Commits

    @property
    def snapshot(self) -> Snapshot:
        """What the last finished commit left."""
        return self.store.snapshot

    @property
    def wants_commit(self) -> bool:
        """There is something to commit, and no commit is under way."""
        return bool(self._operations) and self._committing is None

    @property
    def is_committing(self) -> bool:
        """A commit is under way."""
        return self._committing is not None

    def submit(
        self,
        apply: Callable[[Batch], None],
        committed: Callable[[], None],
        failed: Callable[[BaseException], None],
        *,
        grows: bool = False,
    ) -> None:
        """Ask for something to be committed."""
        self._operations.append(Operation(apply, committed, failed, grows))

    def start_commit(self, writer: Writer) -> None:
        """Write all that was asked for; the store commits it after this."""
        operations, self._operations = self._operations, []
        batch = Batch(writer, self.numbers)
        self._committing = operations, batch
        for operation in operations:
            operation.apply(batch)
        batch.write()

    def finish_commit(self, error: BaseException | None = None) -> None:
        """Tell everybody that the commit is on disk, or that it is not."""
        assert self._committing is not None, "no commit is under way"
        operations, batch = self._committing
        self._committing = None
        if error is not None:
            self._fail(operations, error)
        else:
            self.store.refresh()
            batch.apply_counts()
            for queue, lookups in batch.inserted.items():
                self.wake(queue, lookups)
            for operation in operations:
                operation.committed()
        waiting, self._after_commit = self._after_commit, []
        for call in waiting:
            call()
        self._wake_all()
        if self.numbers.arrival > self.numbers.arrival_end - ARRIVAL_BLOCK // 2:
            self._reserve_arrivals()

    def refuse(self, error: BaseException) -> None:
        """No commit could be begun: tell everybody who asked for one."""
        operations, self._operations = self._operations, []
        self._fail(operations, error)
        self._wake_all()

    def _fail(self, operations: list[Operation], error: BaseException) -> None:
        """On a full disk what needs room is refused, and what frees some is tried again."""
        growing = [operation for operation in operations if operation.grows]
        if isinstance(error, StorageFull) and growing and len(growing) < len(operations):
            rest = [operation for operation in operations if not operation.grows]
            self._operations = rest + self._operations
            operations = growing
        for operation in operations:
            operation.failed(error)

    def take_message_ids(self, count: int) -> None:
        """Identifiers have been given to messages; more are reserved before they run out."""
        numbers = self.numbers
        numbers.message_id += count
        if numbers.message_id > numbers.message_id_end - MESSAGE_ID_BLOCK // 2:
            numbers.message_id_end = end = numbers.message_id + MESSAGE_ID_BLOCK
            self.submit(
                lambda batch: batch.writer.put(Table.META, MESSAGE_ID_KEY, pack_number(end)),
                lambda: None,
                lambda error: None,
                grows=True,
            )

    def _reserve_arrivals(self) -> None:
        """Reserve arrival numbers before those reserved run out."""
        end = self.numbers.arrival + ARRIVAL_BLOCK

        def committed() -> None:
            self.numbers.arrival_end = end

        self.submit(
            lambda batch: batch.writer.put(Table.META, ARRIVAL_KEY, pack_number(end)),
            committed,
            lambda error: None,
            grows=True,
        )

    def after_inserts(self, queue: Queue, call: Callable[[], None]) -> None:
        """Do something at once, but behind messages of this queue that are being committed."""
        if self._committing is not None and queue in self._committing[1].inserted:
            self._after_commit.append(call)
        else:
            call()
            self.settle()

    # Readers

    def wake(self, queue: Queue, lookups: Iterable[int]) -> None:
        """Messages have become readable: let readers look again once the books are in order.

        All effects of one outcome are applied before anybody is woken (A-55).
        """
        found = sorted(lookups)
        if found:
            queue.readable_from(found[0])
            self._awake.append((queue, found))

    def _wake_all(self) -> None:
        """Message Position Available ([MS-MQDMPR] 3.1.7.2.2): waiting readers, oldest first."""
        while self._awake:
            queue, lookups = self._awake.pop(0)
            for waiter in list(queue.waiters):
                if waiter.attempt(lookups):
                    queue.waiters.remove(waiter)

    def settle(self) -> None:
        """Wake readers after something became readable without a commit."""
        self._wake_all()

    def add_express(self, queue: Queue, entries: Iterable[Entry]) -> None:
        """Put messages into a queue that need not outlive the process."""
        before = queue.express.size
        queue.express.add(entries)
        self.express_size += queue.express.size - before

    def drop_express(self, queue: Queue, lookups: Iterable[int]) -> None:
        """Take express messages out of a queue."""
        before = queue.express.size
        for lookup in lookups:
            queue.express.remove(lookup)
        self.express_size -= before - queue.express.size

    def forget(self, queue: Queue, lookups: Collection[int]) -> None:
        """Held messages are gone from the queue."""
        for lookup in lookups:
            del queue.held[lookup]
        if queue.express:
            self.drop_express(queue, [lookup for lookup in lookups if lookup in queue.express])

    def release(self, queue: Queue, lookups: Iterable[int]) -> None:
        """Make held messages readable again."""
        back = list(lookups)
        for lookup in back:
            del queue.held[lookup]
        purged = [at for at in back if at in queue.express and queue.is_purged(at)]
        self.drop_express(queue, purged)
        self.wake(queue, back)

    def cancel(self, queue: Queue, pending: Pending[Any], error: BaseException) -> bool:
        """Cancel Waiting Message Read Request ([MS-MQDMPR] 3.1.7.1.17); False if none waits."""
        for waiter in queue.waiters:
            if waiter.pending is pending:
                queue.waiters.remove(waiter)
                waiter.give_up()
                pending.fail(error)
                return True
        return False

    def cancel_all(self, queue: Queue, error: MQError, *, cursor: object = None) -> None:
        """Let every read that waits on a queue, or with one cursor, fail (A-29, A-51)."""
        for waiter in list(queue.waiters):
            if cursor is None or waiter.cursor is cursor:
                self.cancel(queue, waiter.pending, error)

    def cancel_everywhere(self, error: MQError) -> None:
        """Let every read that waits fail."""
        for queue in self._queues.values():
            self.cancel_all(queue, error)

    # Queues

    @property
    def queues(self) -> list[Queue]:
        """All queues, by name."""
        found = (self._by_name[name] for name in sorted(self._by_name))
        return [queue for queue in found if not queue.deleted]

    @property
    def by_number(self) -> dict[int, Queue]:
        """All queues, by number."""
        return self._queues

    @property
    def total_size(self) -> int:
        """The bytes of all messages, as quotas count them."""
        return sum(queue.total_size for queue in self._queues.values())

    def find(self, name: str) -> Queue:
        """The queue with this path below the computer; `QueueNotFound` if there is none."""
        queue = self._by_name.get(fold(name))
        if queue is None or queue.deleted:
            raise QueueNotFound(name)
        return queue

    def create(self, properties: QueueProperties) -> Pending[Queue]:
        """Create Queue ([MS-MQDMPR] 3.1.7.1.3); a name taken is refused (A-28)."""
        name = fold(properties.name)
        if name in self._by_name:
            raise QueueExists(properties.name)
        number = self._next_number
        self._next_number += 1
        queue = Queue(number, properties)
        self._queues[number] = self._by_name[name] = queue
        pending: Pending[Queue] = Pending()

        def failed(error: BaseException) -> None:
            self._queues.pop(number, None)
            self._forget_name(queue)
            queue.deleted = True
            pending.fail(error)

        def apply(batch: Batch) -> None:
            batch.set_properties(queue, properties)
            # So that what a transaction has sent to a deleted queue never ends in another one.
            batch.writer.put(Table.META, QUEUE_NUMBER_KEY, pack_number(number + 1))

        self.submit(apply, lambda: pending.succeed(queue), failed, grows=True)
        return pending

    def change(self, queue: Queue, now: int, changes: Mapping[str, Any]) -> Pending[None]:
        """Give a queue other properties; its name and kind stay.

        Changes under way together are made one after the other.
        """
        if queue.deleted:
            raise QueueNotAvailable(queue.properties.name)
        pending: Pending[None] = Pending()
        changed = queue.properties.changed(now, **changes)  # refused now, if ever

        def apply(batch: Batch) -> None:
            nonlocal changed
            changed = batch.properties(queue).changed(now, **changes)
            batch.set_properties(queue, changed)

        def committed() -> None:
            queue.properties = changed
            pending.succeed(None)

        self.submit(apply, committed, pending.fail, grows=True)
        return pending

    def delete(self, queue: Queue) -> Pending[None]:
        """Delete Queue ([MS-MQDMPR] 3.1.7.1.4): gone at once, its messages step by step.

        Readers that wait are told (A-29); messages held by transactions go with the rest, and the
        later outcome finds nothing to do. The name is free again when this is answered.
        """
        if queue.deleted:
            raise QueueNotFound(queue.properties.name)
        pending: Pending[None] = Pending()
        number = queue.number
        del self._queues[number]
        queue.deleted = True
        self.cancel_all(queue, QueueDeleted(queue.properties.name))

        def apply(batch: Batch) -> None:
            writer = batch.writer
            writer.delete(Table.QUEUES, queue_key(number))
            writer.delete(Table.QUEUES, queue_key(number, COUNTERS_ROW))
            writer.delete(Table.QUEUES, queue_key(number, PURGED_ROW))
            row = queue.properties.to_row()
            writer.put(Table.QUEUES, queue_key(number, DELETED_ROW), row)

        def committed() -> None:
            self._forget_name(queue)
            self.drop_express(queue, queue.express.lookups())
            pending.succeed(None)
            drop_messages(self, queue)

        def failed(error: BaseException) -> None:
            if self._by_name.get(fold(queue.properties.name)) is queue:  # else it never was
                self._queues[number] = queue
                queue.deleted = False
            pending.fail(error)

        self.submit(apply, committed, failed)
        return pending

    def _forget_name(self, queue: Queue) -> None:
        name = fold(queue.properties.name)
        if self._by_name.get(name) is queue:
            del self._by_name[name]

    def purge(self, queue: Queue) -> Pending[int]:
        """Purge Queue ([MS-MQDMPR] 3.1.7.1.7); the answer is the number of messages removed."""
        if queue.deleted:
            raise QueueNotAvailable(queue.properties.name)
        return purge(self, queue)

    # Handles

    def open(self, queue: Queue, mode: Mode) -> None:
        """Open Queue ([MS-MQDMPR] 3.1.7.1.5), where the queue is known."""
        check_sharing(queue.modes, mode)
        queue.modes.append(mode)

    def close(self, queue: Queue, mode: Mode, owner: object) -> None:
        """Close Queue ([MS-MQDMPR] 3.1.7.1.6): reads that wait on this handle are cancelled."""
        queue.modes.remove(mode)
        for waiter in list(queue.waiters):
            if waiter.owner is owner:
                self.cancel(queue, waiter.pending, OperationCancelled("the queue was closed"))
