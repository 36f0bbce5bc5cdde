"""The parts of the engine, put together, and the commits that their operations share.

A `Core` is synchronous and never waits. Calls return at once, with a `Future` where a commit must
come first. A driver commits when `wants_commit` says so:

    writer = store.begin()           on the thread that will commit
    core.start_commit(writer)        gathers all that was asked for so far
    store.commit()                   meanwhile further calls gather for the next commit
    core.finish_commit()             answers are given, readers wake

If `start_commit` raises, the store aborts and `core.retreat` follows: an operation that cannot be
applied fails alone, and the others wait for the next commit.

What readers see is what the last finished commit left. The caller serialises all calls.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from types import MappingProxyType
from typing import Any
from uuid import UUID

from openmsmq.engine.arrivals.acknowledgements import Acknowledgements
from openmsmq.engine.arrivals.duplicates import Duplicates
from openmsmq.engine.arrivals.examination import Examiner
from openmsmq.engine.arrivals.incoming import IncomingSequences
from openmsmq.engine.arrivals.peers import PeerTable, Pin
from openmsmq.engine.arrivals.receipts import ReceiptWriters
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.number_reservation import (
    give_back,
    reserve_arrivals,
    write_message_ids,
)
from openmsmq.engine.commit.timeline import SHIFT_KEY
from openmsmq.engine.messages.admission import Admission
from openmsmq.engine.messages.delay import Delays
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.messages.expiry_sweep import ExpirySweep
from openmsmq.engine.messages.express import ExpressStore
from openmsmq.engine.messages.poison import PoisonMessages
from openmsmq.engine.messages.removal import Removal
from openmsmq.engine.messages.sparse_runs import SparseRuns
from openmsmq.engine.outgoing.encryption import Encryptor
from openmsmq.engine.outgoing.transport import Transports
from openmsmq.engine.queues.directory_view import DirectoryView
from openmsmq.engine.queues.lifecycle import QueueLifecycle
from openmsmq.engine.queues.purge import Purge
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.queues.waiting_readers import WaitingReaders
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.audit import AuditLog
from openmsmq.engine.storage.layout import NEVER
from openmsmq.engine.storage.recovery import load
from openmsmq.engine.storage.settings import write_settings
from openmsmq.engine.storage.tables import Store, Table, Writer
from openmsmq.engine.transactions.abandoned import AbandonedTransactions
from openmsmq.engine.transactions.outcomes import Decisions
from openmsmq.engine.transactions.transaction import date_prepared
from openmsmq.errors import GenericError, MQError, StorageError, StorageFull
from openmsmq.names.parts import host_key
from openmsmq.routing.decision import Routes
from openmsmq.routing.file import read_topology, split_address
from openmsmq.routing.topology import RoutedManager, Topology
from openmsmq.types.queues import QueueKind


class Core(EngineState):
    """The state of a queue manager and its parts, which share commits ([MS-MQDMPR] 3.1)."""

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
        loaded = load(store, new_identity, int(now), entropy=entropy, restored=restored)
        super().__init__(
            store,
            identity=loaded.identity,
            numbers=loaded.numbers,
            settings=loaded.settings,
            history=loaded.history,
            statistics=loaded.statistics,
            timeline=loaded.timeline,
        )
        self.timeline.observe(now, elapsed)
        self._is_shift_lost = False
        "A jump of the clock could not be written down yet."
        self.audit = AuditLog(store.snapshot, self.settings.audit << 20, self.timeline, self.submit)
        self.starts = loaded.starts
        "When the manager was started the last times, in seconds since 1970 UTC."
        self.prepared = {transaction.xid: transaction for transaction in loaded.prepared}
        date_prepared(loaded.prepared, self.timeline.now)
        self.decisions = Decisions(store.snapshot)
        self.peers = PeerTable(store.snapshot)
        self.directory = DirectoryView()
        self._directory_topology = Topology()
        "What the directory says of sites, links and managers."
        self.on_topology: list[Callable[[], None]] = []
        "Called when messages are routed by another topology."
        self._set_topology()
        self.incoming = IncomingSequences(store.snapshot, self.peers.knows)
        self.duplicates = Duplicates(store.snapshot)
        self.examiner = Examiner()
        self.encryptor = Encryptor()
        self._is_low = False
        "Flow control began because the disk runs low."
        self._has_room = False
        "The store has said so since the last commit."
        self._after_commit: list[Callable[[], None]] = []
        self._message_id_end = 0
        "Up to where the commit under way reserves identifiers of messages."
        self.on_given_up: list[Callable[[], None]] = [self.incoming.failed]
        "Forget what a commit that came to nothing had staged in memory."
        self._build(loaded.queues, receipts)
        self._resume(loaded.emptying)

    def _build(self, queues: dict[int, ManagedQueue], receipts: ReceiptWriters) -> None:
        """Make the parts, each from those below it."""
        self.transports = Transports()
        self.readers = WaitingReaders(self.transports)
        self.queues = Queues(self, self.readers, queues)
        self.reserved_size = sum(queue.reserved for queue in queues.values())
        self.stored_size = self.queues.stored_size
        self.expiry = Expiry(self, self.queues)
        self.express = ExpressStore(self, self.expiry)
        self.acknowledgements = Acknowledgements(
            self,
            self.queues,
            self.readers,
            self.express,
            transports=self.transports,
            peers=self.peers,
            incoming=self.incoming,
            receipts=receipts,
            purge=lambda queue: self.queue_lifecycle.purge(queue),
        )
        self.dispositions = Dispositions(
            self, self.queues, self.readers, self.express, self.acknowledgements
        )
        self.removal = Removal(self, self.readers, self.expiry, self.express, self.dispositions)
        self._purge = Purge(self, self.readers, self.express, self.dispositions, self.removal)
        self.queue_lifecycle = QueueLifecycle(self, self.queues, self.expiry, self._purge)
        self._expiry_sweep = ExpirySweep(
            self, self.queues, self.expiry, self.express, self.dispositions, self.removal
        )
        self.admission = Admission(self, self.dispositions)
        self.poison = PoisonMessages(self, self.queues, self.dispositions, self.admission)
        self.delays = Delays(self, self.queues, self.admission)
        self.sparse_runs = SparseRuns(self, self.queues)
        self.abandoned_transactions = AbandonedTransactions(self)
        self._serve_sites()
        self.on_topology.append(self._serve_sites)

    def _resume(self, emptying: list[ManagedQueue]) -> None:
        """Go on with what the last process had begun."""
        for queue in emptying:
            self._purge.drop_messages(queue)
        for queue in self.queues.everything:
            if queue.purge_pending:
                self._purge.resume(queue)
        self.queues.tidy()

    # Commits

    @property
    def wants_commit(self) -> bool:
        """There is something to commit, and no commit is under way."""
        return bool(self.operations.waiting) and self.batch is None

    @property
    def operations_waiting(self) -> int:
        """How much the next commit is asked to do."""
        return len(self.operations.waiting) + self.operations.gathered

    def start_commit(self, writer: Writer) -> None:
        """Write all that was asked for; the store commits it after this.

        If this raises, the store aborts, and `retreat` gets the error.
        """
        batch = Batch(writer, self.numbers, self.timeline.wall, self.history, self.statistics)
        self.operations.take()
        self.batch = batch
        self.operations.apply(batch)
        self._message_id_end = write_message_ids(writer, self.numbers)
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
        assert self.batch is not None, "no commit is under way"
        self.batch = None
        self.readers.pause()
        self._forget_staged()
        faulty = self.operations.put_back(is_fault=isinstance(error, Exception))
        if faulty is not None:
            self.statistics.count("operations that failed alone")
            faulty.failed(error if isinstance(error, MQError) else GenericError(repr(error)))
        self._go_on()

    def finish_commit(self, error: BaseException | None = None) -> None:
        """Tell everybody that the commit is on disk, or that it is not."""
        assert self.batch is not None, "no commit is under way"
        batch, self.batch = self.batch, None
        self._has_room = False
        self.readers.pause()
        if error is not None:
            self._forget_staged()
            has_room = isinstance(error, StorageFull) and self.store.make_room()
            self.operations.fail(error, has_room=has_room)
        else:
            self._show(batch)
            self.operations.answer()
        self._go_on()

    def _show(self, batch: Batch) -> None:
        """A commit is on disk: let readers see it."""
        self.numbers.message_id_end = self._message_id_end
        self.store.refresh()
        batch.apply()
        if batch.next_expiry != NEVER:
            self.expiry.expect(batch.next_expiry)
        if batch.next_due != inf:
            self.delays.expect(batch.next_due)
        if sparse := batch.runs.sparse:
            self.sparse_runs.watch(sparse)
        for queue, size in batch.grown():
            self.stored_size += size
            self.queues.touch(queue)
            if size < 0 and queue.kind in (QueueKind.OUTGOING, QueueKind.UNCONFIRMED):
                self.readers.wake_transport(queue.main)  # what waited for these may go, or end
        for queue, lookups in batch.inserted.items():
            queue.came(lookups)
            self.readers.wake(queue, lookups)
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
        self.readers.resume()
        self.queues.tidy()
        reserve_arrivals(self.numbers, self.submit)

    def break_off(self, error: MQError) -> None:
        """Nothing can be committed any more: let all fail that was asked for, and all reads."""
        self.batch = None
        self.operations.abandon(error)
        self.cancel_everywhere(error)
        self.operations.abandon(error)

    def refuse(self, error: BaseException) -> None:
        """No commit could be begun: tell everybody who asked for one."""
        self.operations.refuse(error)
        self.readers.notify()

    def configure(self, **changes: Any) -> Future[None]:
        """Change settings of the manager."""
        self.settings.changed(**changes)  # refused now, if ever

        def committed() -> None:
            self.settings = self.settings.changed(**changes)
            self.history.limit = self.settings.history << 20
            self.audit.limit = self.settings.audit << 20
            if "topology" in changes:
                self._set_topology()
                for call in self.on_topology:
                    call()

        return write_settings(changes, self.submit, committed)

    def route_by(self, topology: Topology) -> None:
        """Route by what the directory says; a topology of the settings counts for more.

        ([MS-MQBR] 3.1.3.1)
        """
        if topology != self._directory_topology:
            self._directory_topology = topology
            self._set_topology()
            for call in self.on_topology:
                call()

    def _set_topology(self) -> None:
        """Route by what the settings say, or else the directory, and know the managers of it.

        This is done before anything listens ([MS-MQSO] 6.6.2).
        """
        topology = read_topology(self.settings.topology)
        if not topology.managers:
            topology = self._directory_topology
        self.routes = Routes(topology, self.identity)
        self.peers.set_topology(
            {
                host_key(manager.name): Pin(manager.id, manager.router, _host_of(manager))
                for manager in topology.managers.values()
                if manager.id != self.identity and not manager.foreign
            }
        )

    def _serve_sites(self) -> None:
        """Have connector queues for the foreign sites of this manager ([MS-MQMQ] 1.1)."""
        sites = self.routes.topology.sites
        self.queues.serve_sites(
            {item: sites[item].permissions for item in self.routes.foreign_sites}
        )

    # Time

    def advance(self, now: float, elapsed: float) -> bool:
        """Set the time; called before every call and when `next_deadline` has come.

        True if messages have expired or are due, and a commit begins for them.
        """
        timeline = self.timeline
        if timeline.observe(now, elapsed) or self._is_shift_lost:
            self._write_shift()
        if timeline.now < self.earliest > timeline.exact:
            return False
        begins = self._do_due()
        self.earliest = min(
            self.delays.next,
            self.sparse_runs.next,
            self.abandoned_transactions.next,
            self.removal.next,
            inf if self.expiry.next == NEVER else self.expiry.next + 1,
        )
        return begins

    def _do_due(self) -> bool:
        """Begin what is due; whether there was anything."""
        begins = False
        if self.delays.next <= self.timeline.exact:
            self.delays.release()
            begins = True
        if self.sparse_runs.next <= self.timeline.now:
            self.sparse_runs.sweep()
            begins = True
        for refused in (self.abandoned_transactions, self.removal):
            begins |= refused.next <= self.timeline.now and refused.retry()
        if self.expiry.is_due:
            begins |= self._expiry_sweep.start()
            self.readers.notify()
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
        at = min(self.sparse_runs.next, self.abandoned_transactions.next, self.removal.next)
        timeline = self.timeline
        left = min(at - timeline.now, self.delays.next - timeline.exact, self.expiry.seconds_left)
        return None if left == inf else max(0.0, left)

    def stop(self) -> None:
        """Write what is buffered in memory, and leave long work for the next start.

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
        if self._has_room:
            return
        self._has_room = self.store.has_room()
        if self._has_room == self._is_low:
            self._is_low = not self._has_room
            if self._has_room:
                self.end_flow_control()
            else:
                self.statistics.count("flow control")
                self.begin_flow_control()

    def after_inserts(self, queue: ManagedQueue, call: Callable[[], None]) -> None:
        """Do something at once, but behind messages of this queue that are being committed."""
        if self.batch is not None and queue in self.batch.inserted:
            self._after_commit.append(call)
        else:
            call()
            self.readers.notify()

    # Readers

    def insert_own(self, queue: ManagedQueue, message: NewMessage) -> None:
        """An express message of the manager itself arrives in a queue, and readers get it."""
        self.readers.wake(queue, self.express.insert(queue, [message]))
        self.readers.notify()

    def cancel_everywhere(self, error: MQError) -> None:
        """Let every read that waits fail."""
        for queue in self.queues.everything:
            self.readers.cancel_all(queue, error)


def _host_of(manager: RoutedManager) -> str:
    """The computer at which a manager of a topology is."""
    found = split_address(manager.address)
    return manager.name if found is None else found[0]
