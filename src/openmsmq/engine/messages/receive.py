"""Reading: receive, peek, cursors, lookup identifiers, reads in two steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.messages.scan import (
    NO_LIMIT,
    fetch,
    fetch_parts,
    first_fitting,
    first_readable,
    hold,
    readable,
    readable_back,
)
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING, Holder, SliceHolder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, Parts, RunSlice, expanded, lookups_of
from openmsmq.engine.queues.waiter import Waiter
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import place_and_expiry
from openmsmq.engine.storage.runs import record_of, stored_back
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InvalidHandle,
    MessageNotFound,
    OperationCancelled,
    QueueNotAvailable,
    ReceiveTimeout,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.properties.message import MessageClass
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.lookup import LOOKUP_MAX, Range
from openmsmq.types.read import Seek

T = TypeVar("T")
Entries = list[Entry]
OVER = "the transaction ended while the read was waiting"


class Receiver:
    """The reads of a queue manager; each is answered when what it removed is off the disk."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def peek(
        self,
        queue: ManagedQueue,
        count: int,
        owner: object,
        *,
        wait: bool,
        after: int = 0,
        size_max: int = NO_LIMIT,
        shape: Callable[[Parts], Any] = expanded,
    ) -> Future[Any]:
        """Peek Message ([MS-MQDMPR] 3.1.7.1.15), up to `count` and `size_max` bytes at once."""
        pending: Future[Any] = Future()

        def attempt(_: list[int]) -> bool:
            snapshot = self._core.snapshot
            found = first_fitting(
                snapshot, queue, count, after, self._core.expiry.overdue, size_max
            )
            if found:
                pending.succeed(shape(fetch_parts(snapshot, queue, found)))
            return bool(found)

        return self._start(queue, Waiter(attempt, pending, owner, from_head=not after), wait=wait)

    def receive(
        self,
        queue: ManagedQueue,
        count: int,
        owner: object,
        *,
        wait: bool,
        holder: Holder = REMOVING,
        size_max: int = NO_LIMIT,
        caller: Caller = INTERNAL,
    ) -> Future[Entries]:
        """Dequeue Message ([MS-MQDMPR] 3.1.7.1.10), up to `count` and `size_max` bytes at once.

        `holder` is a transaction, or for a read in two steps the reader that will end it (.11).
        """
        return self._receive(
            queue,
            count,
            owner,
            expanded,
            wait=wait,
            holder=holder,
            size_max=size_max,
            caller=caller,
        )

    def receive_parts(
        self,
        queue: ManagedQueue,
        count: int,
        owner: object,
        *,
        wait: bool,
        holder: Holder = REMOVING,
        size_max: int = NO_LIMIT,
        caller: Caller = INTERNAL,
    ) -> Future[Parts]:
        """The same with messages of runs as slices."""
        return self._receive(
            queue, count, owner, same, wait=wait, holder=holder, size_max=size_max, caller=caller
        )

    def _receive(
        self,
        queue: ManagedQueue,
        count: int,
        owner: object,
        shape: Callable[[Parts], T],
        *,
        wait: bool,
        holder: Holder,
        size_max: int,
        caller: Caller,
    ) -> Future[T]:
        _check_holder(queue, holder)
        pending: Future[T] = Future()

        def attempt(_: list[int]) -> bool:
            if _is_over(holder):
                pending.fail(TransactionSequence(OVER))
                return True
            snapshot = self._core.snapshot
            found = first_fitting(snapshot, queue, count, 0, self._core.expiry.overdue, size_max)
            if found:
                parts: Parts = fetch_parts(snapshot, queue, found)
                if not isinstance(holder, SliceHolder):
                    parts = expanded(parts)
                hold(queue, parts, holder, from_start=True)
                self._taken(queue, parts, holder, pending, shape, caller)
            return bool(found)

        is_over = partial(_is_over, holder) if isinstance(holder, ManagedTransaction) else None
        waiter = Waiter(attempt, pending, owner, from_head=True, is_over=is_over)
        return self._start(queue, waiter, wait=wait)

    def put_back(self, queue: ManagedQueue, entries: Entries, caller: Caller = INTERNAL) -> None:
        """Undo a receive whose caller is gone: the messages return to their places."""
        if queue.deleted:
            return
        core = self._core
        stored = [entry for entry in entries if not entry.express]
        express = [entry for entry in entries if entry.express]
        core.express.add(queue, express)
        _note_back(core.note, queue, express, caller.name)
        core.readers.wake(queue, [entry.lookup for entry in express])
        core.readers.notify()

        def apply(batch: Batch) -> None:
            if not queue.deleted:
                batch.reinsert(queue, stored)
                _note_back(batch.note, queue, stored, caller.name)

        def committed() -> None:
            queue.pins -= 1

        def failed(error: BaseException) -> None:
            queue.pins -= 1
            core.statistics.count("messages lost because they could not be put back", len(stored))

        if stored:
            queue.pins += 1
            core.submit(apply, committed, failed, grows=True)

    def end(
        self,
        queue: ManagedQueue,
        ranges: Sequence[Range],
        holder: Holder,
        *,
        delete: bool,
        caller: Caller = INTERNAL,
    ) -> Future[None]:
        """Dequeue Message End ([MS-MQDMPR] 3.1.7.1.12): remove what was taken, or give it back.

        `holder` is what has taken them. What was purged meanwhile is gone when this is answered.
        """
        _check_queue(queue)
        parts = self._held(queue, ranges, holder)
        pending: Future[None] = Future()
        gone: Parts = parts if delete else ()
        if gone and queue.has_purged:
            gone = [entry for entry in expanded(parts) if not queue.is_purged(entry.lookup)]
        removed = partial(pending.succeed, None)
        if gone is not parts:
            staying = set(lookups_of(gone))
            back = [lookup for lookup in lookups_of(parts) if lookup not in staying]
            removed = partial(self._core.removal.release(queue, back).then, pending, lambda _: None)
            self._core.readers.notify()
        for part in gone:
            if isinstance(part, RunSlice):
                queue.holds.hold_slice(part, REMOVING)
        queue.holds.hold([part.lookup for part in gone if isinstance(part, Entry)], REMOVING)
        self._remove(queue, gone, removed, pending.fail, caller)
        return pending

    def enlist(
        self,
        queue: ManagedQueue,
        ranges: Sequence[Range],
        holder: Holder,
        transaction: ManagedTransaction,
    ) -> None:
        """Let a transaction decide on messages that a read in two steps holds."""
        _check_queue(queue)
        _check_holder(queue, transaction)
        entries = expanded(self._held(queue, ranges, holder))
        for entry in entries:
            transaction.received[queue, entry.lookup] = entry.record
        queue.holds.hold([entry.lookup for entry in entries], transaction)

    def _held(self, queue: ManagedQueue, ranges: Sequence[Range], holder: Holder) -> list[Part]:
        """Messages as they were read, all of which this one holds.

        A read that did not happen cannot be ended, nor one that something else ends.
        """
        holds, read = queue.holds, queue.holds.read_by(holder)
        parts: list[Part] = []
        for at, end in ranges:
            while at < end:
                span = holds.span_at(at)
                if span is not None and span.holder is holder:
                    stop = min(end, span.end)
                    parts.append(span.read.part(at, stop))
                    at = stop
                elif span is None and holds.holder_of(at) is holder:
                    parts.append(read.get(at) or self._entry(queue, at))
                    at += 1
                else:
                    raise TransactionSequence(f"message {at} is not held by this handle")
        return parts

    def _entry(self, queue: ManagedQueue, lookup: int) -> Entry:
        """A message that is there for certain."""
        if lookup in queue.express:
            return queue.express[lookup]
        record = record_of(self._core.snapshot, queue.number, lookup)
        assert record is not None, "a message that is held is there"
        return fetch(self._core.snapshot, queue, [(lookup, record, False)])[0]

    def by_lookup(
        self,
        queue: ManagedQueue,
        lookup: int,
        seek: Seek,
        *,
        peek: bool,
        holder: Holder = REMOVING,
        caller: Caller = INTERNAL,
    ) -> Future[Entries]:
        """Read Message By Lookup Identifier ([MS-MQDMPR] 3.1.7.1.13); never waits."""
        _check_queue(queue)
        if not peek:
            _check_holder(queue, holder)
        pending: Future[Entries] = Future()
        entries = fetch(self._core.snapshot, queue, [self._seek(queue, lookup, seek, peek=peek)])
        if peek:
            pending.succeed(entries)
        else:
            hold(queue, entries, holder, from_start=False)
            self._taken(queue, entries, holder, pending, expanded, caller)
        return pending

    def _seek(
        self, queue: ManagedQueue, lookup: int, seek: Seek, *, peek: bool
    ) -> tuple[int, bytes, bool]:
        """Seek Available Message Position With Id ([MS-MQDMPR] 3.1.7.3.3).

        First and last ignore the identifier (A-14); next and previous want it to be there (A-15).
        """
        snapshot = self._core.snapshot
        lookup = min(max(lookup, 0), LOOKUP_MAX)
        named = seek in (Seek.CURRENT, Seek.NEXT, Seek.PREVIOUS)
        if named and not self._exists(queue, lookup):
            raise MessageNotFound(f"no message has lookup identifier {lookup}")
        match seek:
            case Seek.CURRENT:
                return self._current(queue, lookup, peek=peek)
            case Seek.FIRST:
                found = readable(snapshot, queue, 0, self._core.expiry.overdue)
            case Seek.NEXT | Seek.BEHIND:
                found = readable(snapshot, queue, lookup, self._core.expiry.overdue)
            case Seek.LAST:
                found = readable_back(snapshot, queue, LOOKUP_MAX, self._core.expiry.overdue)
            case Seek.PREVIOUS | Seek.AHEAD:
                found = readable_back(snapshot, queue, lookup, self._core.expiry.overdue)
        for item in found:
            return item
        raise MessageNotFound(f"there is no {seek.name.lower()} message")

    def _current(self, queue: ManagedQueue, lookup: int, *, peek: bool) -> tuple[int, bytes, bool]:
        """The message itself, unless it is held, purged (A-52) or expired."""
        if queue.is_purged(lookup):
            raise MessageNotFound("the message was purged")
        holder = queue.holds.holder_of(lookup)
        if holder is not None:
            if peek and holder is not REMOVING:
                raise TransactionUsage("the message is locked by a reader")
            raise MessageNotFound("the message was received")
        is_express = lookup in queue.express
        if is_express:
            record = queue.express[lookup].record
        else:
            row = record_of(self._core.snapshot, queue.number, lookup)
            assert row is not None, "the message was seen a moment ago"
            record = row
        if place_and_expiry(record)[2] < self._core.expiry.overdue:
            raise MessageNotFound("the message has expired")
        return lookup, record, is_express

    def _exists(self, queue: ManagedQueue, lookup: int) -> bool:
        if not 0 < lookup <= LOOKUP_MAX:
            return False
        if lookup in queue.express:
            return True
        return record_of(self._core.snapshot, queue.number, lookup) is not None

    def peek_cursor(
        self,
        queue: ManagedQueue,
        cursor: QueueCursor,
        owner: object,
        *,
        wait: bool,
        following: bool,
    ) -> Future[Entries]:
        """Peek Message with a cursor, or Peek Next Message ([MS-MQDMPR] 3.1.7.1.14, .15)."""
        _check_queue(queue)
        _check_cursor(cursor)
        after = cursor.seek_peek_next() if following else cursor.seek_peek()
        pending: Future[Entries] = Future()
        if after is None:
            pending.succeed(fetch(self._core.snapshot, queue, [self._under(queue, cursor)]))
            return pending

        def attempt(fresh: list[int]) -> bool:
            found = self._first(queue, after, fresh)
            if found:
                cursor.peeked(found[0][0])
                pending.succeed(fetch(self._core.snapshot, queue, found))
            return bool(found)

        waiter = Waiter(attempt, pending, owner, cursor)
        return self._start(queue, waiter, wait=wait)

    def receive_cursor(
        self,
        queue: ManagedQueue,
        cursor: QueueCursor,
        owner: object,
        *,
        wait: bool,
        holder: Holder = REMOVING,
        caller: Caller = INTERNAL,
    ) -> Future[Entries]:
        """Dequeue Message with a cursor ([MS-MQDMPR] 3.1.7.1.10)."""
        _check_queue(queue)
        _check_cursor(cursor)
        _check_holder(queue, holder)
        after = cursor.seek_receive()
        pending: Future[Entries] = Future()

        def take(found: list[tuple[int, bytes, bool]]) -> None:
            cursor.received(found[0][0])
            entries = fetch(self._core.snapshot, queue, found)
            hold(queue, entries, holder, from_start=False)
            self._taken(queue, entries, holder, pending, expanded, caller)

        if after is None:
            take([self._under(queue, cursor)])
            return pending

        def attempt(fresh: list[int]) -> bool:
            if _is_over(holder):
                cursor.give_up()
                pending.fail(TransactionSequence(OVER))
                return True
            found = self._first(queue, after, fresh)
            if found:
                take(found)
            return bool(found)

        waiter = Waiter(attempt, pending, owner, cursor)
        return self._start(queue, waiter, wait=wait, destructive=True)

    def open_cursor(self, queue: ManagedQueue) -> QueueCursor:
        """Open Cursor ([MS-MQDMPR] 3.1.7.1.1)."""
        _check_queue(queue)
        return QueueCursor()

    def close_cursor(self, queue: ManagedQueue, cursor: QueueCursor) -> None:
        """Close Cursor ([MS-MQDMPR] 3.1.7.1.2); a read that waits with it fails (A-51)."""
        cursor.closed = True
        self._core.readers.cancel_all(
            queue, OperationCancelled("the cursor was closed"), cursor=cursor
        )

    def _under(self, queue: ManagedQueue, cursor: QueueCursor) -> tuple[int, bytes, bool]:
        """The message under a cursor that has read it."""
        try:
            return self._seek(queue, cursor.position, Seek.CURRENT, peek=False)
        except MessageNotFound:
            raise cursor.gone() from None

    def _first(
        self, queue: ManagedQueue, after: int, fresh: list[int]
    ) -> list[tuple[int, bytes, bool]]:
        """The next message behind a cursor; for one that waits, a new one anywhere (A-19)."""
        found = first_readable(self._core.snapshot, queue, 1, after, self._core.expiry.overdue)
        if found:
            return found
        for lookup in fresh:
            found = first_readable(
                self._core.snapshot, queue, 1, lookup - 1, self._core.expiry.overdue
            )
            if found and found[0][0] == lookup:
                return found
        return []

    def _start(
        self, queue: ManagedQueue, waiter: Waiter, *, wait: bool, destructive: bool = False
    ) -> Future[Any]:
        """Try at once, else wait ([MS-MQDMPR] 3.1.7.3.1), in one step (A-57)."""
        _check_queue(queue)
        if waiter.attempt([]):
            return waiter.pending
        cursor = waiter.cursor
        if not wait:
            if cursor is not None and destructive:
                waiter.pending.fail(MessageNotFound("no message follows the cursor"))
            else:
                waiter.give_up()
                waiter.pending.fail(ReceiveTimeout("no message is there"))
            return waiter.pending
        if cursor is not None:
            cursor.wait(self._last(queue), destructive=destructive)
        queue.waiters.append(waiter)
        return waiter.pending

    def _last(self, queue: ManagedQueue) -> int:
        """The greatest lookup identifier in a queue, held messages included."""
        express = queue.express.last()
        for lookup, _, _ in stored_back(self._core.snapshot, queue.number, LOOKUP_MAX):
            return max(express, lookup)
        return express

    def _taken(
        self,
        queue: ManagedQueue,
        parts: Parts,
        holder: Holder,
        pending: Future[T],
        shape: Callable[[Parts], T],
        caller: Caller,
    ) -> None:
        """Messages were taken: remove them, or leave that to a transaction or a second step."""
        if isinstance(holder, ManagedTransaction):
            holder.received.update(((queue, e.lookup), e.record) for e in expanded(parts))
        if holder is not REMOVING:
            pending.succeed(shape(parts))
            return
        self._remove(queue, parts, lambda: pending.succeed(shape(parts)), pending.fail, caller)

    def _remove(
        self,
        queue: ManagedQueue,
        parts: Parts,
        succeed: Callable[[], None],
        fail: Callable[[BaseException], None],
        caller: Caller,
    ) -> None:
        """Messages that are held were received."""
        self._core.removal.remove(
            queue, parts, MessageClass.ACK_RECEIVE, succeed, fail, caller.name
        )


def same(parts: Parts) -> Parts:
    """Slices stay slices."""
    return parts


def _note_back(note: Callable[..., None], queue: ManagedQueue, entries: Entries, by: str) -> None:
    if entries:
        ids = identifiers([entry.packet for entry in entries])
        note(Event.PUT_BACK, queue, [entry.lookup for entry in entries], ids, by)


def _check_queue(queue: ManagedQueue) -> None:
    if queue.deleted:
        raise QueueNotAvailable(queue.name)


def _check_holder(queue: ManagedQueue, holder: Holder) -> None:
    """A transaction reads from transactional queues only (A-54), and only while it lasts."""
    if isinstance(holder, ManagedTransaction):
        holder.require_active()
        if not queue.properties.transactional:
            raise TransactionUsage("the queue is not transactional")


def _is_over(holder: Holder) -> bool:
    return isinstance(holder, ManagedTransaction) and not holder.is_open


def _check_cursor(cursor: QueueCursor) -> None:
    if cursor.closed:
        raise InvalidHandle("the cursor is closed")
