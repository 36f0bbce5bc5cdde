"""Reservations: the messages that are reserved for a subscription, in the order of its positions.

A subscription reads a queue in steps that it can repeat: up to its last commit, the same positions
are the same messages. The place of a message in its queue is no such position: a message may return
in front of one that was read, and other readers may take those that were not. So positions count
the reserved messages, from 1, and reserved messages are kept apart from the queue.

The mode `take` moves messages out of the queue; `copy` leaves them there for others and reserves a
copy of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final
from uuid import UUID

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.messages.scan import fetch
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.queues.registry import delete_rows
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import (
    READ_ROW,
    SUBSCRIPTION_ROW,
    Record,
    Total,
    packet_place,
    queue_key,
)
from openmsmq.engine.storage.runs import Found
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.subscriptions.giver import Giver
from openmsmq.engine.subscriptions.limits import NAME_MAX
from openmsmq.engine.subscriptions.owners import check_owner
from openmsmq.engine.subscriptions.parts import (
    STEP,
    StepParts,
    bytes_of,
    fitting,
    last_of,
    one_by_one,
    reserved_parts,
    reserved_step,
)
from openmsmq.engine.subscriptions.rows import (
    Messages,
    Rows,
    note,
    place_of,
    take_out,
    write_state,
)
from openmsmq.engine.subscriptions.slices import check_place, check_read
from openmsmq.engine.subscriptions.subscription import (
    DurableSubscription,
    SubscriptionMode,
)
from openmsmq.errors import InvalidParameter, QueueNotFound
from openmsmq.names.parts import fold
from openmsmq.properties.message import MessageClass
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.queues import QueueKind

KINDS: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC, QueueKind.SYSTEM, QueueKind.JOURNAL)
"The kinds of queues that can be subscribed to."


class Reservations:
    """The subscriptions of a queue manager."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._giver = Giver(core, self.of)
        self._all: dict[tuple[str, int], DurableSubscription] = {}
        "By name and number of the queue."
        for store in core.queues.everything:
            if store.kind is QueueKind.RESERVED:
                self._load(store)

    def _load(self, store: ManagedQueue) -> None:
        snapshot, number = self._core.snapshot, store.number
        (raw,) = snapshot.get_many(Table.QUEUES, [queue_key(number, SUBSCRIPTION_ROW)])
        read = snapshot.get(Table.QUEUES, queue_key(number, READ_ROW)) or b""
        name, source_number, path = store.name.split("|", 2)
        source = self._core.queues.get(int(source_number)) or _gone(int(source_number), path)
        found = DurableSubscription(name, source, store, SubscriptionMode.TAKE)
        found.load(raw, read)
        self._add(found)

    def _add(self, subscription: DurableSubscription) -> None:
        source = subscription.source
        self._all[fold(subscription.name), source.number] = subscription
        if subscription.way is SubscriptionMode.COPY:
            source.followers.append(subscription)

    def _forget(self, subscription: DurableSubscription) -> None:
        source = subscription.source
        del self._all[fold(subscription.name), source.number]
        if subscription.way is SubscriptionMode.COPY:
            source.followers.remove(subscription)
        self._core.queues.forget_reserved(subscription.store)

    def __iter__(self) -> Iterator[DurableSubscription]:
        return iter(self._all.values())

    def of(self, queue: ManagedQueue) -> list[DurableSubscription]:
        """The subscriptions of a queue."""
        return [subscription for subscription in self if subscription.source is queue]

    def find(self, name: str, path: str) -> DurableSubscription:
        """The subscription with this name of a queue; one that is deleted if there is no other."""
        found = [
            subscription
            for subscription in self
            if fold(subscription.name) == fold(name)
            and fold(subscription.source.name) == fold(path)
        ]
        if not found:
            raise QueueNotFound(f"{path} has no subscription {name}")
        return min(found, key=lambda subscription: subscription.source.deleted)

    def open(
        self, name: str, queue: ManagedQueue, way: SubscriptionMode
    ) -> Future[DurableSubscription]:
        """The subscription of a queue, created if it does not exist."""
        pending: Future[DurableSubscription] = Future()
        known = self._all.get((fold(name), queue.number))
        if known is not None:
            if known.way is not way:
                raise InvalidParameter(
                    f"subscription {name} exists with the mode {known.way}, not {way}"
                )
            pending.succeed(known)
            return pending
        _check(name, queue)
        store = self._core.queues.make_reserved(f"{name}|{queue.number}|{queue.name}")
        made = DurableSubscription(name, queue, store, way)
        self._add(made)

        def apply(batch: Batch) -> None:
            batch.set_properties(store, store.properties)
            batch.write_queue_number()
            write_state(batch, made)

        def failed(error: BaseException) -> None:
            self._forget(made)
            pending.fail(error)

        self._core.submit(apply, lambda: pending.succeed(made), failed, grows=True)
        return pending

    def reserve(
        self, subscription: DurableSubscription, after: int, count: int, size_max: int
    ) -> Future[int]:
        """Reserve messages after the position `after`; the last position that can be read.

        Messages that were reserved before count first; only if there are none, messages of the
        queue are reserved.
        """

        def work(pending: Future[int]) -> None:
            check_place(subscription, after, after)
            if after < subscription.reserved:
                snapshot, store = self._core.snapshot, subscription.store
                last = min(after + count, subscription.reserved)
                pending.succeed(fitting(snapshot, store, after, last, size_max))
            else:
                self._giver.give(subscription, pending, count, size_max, is_first=True)

        return subscription.in_turn(work)

    # Reading

    def read(
        self,
        subscription: DurableSubscription,
        after: int,
        last: int,
        size_max: int,
        owner: str = "",
    ) -> list[Entry]:
        """Reserved messages after one position up to another; at least one of them."""
        check_read(subscription, after, last, owner)
        found: list[Found] = []
        size = 0
        for _, raw in self._rows(subscription, after, last):
            size += packet_place(raw)[1]
            if found and size > size_max:
                break
            found.append((place_of(raw)[0], raw, False))
        return fetch(self._core.snapshot, subscription.store, found)

    def size(self, subscription: DurableSubscription, after: int, last: int) -> int:
        """The bytes of the reserved messages after one position up to another."""
        check_place(subscription, after, last)
        return bytes_of(self._parts(subscription, after, last))

    def _rows(
        self, subscription: DurableSubscription, after: int, last: int
    ) -> Iterator[tuple[int, bytes]]:
        for part in self._parts(subscription, after, last):
            if isinstance(part, RunSlice):
                yield from ((position, raw) for position, raw, _ in part.found())
            else:
                yield part[:2]

    def _parts(
        self, subscription: DurableSubscription, after: int, last: int
    ) -> Iterator[Found | RunSlice]:
        return reserved_parts(self._core.snapshot, subscription.store, after, last)

    def _next_rows(self, subscription: DurableSubscription, after: int, last: int) -> Rows:
        return list(islice(self._rows(subscription, after, last), STEP))

    # Commit

    def commit(
        self,
        subscription: DurableSubscription,
        position: int,
        target: ManagedQueue | None = None,
        owner: str = "",
        caller: Caller = INTERNAL,
    ) -> Future[None]:
        """Commit all messages up to a position: they are received, or moved to a subqueue.

        Messages that an owner has not read are kept. Idempotent.
        """
        if target is not None:
            _check_target(subscription, target)
            target.pins += 1
        by = caller.name

        def work(pending: Future[None]) -> None:
            check_owner(subscription, owner)
            if position > subscription.reserved:
                raise InvalidParameter(
                    f"subscription {subscription.name} is reserved up to {subscription.reserved},"
                    f" cannot commit {position}"
                )
            self._commit_rows(subscription, position, target, by, pending)

        def over() -> None:
            if target is not None:
                target.pins -= 1
            finished.then(answer, lambda value: value)

        answer: Future[None] = Future()
        finished = subscription.in_turn(work)
        if finished.done:
            over()
        else:
            finished.on_done = over
        return answer

    def _commit_rows(
        self,
        subscription: DurableSubscription,
        position: int,
        target: ManagedQueue | None,
        by: str,
        pending: Future[None],
    ) -> None:
        if position <= subscription.committed:
            pending.succeed(None)
            return
        before = subscription.committed
        parts: StepParts
        if target is None and self._leave_together(subscription):
            parts = reserved_step(self._core.snapshot, subscription.store, before, position)
        else:
            parts = _singly(self._next_rows(subscription, before, position))
        last = last_of(parts)
        if subscription.owner and not subscription.read.has_all(before, last):
            parts = _singly(row for row in one_by_one(parts) if row[0] in subscription.read)

        def apply(batch: Batch) -> None:
            rows: Rows = []
            for part in parts:
                if not (
                    isinstance(part, RunSlice) and self._receive(batch, subscription, part, by)
                ):
                    rows += one_by_one([part])
            if rows:
                self._leave(batch, subscription, rows, target, by)
            write_state(batch, subscription, committed=last)

        def committed() -> None:
            subscription.committed = last
            subscription.read = subscription.read.behind(last)
            self._commit_rows(subscription, position, target, by, pending)

        self._core.submit(apply, committed, pending.fail)

    def _leave_together(self, subscription: DurableSubscription) -> bool:
        """Whether messages of a run that are received can leave the store in one piece."""
        source, reason = subscription.source, MessageClass.ACK_RECEIVE
        return not source.deleted and not self._core.dispositions.is_journaled(source, reason)

    def _receive(
        self, batch: Batch, subscription: DurableSubscription, part: RunSlice, by: str
    ) -> bool:
        """Messages of a run are received; False if they have to leave one by one."""
        if not self._leave_together(subscription):
            return False
        if not batch.remove_slice(subscription.store, part):
            return False
        stood = part.as_it_stood()
        if batch.keeps_history:
            stood = stood.with_packets(batch.start_of(part))
        source, reason = subscription.source, MessageClass.ACK_RECEIVE
        self._core.dispositions.removed_slice(batch, source, stood, reason, by)
        return True

    def _leave(
        self,
        batch: Batch,
        subscription: DurableSubscription,
        rows: Rows,
        target: ManagedQueue | None,
        by: str,
    ) -> None:
        source = subscription.source
        gone = take_out(batch, subscription, rows)
        if subscription.way is SubscriptionMode.COPY:
            _drop_packets(batch, gone)
        elif target is not None and not target.deleted:
            for lookup, raw in gone:
                batch.place(target, lookup, Record.unpack(raw).moved(batch.now))
            batch.total(source, Total.MOVED, len(gone))
            batch.total(target, Total.ARRIVED, len(gone))
            note(batch, Event.MOVED, target, gone, by, source.name)
        else:
            self._finalize(batch, source, gone, MessageClass.ACK_RECEIVE, by)

    def _finalize(
        self,
        batch: Batch,
        source: ManagedQueue,
        gone: Messages,
        reason: MessageClass,
        by: str,
    ) -> None:
        """Messages are at their end; of a queue that is deleted there is no journal any more."""
        queue = _gone(source.number, source.name) if source.deleted else source
        self._core.dispositions.finalize(batch, queue, gone, reason, by)

    def drop(self, subscription: DurableSubscription, caller: Caller = INTERNAL) -> Future[int]:
        """End a subscription: what it was given and is not done with is back in its queue."""
        by = caller.name
        return subscription.in_turn(lambda pending: self._drop(subscription, 0, by, pending))

    def give_back(
        self, subscription: DurableSubscription, caller: Caller = INTERNAL
    ) -> Future[int]:
        """What it says it is done with and has not read is back in its queue; it goes on."""
        by = caller.name
        return subscription.in_turn(
            lambda pending: self._drop(subscription, 0, by, pending, unread=True)
        )

    def _drop(
        self,
        subscription: DurableSubscription,
        before: int,
        by: str,
        pending: Future[int],
        *,
        unread: bool = False,
    ) -> None:
        source = subscription.source
        rows = self._next_rows(
            subscription, 0, subscription.committed if unread else subscription.reserved
        )
        if unread and not rows:
            pending.succeed(before)
            return
        done = max(subscription.committed, rows[-1][0]) if rows else subscription.committed
        subscription.is_changing = not rows

        def apply(batch: Batch) -> None:
            if not rows:
                delete_rows(batch, subscription.store)
                return
            gone = take_out(batch, subscription, rows)
            if subscription.way is SubscriptionMode.COPY:
                _drop_packets(batch, gone)
            elif source.deleted:
                self._finalize(batch, source, gone, MessageClass.NACK_Q_DELETED, by)
            else:
                for lookup, raw in gone:
                    batch.place(source, lookup, Record.unpack(raw))
                note(batch, Event.RETURNED, source, gone, by, subscription.name)
            write_state(batch, subscription, committed=done)

        def committed() -> None:
            if rows:
                subscription.committed = done
                self._drop(subscription, before + len(rows), by, pending, unread=unread)
            else:
                self._forget(subscription)
                pending.succeed(before)

        def failed(error: BaseException) -> None:
            subscription.is_changing = False
            pending.fail(error)

        self._core.submit(apply, committed, failed)


