"""The steps of random work that read, and those about transactions."""

from __future__ import annotations

from openmsmq.engine.messages.cursor import QueueCursor as RealCursor
from openmsmq.engine.queues.holds import REMOVING as REALLY_REMOVING
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.transactions.transaction import ManagedTransaction as RealTransaction
from openmsmq.errors import ReceiveTimeout
from openmsmq.types.lookup import ranges_of
from openmsmq.types.read import Seek
from tests.strategies.model.parts import (
    REMOVING,
    Answer,
    Cursor,
    Kind,
    Reader,
    State,
    Transaction,
)
from tests.strategies.queue_base import OWNER, TWO_STEPS, Base, Slot
from tests.strategies.queues import FaultyStore, Step


class Reads(Base):
    """What readers do, each on a queue manager and on the model of one."""

    def __init__(self, store: FaultyStore) -> None:
        super().__init__(store)
        self.begun_transactions = 0
        self.named: list[Transaction] = []
        "Transactions that the one who decides knows by name."

    def _some_lookup(self, step: Step, slot: Slot) -> int:
        """The place of a message that is there, or sometimes only was."""
        slot.lookups += [p.lookup for p in slot.model.positions if p.lookup not in slot.lookups]
        there = [p.lookup for p in slot.model.positions]
        possible = there if there and step.pick < 200 else slot.lookups
        return possible[step.pick % len(possible)] if possible else step.pick

    def _reader(self, step: Step, slot: Slot) -> tuple[Holder, object]:
        """Who is to hold what is received: no one, a transaction or a read in two steps."""
        choice = step.flags >> 2 & 3
        if choice == 0:
            return TWO_STEPS, TWO_STEPS
        if (choice < 3 and slot.model.transactional) or step.pick > 250:
            real, transaction = self._transaction(step)
            if not transaction.unanswered:
                return real, transaction
        return REALLY_REMOVING, REMOVING

    def _receive(self, step: Step) -> None:
        slot = self.place(step)
        holder, model_holder = self._reader(step, slot)
        count = 3 if step.has(0) else 1
        reader = Reader(Answer(), count, destructive=True, holder=model_holder)
        self.ask(
            lambda: self.manager.receiver.receive(
                slot.real, count, OWNER, wait=step.has(1), holder=holder
            ),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1)),
            reading=(slot, holder),
        )

    def _give_up(self, step: Step) -> None:
        """Take messages in a transaction that is aborted at once."""
        slot = self.slots[2 + step.queue % 2]
        count = 3 if step.has(0) else 1
        real, transaction = self.manager.begin(), self.model.begin("")
        reader = Reader(Answer(), count, destructive=True, holder=transaction)
        receiving = self.manager.receiver
        self.ask(
            lambda: receiving.receive(slot.real, count, OWNER, wait=False, holder=real),
            lambda _: self.model.read(slot.model, reader, wait=False),
        )
        self.ask(lambda: self.manager.abort(real), lambda _: self.model.abort(transaction))

    def _peek(self, step: Step) -> None:
        slot = self.place(step)
        count = 3 if step.has(0) else 1
        reader = Reader(Answer(), count, destructive=False)
        self.ask(
            lambda: self.manager.receiver.peek(slot.real, count, OWNER, wait=step.has(1)),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1)),
        )

    def _by_lookup(self, step: Step) -> None:
        slot = self.place(step)
        holder, model_holder = self._reader(step, slot)
        lookup = self._some_lookup(step, slot)
        seek = list(Seek)[step.flags >> 4 & 7] if step.flags >> 4 & 7 < 5 else Seek.CURRENT
        peek = step.has(0)
        self.ask(
            lambda: self.manager.receiver.by_lookup(
                slot.real, lookup, seek, peek=peek, holder=holder
            ),
            lambda _: self.model.by_lookup(
                slot.model, lookup, seek, peek=peek, holder=model_holder
            ),
            reading=None if peek else (slot, holder),
        )

    def _end_read(self, step: Step) -> None:
        if self.begun:
            of, positions = self.begun.pop(step.pick % len(self.begun))
            if step.has(1):
                for other in [begun for begun in self.begun if begun[0] is of]:
                    self.begun.remove(other)
                    positions = positions + other[1]
            elif step.has(2):  # a part of them, from somewhere to somewhere
                low, high = sorted((step.pick % (len(positions) + 1), step.pick % 3))
                rest = positions[:low] + positions[high:]
                positions = positions[low:high]
                if rest:
                    self.begun.append((of, rest))
            self.ask(
                lambda: self.manager.receiver.end(
                    of.real, ranges_of([p.lookup for p in positions]), TWO_STEPS, delete=step.has(0)
                ),
                lambda _: self.model.end(of.model, positions, delete=step.has(0)),
            )

    def _put_back(self, step: Step) -> None:
        """Undo a receive, as long as the handle it was made with is open."""
        if self.got:
            of, entries, positions = self.got.pop(step.pick % len(self.got))
            if of.handle is not None or of.model.kind is not Kind.SUBQUEUE:
                self.manager.receiver.put_back(of.real, entries)
                self.model.put_back(of.model, positions)

    def _cursor(self, step: Step) -> None:
        slot = self.place(step)
        if len(slot.cursors) < 2 or (slot.cursors[step.pick % 2].closed and step.has(1)):
            real = RealCursor()
            slot.cursors[:1] = [Cursor(slot.model, real), *slot.cursors[:1]]
        cursor = slot.cursors[step.pick % len(slot.cursors)]
        if step.pick > 250:
            self.manager.receiver.close_cursor(slot.real, cursor.real)
            self.model.close_cursor(cursor)
        elif step.has(0):
            self._receive_cursor(step, slot, cursor)
        else:
            self._peek_cursor(step, slot, cursor)

    def _receive_cursor(self, step: Step, slot: Slot, cursor: Cursor) -> None:
        holder, model_holder = self._reader(step, slot)
        reader = Reader(Answer(), 1, destructive=True, holder=model_holder, cursor=cursor)
        self.ask(
            lambda: self.manager.receiver.receive_cursor(
                slot.real, cursor.real, OWNER, wait=step.has(1), holder=holder
            ),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1)),
            reading=(slot, holder),
        )

    def _peek_cursor(self, step: Step, slot: Slot, cursor: Cursor) -> None:
        following = step.pick % 4 > 1
        reader = Reader(Answer(), 1, destructive=False, cursor=cursor)
        self.ask(
            lambda: self.manager.receiver.peek_cursor(
                slot.real, cursor.real, OWNER, wait=step.has(1), following=following
            ),
            lambda _: self.model.read(slot.model, reader, wait=step.has(1), following=following),
        )

    def _cancel(self, step: Step) -> None:
        slot = self.place(step)
        for reader in slot.model.readers[:1]:
            pending = next(p for p, answer in self.calls if answer is reader.answer)
            assert self.core.readers.cancel(slot.real, pending, ReceiveTimeout())
            self.model.cancel(slot.model, reader, ReceiveTimeout)
            assert not self.core.readers.cancel(slot.real, pending, ReceiveTimeout())

    # Transactions

    def _transaction(self, step: Step) -> tuple[RealTransaction, Transaction]:
        """One of two transactions, a new one if it is over, but sometimes not."""
        number = step.pick % 2
        known = self.transactions.get(number)
        if known is None or (known[1].state is State.ENDED and step.pick < 240):
            self.begun_transactions += 1
            xid = "" if step.pick % 8 == 0 else f"x{self.begun_transactions}"
            known = self.manager.begin(xid), self.model.begin(xid)
            self.transactions[number] = known
            self.named += [known[1]] if xid else []
        return known

    def _end_transaction(self, step: Step) -> None:
        real, transaction = self._transaction(step)
        if transaction.is_open and transaction.is_empty and step.pick > 50:
            return
        if transaction.state is State.PREPARED:
            assert self.core.prepared[transaction.xid] is real
        if step.flags % 3 == 0:
            self.ask(lambda: self.manager.abort(real), lambda _: self.model.abort(transaction))
        else:
            self.ask(lambda: self.manager.commit(real), lambda _: self.model.commit(transaction))

    def _prepare(self, step: Step) -> None:
        real, transaction = self._transaction(step)
        if not transaction.unanswered and not (transaction.is_empty and step.pick > 50):
            self.ask(lambda: self.manager.prepare(real), lambda _: self.model.prepare(transaction))

    def _decide(self, step: Step) -> None:
        """Tell the outcome of a transaction by its name, perhaps for the second time."""
        if self.named:
            transaction = self.named[-1 - step.pick % len(self.named) % 4]
            self.decide(transaction, commit=step.has(0))
