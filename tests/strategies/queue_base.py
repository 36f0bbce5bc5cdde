"""A queue manager and the model of one, doing the same work side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages import delay as delaying
from openmsmq.engine.messages import expiry_sweep as expiring
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.holds import REMOVING as REALLY_REMOVING
from openmsmq.engine.queues.holds import Holder, SliceHolder
from openmsmq.engine.queues.queue import ManagedQueue as RealQueue
from openmsmq.engine.storage.layout import (
    RUN_BIT,
    Record,
    expiry_key,
    index_key,
    split_expiry_key,
    split_index_key,
)
from openmsmq.engine.storage.runs import find_run
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.transaction import ManagedTransaction as RealTransaction
from openmsmq.errors import MQError, StorageFailed, StorageFull
from openmsmq.names.parts import fold
from openmsmq.types.access import Mode
from openmsmq.types.queues import POISON_SUBQUEUE
from tests.strategies.model.commits import Expiring, Outset
from tests.strategies.model.manager import Model
from tests.strategies.model.parts import (
    NO_RULES,
    Answer,
    Cursor,
    Kind,
    Position,
    Queue,
    Reader,
    Rules,
    State,
    Transaction,
    main_queue,
)
from tests.strategies.queue_check import (
    COMPUTER,
    ack_size,
    agree,
    check_tables,
    compare,
    expected,
    keys_of,
    own_number,
    real_rules,
    shown,
)
from tests.strategies.queues import FaultyStore, Step, VirtualClock

KINDS: Final = (False, False, True, True)
"The queues there are: which are transactional."
JOURNALS: Final = ((False, None), (True, None), (True, 1), (False, None))
"Which keep a journal, and how many KiB of it."
RULES: Final = (NO_RULES, NO_RULES, Rules(2, 1), Rules(2, 0, poison_is_dead=True))
"What becomes of messages that are aborted."
CORRECTION: Final = 5.0
"Seconds by which the clock may be set without that being a jump."
OWNER: Final = object()


class TwoSteps(SliceHolder):
    """What reads in two steps, as a handle does: it keeps what it reads, and slices of runs."""

    keeps_entries = True


TWO_STEPS: Final = TwoSteps()


@dataclass(eq=False)
class Slot:
    """A queue twice: as it is and as it should be."""

    real: RealQueue
    model: Queue
    deleting: Answer = field(default_factory=lambda: Answer().succeed())
    cursors: list[Cursor] = field(default_factory=list)
    lookups: list[int] = field(default_factory=list)
    "All that were there when one was asked for."
    journal: Slot | None = None
    subqueues: dict[str, Slot] = field(default_factory=dict)
    handle: Mode | None = None
    "Of a subqueue, which goes when it is empty and none is open (A-05)."

    @property
    def is_in_use(self) -> bool:
        return bool(self.model.positions or self.model.pins or self.handle)

    @property
    def family(self) -> list[Slot]:
        return [self, *([self.journal] if self.journal else []), *self.subqueues.values()]


class Base:
    """A queue manager and its model, their queues, commits and restarts."""

    def __init__(self, store: FaultyStore) -> None:
        self.clock = VirtualClock()
        self._open(store)
        self.model = Model(
            Outset(
                self.core.numbers.arrival,
                self.clock.wall,
                emptying.STEP,
                expiring.STEP,
                self._expiring,
                delaying.STEP,
                ack_size,
            )
        )
        self.calls: list[tuple[Future[Any], Answer]] = []
        self.slots: list[Slot] = []
        self.system: list[Slot] = []
        self.transactions: dict[int, tuple[RealTransaction, Transaction]] = {}
        self.begun: list[tuple[Slot, list[Position]]] = []
        "Reads in two steps that are not ended."
        self.reads: list[tuple[Slot, Holder, Future[Any], Answer]] = []
        "Reads that are not answered."
        self.got: list[tuple[Slot, Any, list[Position]]] = []
        "What was received, by whom it may be put back."
        self.packets: dict[int, bytes] = {}
        "All messages that were seen, by the numbers of their identifiers."
        self.commits: list[int] = []
        "Which writes were commits."
        self.is_writing = False
        "A commit is on its way to the disk."
        self.is_interrupted = False
        "Every commit is written twice, since the first time it comes to nothing."

    def _open(self, store: FaultyStore) -> None:
        self.store = store
        self.manager = QueueManager(store, self.clock, name=COMPUTER)
        self.core: Core = self.manager

    def set_up(self) -> None:
        """Create the queues."""
        self._find_system()
        for number in range(len(KINDS)):
            self.slots.append(self.new_queue(number))
        self.commit()

    def _find_system(self) -> None:
        real, model = self.core.queues, self.model
        self.system = [
            Slot(real.system_journal, model.sent_journal),
            Slot(real.dead_letter, model.dead_letters),
            Slot(real.transactional_dead_letter, model.transactional_dead_letters),
        ]

    # Queues

    def new_queue(self, number: int) -> Slot:
        name = f".\\private$\\q{number}"
        journaling, quota = JOURNALS[number]
        pending = self.manager.create_queue(
            name,
            transactional=KINDS[number],
            journal=journaling,
            **({} if quota is None else dict[str, Any](journal_quota=quota)),
            **real_rules(RULES[number]),
        )
        real = self.manager.find_queue(name)
        real_journal = self.manager.find_queue(f"{name}\\Journal$")
        queue = main_queue(real.number, real_journal.number, transactional=KINDS[number])
        assert queue.journal is not None
        queue.journaling, queue.journal.quota = journaling, quota
        queue.rules = RULES[number]
        self.calls.append((pending, self.model.create(number, queue)))
        return Slot(real, queue, journal=Slot(real_journal, queue.journal))

    def place(self, step: Step) -> Slot:
        """The queue a step is about: one that was made, or one that the manager made itself."""
        slot = self.slots[step.queue]
        if step.place < 9:
            return slot
        if step.place < 13:
            return self.subqueue(slot, step.queue, "ab"[step.place // 12])
        if step.place == 13:
            assert slot.journal is not None
            return slot.journal
        return self.system[step.pick % 3]

    def subqueue(self, slot: Slot, number: int, name: str) -> Slot:
        """A subqueue, opened if it is not."""
        known = slot.subqueues.get(name)
        if slot.model.deleted or (known is not None and known.handle is not None):
            return known or slot
        opened = self.manager.open_queue(f".\\private$\\q{number};{name}", Mode())
        found = self.found_subqueue(slot, name, opened.queue)
        found.handle = opened.mode
        return found

    def found_subqueue(self, slot: Slot, name: str, real: RealQueue) -> Slot:
        """What a subqueue is in the model; it is another one if it was gone meanwhile."""
        known = slot.subqueues.get(name)
        if known is not None and known.real is real:
            return known
        if known is not None:
            assert not known.is_in_use, "a subqueue is gone that was in use"
            slot.model.subqueues.remove(known.model)
        slot.subqueues[name] = Slot(real, self.model.subqueue(slot.model, real.number))
        return slot.subqueues[name]

    # Time

    def tick(self) -> None:
        """Tell the time, and see what begins then."""
        sweeping, releasing = self.core.expiry._is_sweeping, self.core.delays._is_releasing
        self.manager.advance(self.manager.clock.now(), self.manager.clock.elapsed())
        if self.core.delays._is_releasing and not releasing:
            self.model.begin_release()
        self.model.tick(sweeps=self.core.expiry._is_sweeping and not sweeping)
        waiting = [p for q in self.model.queues for p in q.positions if q.kind is Kind.DELAYED]
        first = min((p.due for p in waiting if not p.queue.deleted), default=None)
        if first is not None and not self.core.delays._is_releasing:
            # The clock may have been set back a little since a commit failed.
            soon = self.core.timeline.exact + delaying.RETRY + CORRECTION
            assert self.core.delays.next <= max(first / 1000, soon), "a message is forgotten"

    def _expiring(self, after: bytes, now: int) -> list[Expiring]:
        """What a step of the sweep looks at: rows, each about a message or what is left of a run.

        What the commit takes out of a run has a row of its own, which this step did not see.
        """
        snapshot, batch = self.core.snapshot, self.core.batch
        assert batch is not None
        rows = snapshot.scan(Table.EXPIRY, after and after + b"\0", expiry_key(now, 0, 0))
        found = []
        for key, _ in islice(rows, expiring.STEP):
            _, number, lookup = split_expiry_key(key)
            lookups = [lookup]
            if lookup & RUN_BIT:
                run = find_run(snapshot, number, lookup ^ RUN_BIT)
                assert run is not None
                lookups = [
                    at
                    for at, _, _ in run.members(0)
                    if batch.writer.get(Table.INDEX, index_key(number, at)) is None
                ]
            found.append(Expiring(key, number, lookups))
        return found

    # Commits

    def start(self) -> None:
        if self.core.wants_commit:
            if self.is_interrupted:
                self.core.start_commit(self.store.begin())
                self.store.abort()
                self.core.retreat(KeyboardInterrupt())
                self.model.arrival = self.core.numbers.arrival
            self.core.start_commit(self.store.begin())
            self._start_model()

    def _start_model(self) -> None:
        """Let the model write the same; it does not know of numbers reserved by the way."""
        for slot in self.slots:
            if POISON_SUBQUEUE.upper() in slot.real.subqueues:
                real = slot.real.subqueues[POISON_SUBQUEUE.upper()]
                self.found_subqueue(slot, POISON_SUBQUEUE, real).model.is_poison = True
        assert self.core.batch is not None
        if any(operation.grows for operation in self.core.operations._writing):
            self.model.submit(lambda: None, lambda error: None, grows=True)
        self.model.start()

    def finish(self) -> None:
        if self.core.is_committing:
            self.commits.append(self.store.writes + 1)
            self.is_writing = True
            self.store.commit()
            self.is_writing = False
            self.core.finish_commit()
            self.model.finish()

    def commit(self) -> None:
        """Commit until there is nothing more to commit."""
        self.finish()
        while self.core.wants_commit:
            self.start()
            self.finish()

    def fail(self, error: MQError, good: int) -> None:
        """A commit that the disk refuses, after some good writes or at its end."""
        if self.core.wants_commit:
            self.store.fault, self.store.good = error, good
            with contextlib.suppress(type(error)):
                self.core.start_commit(self.store.begin())
            self.store.fault = None
            self._start_model()
        if self.core.is_committing:
            self.store.abort()
            self.core.finish_commit(error)
            self.model.finish(error)
            # What was numbered before the disk failed keeps no numbers, or does.
            assert self.core.numbers.arrival <= self.model.arrival
            self.model.arrival = self.core.numbers.arrival

    def stop(self) -> None:
        """Let the manager stop as it should."""
        self.core.stop()
        self.model.stopping = True
        self.commit()

    def restart(self, store: FaultyStore | None = None) -> None:
        """The process is gone, and another one starts on what it left on disk."""
        used = self.core.numbers.message_id
        self._open(store or FaultyStore(self.store.committed))
        assert self.core.numbers.message_id >= used, "identifiers would be used again"
        self.model.restart(self.core.numbers.arrival)
        self.calls, self.begun, self.reads, self.got = [], [], [], []
        self._find_system()
        for number, slot in enumerate(self.slots):
            self._find_again(number, slot)
        kept = [
            (number, transaction)
            for number, (_, transaction) in self.transactions.items()
            if transaction.is_in_doubt
        ]
        self.transactions = {
            number: (self.core.prepared[transaction.xid], transaction)
            for number, transaction in kept
        }

    def _find_again(self, number: int, slot: Slot) -> None:
        """Let a queue be the same after a restart."""
        slot.cursors = []
        if not slot.model.on_disk:
            slot.model.never_was = True
            for member in slot.family:
                member.model.deleted = member.real.deleted = True
                member.model.readers = []
            return
        slot.real = self.manager.find_queue(f".\\private$\\q{number}")
        assert slot.journal is not None
        slot.journal = Slot(
            self.manager.find_queue(f".\\private$\\q{number}\\Journal$"), slot.journal.model
        )
        for name, known in list(slot.subqueues.items()):
            known.handle = None
            known.cursors = []
            if known.is_in_use:
                known.real = slot.real.subqueues[fold(name)]
            else:
                del slot.subqueues[name]
                slot.model.subqueues.remove(known.model)

    @property
    def there(self) -> list[Slot]:
        """All queues that are not deleted, the manager's own last."""
        members = [member for slot in self.slots for member in slot.family]
        members.sort(key=lambda slot: slot.model.kind is Kind.JOURNAL)
        return [slot for slot in (*members, *self.system) if not slot.model.deleted]

    def empty(self, *, commit: bool) -> None:
        """Decide what is in doubt and receive everything: after a restart, nothing is left then."""
        for transaction in self.model.transactions:
            if transaction.is_in_doubt:
                self.decide(transaction, commit=commit)
        self.commit()
        waiting = [p.due for q in self.model.queues for p in q.positions]
        for _ in range(3):  # what could not be done is tried again
            seconds = max([2.0, *(due / 1000 + 1 - self.core.timeline.exact for due in waiting)])
            self.clock.wait(seconds)
            self.model.pass_time(seconds)
            self.tick()
            self.commit()
        self.check()
        check_tables(self.store.snapshot)
        for _ in range(3):  # what is received leaves copies and acknowledgements
            for slot in self.there:
                if slot.model.positions:
                    self._receive_all(slot)
            self.commit()
        self.check()
        for table in (
            Table.INDEX,
            Table.PACKETS,
            Table.EXPIRY,
            Table.TRANSACTIONS,
            Table.DELAYED,
            Table.RUNS,
        ):
            agree(f"rows of {table}", keys_of(self.store.snapshot, table), [])
        agree("bytes", (self.core.total_size, self.core.express_size), (0, 0))
        for queue in self.core.queues:
            agree(f"subqueues of {queue.name}", queue.subqueues, {})

    def decide(self, transaction: Transaction, *, commit: bool) -> None:
        """Tell the outcome of a transaction by its name."""
        by_name = self.manager.commit_prepared if commit else self.manager.abort_prepared
        self.ask(
            lambda: by_name(transaction.xid),
            lambda _: self.model.decide(transaction, commit=commit),
        )

    def _receive_all(self, slot: Slot) -> None:
        reader = Reader(Answer(), 1000, destructive=True)
        receiving = self.manager.receiver
        self.ask(
            lambda: receiving.receive(slot.real, 1000, OWNER, wait=False),
            lambda _: self.model.read(slot.model, reader, wait=False),
        )

    # Agreement

    def ask(
        self,
        call: Callable[[], Future[Any]],
        answer: Callable[[Future[Any]], Answer],
        *,
        reading: tuple[Slot, Holder] | None = None,
    ) -> Answer:
        """Make a call on both."""
        pending: Future[Any] = Future()
        try:
            pending = call()
        except MQError as error:
            pending.fail(error)
        said = answer(pending)
        self.calls.append((pending, said))
        if reading is not None:
            self.reads.append((*reading, pending, said))
        return said

    def note_reads(self) -> None:
        """Sort out what was answered: some of it can be ended, some put back."""
        answered = [read for read in self.reads if read[3].done]
        self.reads = [read for read in self.reads if not read[3].done]
        for slot, holder, pending, answer in answered:
            if isinstance(answer.value, list) and holder is TWO_STEPS:
                self.begun.append((slot, answer.value))
            elif isinstance(answer.value, list) and holder is REALLY_REMOVING and pending.done:
                self.got.append((slot, pending.result(), answer.value))

    def check(self) -> None:
        """The manager and the model must have answered the same and hold the same."""
        self.check_answers()
        agree("statistics", self.core.statistics.counts, +self.model.statistics)
        for slot in self.there:
            self._check_queue(slot)
        doubtful = (State.PREPARING, State.PREPARED)
        named = {t.xid for t in self.model.transactions if t.state in doubtful}
        assert named <= self.core.prepared.keys()

    def check_answers(self) -> None:
        for pending, answer in self.calls:
            compare(pending, answer)
        self.calls = [(pending, answer) for pending, answer in self.calls if not answer.done]

    def _check_queue(self, slot: Slot) -> None:
        real, model = slot.real, slot.model
        if real.deleted:
            assert model.kind is Kind.SUBQUEUE
            assert not slot.is_in_use
            return
        stored = [p for p in model.positions if not p.express]
        express = [p for p in model.positions if p.express]
        held = {p.lookup for p in model.positions if p.holder is not None}
        name = real.name
        agree(f"messages of {name}", real.messages, len(stored))
        agree(f"bytes of {name}", real.size, sum(p.size for p in stored))
        agree(f"express of {name}", real.express.lookups(), [p.lookup for p in express])
        agree(f"express bytes of {name}", real.express.size, sum(p.size for p in express))
        agree(f"held of {name}", set(real.holds), held)
        agree(f"reserved of {name}", real.reserved, model.reserved)
        agree(f"readers of {name}", len(real.waiters), len(model.readers))
        agree(f"label of {name}", real.properties.label, model.main.label)
        if model.kind is Kind.MAIN:
            self._check_waiting(slot)
        if model.positions:
            found = self.manager.receiver.peek(real, 1000, OWNER, wait=False)
            seen = [] if found.error else found.result()
            agree(f"messages of {name}", shown(seen), expected(self.model.available(model)))
            for entry in seen:
                packet = self.packets.setdefault(own_number(entry.packet), entry.packet)
                assert packet == entry.packet, "two messages have the same identifier"

    def _check_waiting(self, slot: Slot) -> None:
        """What cannot be read yet."""
        number, model = slot.model.waiting.number, slot.model.waiting
        rows = self.store.snapshot.scan(Table.INDEX, index_key(number, 0), index_key(number + 1, 0))
        found = []
        for key, raw in rows:
            record, due = Record.unpack_delayed(raw)
            found.append((split_index_key(key)[1], due, record.abort_count, record.size))
        positions = [(p.lookup, p.due, p.aborts, p.size) for p in model.positions]
        agree(f"what is waiting for {slot.real.name}", found, positions)
        counted = (0, 0)
        if slot.real.delayed is not None:
            counted = slot.real.delayed.messages, slot.real.delayed.size
        wanted = len(positions), sum(p.size for p in model.positions)
        agree(f"count of what is waiting for {slot.real.name}", counted, wanted)


def fault(step: Step) -> MQError:
    """What a disk may say."""
    return StorageFull("full") if step.has(0) else StorageFailed("broken")
