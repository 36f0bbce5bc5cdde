"""A queue manager and the model of one, doing the same work side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from uuid import UUID

import pytest

from openmsmq.errors import (
    MQError,
    QueueExists,
    QueueNotFound,
    ReceiveTimeout,
    StorageFailed,
    StorageFull,
)
from openmsmq.manager.local import LocalManager, received
from openmsmq.messages.message import Message
from openmsmq.messages.pack import Packer
from openmsmq.model import emptying
from openmsmq.model.cursor import Cursor as RealCursor
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue as RealQueue
from openmsmq.model.reading import REMOVING as REALLY_REMOVING
from openmsmq.model.reading import Holder
from openmsmq.model.receiving import Seek
from openmsmq.model.transaction import Transaction as RealTransaction
from openmsmq.names.direct import DirectName
from tests.strategies.model.manager import Model
from tests.strategies.model.parts import (
    REMOVING,
    Answer,
    Cursor,
    Position,
    Queue,
    Reader,
    State,
    Transaction,
)
from tests.strategies.queues import FaultyStore, Step, StillClock

COMPUTER: Final = "here"
KINDS: Final = (False, False, True, True)
"The queues there are: which are transactional."
PRIORITIES: Final = (0, 3, 3, 7)
LARGE: Final = bytes(5000)
"More than one row of the store holds."
OWNER: Final = object()
TWO_STEPS: Final = Holder()
"Whoever reads in two steps."


@dataclass(eq=False)
class Slot:
    """A queue twice: as it is and as it should be."""

    real: RealQueue
    model: Queue
    deleting: Answer = field(default_factory=lambda: Answer().succeed())
    cursors: list[Cursor] = field(default_factory=list)
    lookups: list[int] = field(default_factory=list)
    "All that were there when one was asked for."


class Run:
    """A queue manager and its model, doing the same."""

    def __init__(self, store: FaultyStore) -> None:
        self.store = store
        self.manager = LocalManager(store, StillClock(), name=COMPUTER)
        self.core = self.manager.core
        self.model = Model(self.core.numbers.arrival, emptying.STEP)
        self.calls: list[tuple[Pending[Any], Answer]] = []
        self.slots: list[Slot] = []
        self.transactions: dict[int, tuple[RealTransaction, Transaction]] = {}
        self.begun: list[tuple[Slot, list[Position]]] = []
        "Reads in two steps that are not ended."
        self.reads: list[tuple[Slot, Holder, Pending[Any], Answer]] = []
        "Reads that are not answered."
        self.got: list[tuple[Slot, Any, list[Position]]] = []
        "What was received, by whom it may be put back."
        self.sent = 0
        self.opened = store.writes
        "How many writes that took."
        self.commits: list[int] = []
        "Which writes were commits."

    def set_up(self) -> None:
        """Create the queues."""
        for number in range(len(KINDS)):
            self.slots.append(self._new_queue(number))
        self.commit()

    def do(self, step: Step) -> None:
        """One step on both."""
        getattr(self, f"_{step.action}")(step, self.slots[step.queue])
        self._note_reads()

    # Commits

    def start(self) -> None:
        if self.core.wants_commit:
            self.core.start_commit(self.store.begin())
            self.model.start()

    def finish(self) -> None:
        if self.core.is_committing:
            self.commits.append(self.store.writes + 1)
            self.store.commit()
            self.core.finish_commit()
            self.model.finish()

    def commit(self) -> None:
        """Commit until there is nothing more to commit."""
        self.finish()
        while self.core.wants_commit:
            self.start()
            self.finish()

    def _start(self, step: Step, slot: Slot) -> None:
        self.start()

    def _finish(self, step: Step, slot: Slot) -> None:
        self.finish()

    def _commit(self, step: Step, slot: Slot) -> None:
        self.finish()
        self.start()
        self.finish()

    def _fail(self, step: Step, slot: Slot) -> None:
        """A commit that the disk refuses, while it is written or at its end."""
        error = StorageFull("full") if step.has(0) else StorageFailed("broken")
        if self.core.wants_commit:
            self.store.fault, self.store.good = error, step.pick
            with contextlib.suppress(type(error)):
                self.core.start_commit(self.store.begin())
            self.store.fault = None
            self.model.start()
        if self.core.is_committing:
            self.store.abort()
            self.core.finish_commit(error)
            self.model.finish(error)
            # What was numbered before the disk failed keeps no numbers, or does.
            assert self.core.numbers.arrival <= self.model.arrival
            self.model.arrival = self.core.numbers.arrival

    # Queues

    def _new_queue(self, number: int) -> Slot:
        name = f".\\private$\\q{number}"
        pending = self.manager.create_queue(name, transactional=KINDS[number])
        queue = Queue(number, transactional=KINDS[number])
        self.calls.append((pending, self.model.create(queue)))
        return Slot(self.manager.find_queue(name), queue)

    def _create(self, step: Step, slot: Slot) -> None:
        if not (slot.model.never_was or (slot.model.deleted and slot.deleting.done)):
            with pytest.raises(QueueExists):
                self.manager.create_queue(f".\\PRIVATE$\\Q{step.queue}")
        else:
            self.slots[step.queue] = self._new_queue(step.queue)

    def _delete(self, step: Step, slot: Slot) -> None:
        if slot.model.deleted:
            with pytest.raises(QueueNotFound):
                self.manager.find_queue(f".\\private$\\q{step.queue}")
        else:
            slot.deleting = self._ask(
                lambda: self.core.delete(slot.real), lambda _: self.model.delete(slot.model)
            )

    def _change(self, step: Step, slot: Slot) -> None:
        label = str(step.pick)
        self._ask(
            lambda: self.manager.change_queue(slot.real, label=label),
            lambda _: self.model.change(slot.model, label),
        )

    def _purge(self, step: Step, slot: Slot) -> None:
        self._ask(lambda: self.core.purge(slot.real), lambda _: self.model.purge(slot.model))

    # Messages

    def _send(self, step: Step, slot: Slot) -> None:
        transactional = slot.model.transactional != (step.pick > 250)
        express = step.has(0) and not transactional
        priority = 0 if transactional else PRIORITIES[step.pick % len(PRIORITIES)]
        positions = [
            self._position(slot, priority, express=express, large=step.flags > 240)
            for _ in range(3 if step.has(1) else 1)
        ]
        messages = [Message(p.body, priority=priority, recoverable=not express) for p in positions]
        if not transactional:
            self._ask(
                lambda: self.manager.send(slot.real, messages, None),
                lambda _: self.model.send(slot.model, positions),
            )
            return
        real, transaction = self._transaction(step)
        if not transaction.unanswered:
            self._ask(
                lambda: self.manager.send(slot.real, messages, real),
                lambda pending: self.model.send_in(
                    transaction, slot.model, positions, at_once=pending.done
                ),
            )

    def _position(self, slot: Slot, priority: int, *, express: bool, large: bool) -> Position:
        self.sent += 1
        body = b"%d" % self.sent + LARGE * large
        size = packet_size(slot.model.number, len(body), transactional=slot.model.transactional)
        return Position(slot.model, body, size, priority, express)

    def _reader(self, step: Step) -> tuple[Holder, object]:
        """Who is to hold what is received: nobody, a transaction or a read in two steps."""
        choice = step.flags >> 2 & 3
        if choice == 0:
            return TWO_STEPS, TWO_STEPS
        if (choice < 3 and KINDS[step.queue]) or step.pick > 250:
            real, transaction = self._transaction(step)
            if not transaction.unanswered:
                return real, transaction
        return REALLY_REMOVING, REMOVING

    def _receive(self, step: Step, slot: Slot) -> None:
        holder, model_holder = self._reader(step)
        count = 3 if step.has(0) else 1
        reader = Reader(Answer(), count, destructive=True, holder=model_holder)
        self._ask(
            lambda: self.manager.receiving.receive(
                slot.real, count, OWNER, wait=step.has(1), holder=holder
            ),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1)),
            reading=(slot, holder),
        )

    def _peek(self, step: Step, slot: Slot) -> None:
        count = 3 if step.has(0) else 1
        reader = Reader(Answer(), count, destructive=False)
        self._ask(
            lambda: self.manager.receiving.peek(slot.real, count, OWNER, wait=step.has(1)),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1)),
        )

    def _by_lookup(self, step: Step, slot: Slot) -> None:
        holder, model_holder = self._reader(step)
        slot.lookups += [p.lookup for p in slot.model.positions if p.lookup not in slot.lookups]
        lookup = slot.lookups[-1 - step.pick % len(slot.lookups)] if slot.lookups else step.pick
        seek = list(Seek)[step.pick % 5]
        peek = step.has(0)
        self._ask(
            lambda: self.manager.receiving.by_lookup(
                slot.real, lookup, seek, peek=peek, holder=holder
            ),
            lambda _: self.model.by_lookup(
                slot.model, lookup, seek, peek=peek, holder=model_holder
            ),
            reading=None if peek else (slot, holder),
        )

    def _end_read(self, step: Step, slot: Slot) -> None:
        if self.begun:
            of, positions = self.begun.pop(step.pick % len(self.begun))
            if step.has(1):
                for other in [begun for begun in self.begun if begun[0] is of]:
                    self.begun.remove(other)
                    positions = positions + other[1]
            self._ask(
                lambda: self.manager.receiving.end(
                    of.real, [p.lookup for p in positions], delete=step.has(0)
                ),
                lambda _: self.model.end(of.model, positions, delete=step.has(0)),
            )

    def _put_back(self, step: Step, slot: Slot) -> None:
        if self.got:
            of, entries, positions = self.got.pop(step.pick % len(self.got))
            self.manager.receiving.put_back(of.real, entries)
            self.model.put_back(of.model, positions)

    def _cursor(self, step: Step, slot: Slot) -> None:
        if len(slot.cursors) < 2 or (slot.cursors[step.pick % 2].closed and step.has(1)):
            real = RealCursor()
            slot.cursors[:1] = [Cursor(slot.model, real), *slot.cursors[:1]]
        cursor = slot.cursors[step.pick % len(slot.cursors)]
        if step.pick > 250:
            self.manager.receiving.close_cursor(slot.real, cursor.real)
            self.model.close_cursor(cursor)
        elif step.has(0):
            self._receive_cursor(step, slot, cursor)
        else:
            self._peek_cursor(step, slot, cursor)

    def _receive_cursor(self, step: Step, slot: Slot, cursor: Cursor) -> None:
        holder, model_holder = self._reader(step)
        reader = Reader(Answer(), 1, destructive=True, holder=model_holder, cursor=cursor)
        self._ask(
            lambda: self.manager.receiving.receive_cursor(
                slot.real, cursor.real, OWNER, wait=step.has(1), holder=holder
            ),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1)),
            reading=(slot, holder),
        )

    def _peek_cursor(self, step: Step, slot: Slot, cursor: Cursor) -> None:
        following = step.pick % 4 > 1
        reader = Reader(Answer(), 1, destructive=False, cursor=cursor)
        self._ask(
            lambda: self.manager.receiving.peek_cursor(
                slot.real, cursor.real, OWNER, wait=step.has(1), following=following
            ),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1), following=following),
        )

    def _cancel(self, step: Step, slot: Slot) -> None:
        for reader in slot.model.readers[:1]:
            pending = next(p for p, answer in self.calls if answer is reader.answer)
            assert self.core.cancel(slot.real, pending, ReceiveTimeout())
            self.model.cancel(slot.model, reader, ReceiveTimeout)
            assert not self.core.cancel(slot.real, pending, ReceiveTimeout())

    # Transactions

    def _transaction(self, step: Step) -> tuple[RealTransaction, Transaction]:
        """One of three transactions, a new one if it is over, but sometimes not."""
        number = step.pick % 3
        known = self.transactions.get(number)
        if known is None or (known[1].state is State.ENDED and step.pick < 240):
            xid = "" if step.pick % 8 == 0 else f"x{len(self.model.transactions)}"
            known = self.manager.begin(xid), self.model.begin(xid)
            self.transactions[number] = known
        return known

    def _end_transaction(self, step: Step, slot: Slot) -> None:
        real, transaction = self._transaction(step)
        if transaction.state is State.PREPARED:
            assert self.manager.prepared(transaction.xid) is real
        if step.has(0):
            self._ask(lambda: self.manager.abort(real), lambda _: self.model.abort(transaction))
        else:
            self._ask(lambda: self.manager.commit(real), lambda _: self.model.commit(transaction))

    def _prepare(self, step: Step, slot: Slot) -> None:
        real, transaction = self._transaction(step)
        if not transaction.unanswered:
            self._ask(lambda: self.manager.prepare(real), lambda _: self.model.prepare(transaction))

    # Agreement

    def _ask(
        self,
        call: Callable[[], Pending[Any]],
        answer: Callable[[Pending[Any]], Answer],
        *,
        reading: tuple[Slot, Holder] | None = None,
    ) -> Answer:
        """Make a call on both."""
        pending: Pending[Any] = Pending()
        try:
            pending = call()
        except MQError as error:
            pending.fail(error)
        expected = answer(pending)
        self.calls.append((pending, expected))
        if reading is not None:
            self.reads.append((*reading, pending, expected))
        return expected

    def _note_reads(self) -> None:
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
        for slot in self.slots:
            if not slot.model.deleted:
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
        found = self.manager.receiving.peek(real, 1000, OWNER, wait=False)
        seen = [] if found.error else found.result()
        assert described(seen) == expected_of(model.available())
        stored = [p for p in model.positions if not p.express]
        express = [p for p in model.positions if p.express]
        assert (real.messages, real.size) == (len(stored), sum(p.size for p in stored))
        assert sorted(real.express.lookups()) == [p.lookup for p in express]
        assert real.express.size == sum(p.size for p in express)
        assert set(real.held) == {p.lookup for p in model.positions if p.holder is not None}
        assert real.reserved == model.reserved
        assert len(real.waiters) == len(model.readers)
        assert real.properties.label == model.label


def compare(pending: Pending[Any], answer: Answer) -> None:
    """One call must be answered as the model says, and not before."""
    assert pending.done == answer.done, (pending.error, answer.errors, answer.value)
    if not answer.done:
        return
    if answer.errors:
        assert isinstance(pending.error, answer.errors), (pending.error, answer.errors)
        return
    value = pending.result()
    if isinstance(answer.value, list):
        assert described(value) == expected_of(answer.value)
    elif answer.value is not None:
        assert value == answer.value


def described(entries: Any) -> list[tuple[int, bytes, int]]:
    """What the manager found: lookup identifiers, bodies and abort counts."""
    return [(m.lookup_id, m.body, m.abort_count) for m in received(entries)]


def expected_of(positions: list[Position]) -> list[tuple[int, bytes, int]]:
    """The same of the model's messages."""
    return [(p.lookup, p.body, p.aborts) for p in positions]


@cache
def packet_size(queue: int, length: int, *, transactional: bool) -> int:
    """The bytes of a message with a body of this length."""
    destination = DirectName.from_wire(f"OS:{COMPUTER}\\private$\\q{queue}")
    packer = Packer(UUID(int=1), computer=COMPUTER)
    packet = packer.pack(
        Message(bytes(length)), destination, message_id=1, sent_time=0, transactional=transactional
    )
    return len(packet)