def _singly(rows: Iterable[tuple[int, bytes]]) -> StepParts:
    return [(at, raw, False) for at, raw in rows]


def _drop_packets(batch: Batch, gone: Messages) -> None:
    for _, raw in gone:
        batch.drop_packet(*packet_place(raw))


def _gone(number: int, path: str) -> ManagedQueue:
    """A queue that was deleted."""
    return ManagedQueue(number, QueueProperties(path, UUID(int=0), 0, 0), deleted=True)


def _check_target(subscription: DurableSubscription, target: ManagedQueue) -> None:
    if target.kind is not QueueKind.SUBQUEUE or target.parent is not subscription.source:
        raise InvalidParameter(f"{target.name} is no subqueue of {subscription.source.name}")
    if subscription.way is SubscriptionMode.COPY:
        raise InvalidParameter(f"subscription {subscription.name} has copies, which do not move")


def _check(name: str, queue: ManagedQueue) -> None:
    if not 0 < len(name) <= NAME_MAX or "|" in name or not name.isprintable():
        raise InvalidParameter(f"{name!r}: a subscription has 1 to {NAME_MAX} characters, no |")
    if queue.deleted or queue.kind not in KINDS:
        raise InvalidParameter(f"{queue.name}: cannot subscribe to a {queue.kind} queue")
