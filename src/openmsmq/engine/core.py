"""The heart of a queue manager: its queues, and commits that many callers share.

A `Core` is synchronous and never waits. Calls return at once, with a `Pending` answer where a
commit must come first. Whoever drives the core commits when `wants_commit` says so:

    writer = store.begin()           on the thread that will commit
    core.start_commit(writer)        gathers all that was asked for so far
    store.commit()                   meanwhile further calls gather for the next commit
    core.finish_commit()             answers are given, readers wake

If `start_commit` raises, the store aborts and `core.retreat` follows: an operation that cannot be
applied fails alone, and the others wait for the next commit.

What readers see is what the last finished commit left. The caller serialises all calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from uuid import UUID

from openmsmq.engine.arrivals.acknowledgements import Acknowledgements
from openmsmq.engine.arrivals.duplicates import Duplicates
from openmsmq.engine.arrivals.incoming import IncomingSequences
from openmsmq.engine.arrivals.peers import PeerTable
from openmsmq.engine.arrivals.receipts import ReceiptWriters
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.operation import Operation, Operations
from openmsmq.engine.commit.timeline import SHIFT_KEY
from openmsmq.engine.messages.admission import Admission
from openmsmq.engine.messages.delay import Delays
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.messages.poison import PoisonMessages
from openmsmq.engine.outgoing.transport import Transports
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.purge import drop_messages, remove_purged, resume_purge
from openmsmq.engine.queues.queue import ManagedQueue, outgoing_name
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.storage.history import PENDING_MAX, Event, identifiers, pack_event
from openmsmq.engine.storage.layout import lookup_id, pack_record
from openmsmq.engine.storage.recovery import give_back, load, reserve_arrivals, reserve_message_ids
from openmsmq.engine.storage.settings import write_settings
from openmsmq.engine.storage.tables import Snapshot, Store, Table, Writer
from openmsmq.engine.transactions.outcomes import Decisions
from openmsmq.engine.transactions.transaction import date_prepared
from openmsmq.errors import GenericError, MQError, StorageError, StorageFull
from openmsmq.properties.message import describe_class
from openmsmq.types.queues import QueueKind


class Core:
    """A queue manager's state and the rules about its queues ([MS-MQDMPR] 3.1)."""

    def __init__(
        self,
        store: Store,
        *,
        new_identity: UUID,
        now: float = 0.0,
        elapsed: float = 0.0,
        entropy: bytes = b"",
        restored: bool = False,
        receipts: ReceiptWriters = MappingProxyType({}),
    ) -> None:
        """Start on a store, finishing what a crash interrupted ([MS-MQDMPR] 3.1.3).

        `now` is what the clock shows, `elapsed` counts seconds from any moment without jumps.
        `entropy` are random bytes that make identifiers of sequences hard to guess; `restored`
        says that the store is older than what other managers know of this one; `receipts` write
        what the senders of messages from other managers are owed.
        """
        self.receipt_writers = receipts
        loaded = load(store, new_identity, int(now), entropy=entropy, restored=restored)
        self.identity = loaded.identity
        self.numbers = loaded.numbers
        self.settings = loaded.settings
        self.history = loaded.history
        self.statistics = loaded.statistics
        self.timeline = loaded.timeline
        self.timeline.observe(now, elapsed)
        self._is_shift_lost = False
        "A jump of the clock could not be written down yet."
        self.starts = loaded.starts
        "When the manager was started the last times, in seconds since 1970 UTC."
        self.prepared = {transaction.xid: transaction for transaction in loaded.prepared}
        date_prepared(loaded.prepared, self.timeline.now)
        self.decisions = Decisions(store.snapshot)
        self.peers = PeerTable(store.snapshot)
        self.incoming = IncomingSequences(store.snapshot, self.peers.knows)
        self.duplicates = Duplicates(store.snapshot)
        self.is_stopping = False
        "Emptying of queues and sweeps go no further; the next start takes them up."
        self.is_throttled = False
        "Flow control: nothing new is accepted (Throttled, [MS-MQDMPR] 3.1.1.1)."
        self._is_low = False
        "Flow control began because the disk runs low."
        self.express_size = 0
        "Bytes of express messages in all queues."
        self.store, self._operations = store, Operations()
        self._committing: tuple[list[Operation], Batch] | None = None
        self._awake: list[tuple[ManagedQueue, list[int]]] = []
        self._is_busy = False
        "Readers are being woken, or will be as soon as the books are in order."
        self._after_commit: list[Callable[[], None]] = []
        self.on_given_up: list[Callable[[], None]] = [self.incoming.failed]
        "Forget what a commit that came to nothing had staged in memory."
        self.transports = Transports()
        self.queues = Queues(self, loaded.queues)
        self._reserved = sum(queue.reserved for queue in loaded.queues.values())
        self._stored_size = 0
        self.recount()
        self.acknowledgements = Acknowledgements(self)
        self.dispositions = Dispositions(self)
        self.expiry = Expiry(self)
        self.delays = Delays(self)
        self.admission, self.poison = Admission(self), PoisonMessages(self)
        self._resume(loaded.emptying)

    def _resume(self, emptying: list[ManagedQueue]) -> None:
        """Go on with what the last process had begun."""
        for queue in emptying:
            drop_messages(self, queue)
        for queue in self.queues.everything:
            if queue.purge_pending:
                resume_purge(self, queue)
        self.queues.tidy()

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
    def operations_waiting(self) -> int:
        """How much the next commit is asked to do."""
        return len(self._operations)

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
        self._operations.add(Operation(apply, committed, failed, grows))

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is submitted meanwhile is written by one commit, or all of it fails."""
        start = len(self._operations)
        try:
            yield
        finally:
            self._operations.join(start)

    def start_commit(self, writer: Writer) -> None:
        """Write all that was asked for; the store commits it after this.

        If this raises, the store aborts, and `retreat` is told the error.
        """
        batch = Batch(writer, self.numbers, self.timeline.wall, self.history, self.statistics)
        self._committing = self._operations.take(), batch
        self._operations.apply(batch)
        batch.write()

    def retreat(self, error: BaseException) -> None:
        """Nothing of what `start_commit` wrote will be committed, since it raised an error.

        What the store cannot do fails for all. Any other error is the fault of the operation that
        raised it, which fails alone; an interruption is the fault of none. The rest waits for the
        next commit.
        """
        if isinstance(error, StorageError):
            self.finish_commit(error)
            return
        assert self._committing is not None, "no commit is under way"
        self._committing = None
        self._is_busy = True
        self._forget_staged()
        faulty = self._operations.put_back(is_fault=isinstance(error, Exception))
        if faulty is not None:
            self.statistics.count("operations that failed alone")
            faulty.failed(error if isinstance(error, MQError) else GenericError(repr(error)))
        self._go_on()

    def finish_commit(self, error: BaseException | None = None) -> None:
        """Tell everybody that the commit is on disk, or that it is not."""
        assert self._committing is not None, "no commit is under way"
        _, batch = self._committing
        self._committing = None
        self._is_busy = True
        if error is not None:
            self._forget_staged()
            has_room = isinstance(error, StorageFull) and self.store.make_room()
            self._operations.fail(error, has_room=has_room)
        else:
            self._show(batch)
            self._operations.answer()
        self._go_on()

    def _show(self, batch: Batch) -> None:
        """A commit is on disk: let readers see it."""
        self.store.refresh()
        batch.apply()
        self.expiry.expect(batch.next_expiry)
        self.delays.expect(batch.next_due)
        for queue, size in batch.grown():
            self._stored_size += size
            self.queues.touch(queue)
            if size < 0 and queue.kind in (QueueKind.OUTGOING, QueueKind.UNCONFIRMED):
                self._awake.append((queue.main, []))  # what waited for these may go now, or end
        for queue, lookups in batch.inserted.items():
            queue.came(lookups)
            self.wake(queue, lookups)
        for call in batch.after:
            call()

    def _forget_staged(self) -> None:
        for forget in self.on_given_up:
            forget()

    def _go_on(self) -> None:
        """A commit is over: do what had to wait for its end."""
        waiting, self._after_commit = self._after_commit, []
        for call in waiting:
            call()
        self._is_busy = False
        self.settle()
        self.queues.tidy()
        reserve_arrivals(self.numbers, self.submit)

    def break_off(self, error: MQError) -> None:
        """Nothing can be committed any more: let all fail that was asked for, and all reads."""
        self._committing = None
        self._operations.abandon(error)
        self.cancel_everywhere(error)
        self._operations.abandon(error)

    def refuse(self, error: BaseException) -> None:
        """No commit could be begun: tell everybody who asked for one."""
        self._operations.refuse(error)
        self.settle()

    def take_message_ids(self, count: int) -> None:
        """Identifiers have been given to messages; more are reserved before they run out."""
        self.numbers.message_id += count
        reserve_message_ids(self.numbers, self.submit)

    def configure(self, **changes: Any) -> Future[None]:
        """Change settings of the manager."""
        self.settings.changed(**changes)  # refused now, if ever

        def committed() -> None:
            self.settings = self.settings.changed(**changes)
            self.history.limit = self.settings.history << 20

        return write_settings(changes, self.submit, committed)

    # Time

    def advance(self, now: float, elapsed: float) -> bool:
        """Tell the time; it is told before every call and when `next_deadline` has come.

        True if messages have expired or are due, and a commit begins that sees to it.
        """
        if self.timeline.observe(now, elapsed) or self._is_shift_lost:
            self._write_shift()
        begins = self.delays.next <= self.timeline.exact and self.delays.release()
        if not self.expiry.is_due:
            return begins
        begins |= self.expiry.sweep()
        self.settle()
        return begins

    def _write_shift(self) -> None:
        """Write down by how much the clock has jumped; if that fails, with the next tick."""
        row = self.timeline.to_row()
        self._is_shift_lost = False

        def failed(error: BaseException) -> None:
            self._is_shift_lost = True

        self.submit(
            lambda batch: batch.writer.put(Table.META, SHIFT_KEY, row), lambda: None, failed
        )

    @property
    def next_deadline(self) -> float | None:
        """In how many seconds from the last tick something is to be done; None for never."""
        due, expired = self.delays.seconds_left, self.expiry.seconds_left
        return expired if due is None else due if expired is None else min(due, expired)

    def stop(self) -> None:
        """Write what waits in memory, and leave long work for the next start.

        Numbers that were reserved and not used are given back, but for some that what is still
        under way may take.
        """
        self.is_stopping = True
        self.submit(
            lambda batch: give_back(batch.writer, self.numbers),
            lambda: None,
            lambda error: None,
            grows=True,
        )

    # Flow control

    def begin_flow_control(self) -> None:
        """Begin Flow Control ([MS-MQDMPR] 3.1.7.2.5): accept nothing new."""
        self.is_throttled = True

    def end_flow_control(self) -> None:
        """End Flow Control ([MS-MQDMPR] 3.1.7.2.6)."""
        self.is_throttled = False

    def watch_resources(self) -> None:
        """Let flow control begin when the disk runs low, and end when there is room again."""
        has_room = self.store.has_room()
        if has_room == self._is_low:
            self._is_low = not has_room
            if has_room:
                self.end_flow_control()
            else:
                self.statistics.count("flow control")
                self.begin_flow_control()

    def note(
        self,
        event: Event,
        queue: ManagedQueue,
        lookups: Sequence[int],
        ids: bytes,
        by: str,
        extra: str = "",
    ) -> None:
        """Keep an event of messages that no commit is about, and write it before there are many."""
        before = self.history.pending_size
        pieces = pack_event(event, queue.number, lookups, ids, by, extra)
        self.history.note(self.timeline.wall, pieces)
        if before <= PENDING_MAX < self.history.pending_size:
            self.submit(lambda batch: None, lambda: None, lambda error: None, grows=True)

    def after_inserts(self, queue: ManagedQueue, call: Callable[[], None]) -> None:
        """Do something at once, but behind messages of this queue that are being committed."""
        if self._committing is not None and queue in self._committing[1].inserted:
            self._after_commit.append(call)
        else:
            call()
            self.settle()

    # Readers

    def wake(self, queue: ManagedQueue, lookups: Iterable[int]) -> None:
        """Messages have become readable: let readers look again once the books are in order.

        All effects of one outcome are applied before anybody is woken (A-55).
        """
        found = sorted(lookups)
        if found:
            queue.readable_from(found[0])
            for follower in queue.followers:
                follower.came(found)
            self._awake.append((queue, found))

    def settle(self) -> None:
        """Message Position Available ([MS-MQDMPR] 3.1.7.2.2): waiting readers, oldest first.

        What readers make readable in turn is dealt with after them, never in their midst.
        """
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._awake:
                queue, lookups = self._awake.pop(0)
                if queue.kind is QueueKind.OUTGOING:
                    self.transports.ready(queue)
                for waiter in list(queue.waiters):
                    if waiter.attempt(lookups):
                        queue.waiters.remove(waiter)
        finally:
            self._is_busy = False

    def insert_express(
        self,
        queue: ManagedQueue,
        messages: Sequence[NewMessage],
        arrivals: Sequence[int] = (),
        *,
        by: str = "",
        message_class: int = 0,
        event: Event = Event.ARRIVED_EXPRESS,
    ) -> list[int]:
        """Put messages into a queue that need not outlive the process; their lookup identifiers.

        `by` is who sent them, for the history.
        """
        now, entries = self.timeline.wall, []
        arrivals = arrivals or self.numbers.arrivals(len(messages))
        for arrival, new in zip(arrivals, messages, strict=True):
            packet = new.packet
            record = pack_record(
                0, len(packet), now, new.expires, 0, 0, 0, message_class, new.flags
            )
            entries.append(Entry(lookup_id(new.priority, arrival), record, packet, True))
        self.add_express(queue, entries)
        lookups = [entry.lookup for entry in entries]
        if self.history.limit:
            ids = identifiers([message.packet for message in messages])
            why = describe_class(message_class) if message_class else outgoing_name(queue)
            self.note(event, queue, lookups, ids, by, why)
        if event is Event.ARRIVED_EXPRESS:
            self.statistics.count(Event.ARRIVED.word, len(messages))
            self.dispositions.arrived_express(queue, entries)
        return lookups

    def add_express(self, queue: ManagedQueue, entries: Sequence[Entry]) -> None:
        """Put messages into a queue at the places they have."""
        before = queue.express.size
        queue.express.add(entries)
        queue.came(entry.lookup for entry in entries)
        self.express_size += queue.express.size - before
        self.expiry.add_express(queue, entries)

    def drop_express(self, queue: ManagedQueue, lookups: Iterable[int]) -> None:
        """Take express messages out of a queue."""
        before = queue.express.size
        for lookup in lookups:
            queue.express.remove(lookup)
        self.express_size -= before - queue.express.size

    def forget(self, queue: ManagedQueue, lookups: Collection[int]) -> None:
        """Held messages are gone from the queue."""
        queue.holds.release(lookups)
        if queue.purge_pending:
            queue.purge_pending.difference_update(lookups)
        if queue.express:
            self.drop_express(queue, [lookup for lookup in lookups if lookup in queue.express])

    def release(self, queue: ManagedQueue, lookups: Iterable[int]) -> None:
        """Make held messages readable again, unless they were purged or expired meanwhile."""
        back = list(lookups)
        queue.holds.release(back)
        purged = [lookup for lookup in back if lookup in queue.purge_pending]
        if purged and not queue.deleted:
            remove_purged(self, queue, purged)
        self.expiry.released(queue, back)
        self.wake(queue, [lookup for lookup in back if lookup not in purged])

    def cancel(self, queue: ManagedQueue, pending: Future[Any], error: BaseException) -> bool:
        """Cancel Waiting Message Read Request ([MS-MQDMPR] 3.1.7.1.17); False if none waits."""
        for waiter in queue.waiters:
            if waiter.pending is pending:
                queue.waiters.remove(waiter)
                waiter.give_up()
                pending.fail(error)
                return True
        return False

    def cancel_all(self, queue: ManagedQueue, error: MQError, *, cursor: object = None) -> None:
        """Let every read that waits on a queue, or with one cursor, fail (A-29, A-51)."""
        for waiter in list(queue.waiters):
            if cursor is None or waiter.cursor is cursor:
                self.cancel(queue, waiter.pending, error)

    def cancel_everywhere(self, error: MQError) -> None:
        """Let every read that waits fail."""
        for queue in self.queues.everything:
            self.cancel_all(queue, error)

    @property
    def total_size(self) -> int:
        """The bytes of all messages, as quotas count them."""
        return self._stored_size + self._reserved + self.express_size

    def reserve(self, queue: ManagedQueue, size: int) -> None:
        """Count bytes that were accepted but are not in the store yet, or not any longer."""
        queue.reserved += size
        self._reserved += size

    def recount(self) -> None:
        """Add up what the store holds of all queues, after some came or went."""
        self._stored_size = sum(queue.size for queue in self.queues.everything)
