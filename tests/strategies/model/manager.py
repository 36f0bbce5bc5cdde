"""The queue manager of the model: its queues, what is sent to them, and how it starts again."""

from __future__ import annotations

from typing import Any

from openmsmq.errors import QueueNotAvailable, TransactionUsage
from tests.strategies.model.commits import Error
from tests.strategies.model.parts import (
    Answer,
    Kind,
    Position,
    Queue,
    State,
    Transaction,
)
from tests.strategies.model.transacting import Transactions


class Model(Transactions):
    """The queue manager."""

    # Queues

    def create(self, name: int, queue: Queue) -> Answer:
        answer = Answer()
        self.named[name] = queue

        def finish() -> None:
            for member in queue.family:
                member.on_disk = True
            answer.succeed()

        def fail(error: Error) -> None:
            queue.never_was = True
            self.withdraw(queue)
            answer.fail(error)

        self.submit(finish, fail)
        return answer

    def change(self, queue: Queue, **changes: Any) -> Answer:
        """Give a queue other properties; the quota of a journal is its queue's to set."""
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)

        def finish() -> None:
            for name, value in changes.items():
                if name == "journal_quota":
                    assert queue.journal is not None
                    queue.journal.quota = value
                else:
                    setattr(queue, name, value)
            answer.succeed()

        self.submit(finish, answer.fail)
        return answer

    def subqueue(self, parent: Queue, number: int) -> Queue:
        """A new subqueue; what it has of properties is its queue's (A-05)."""
        queue = Queue(number, Kind.SUBQUEUE, parent.transactional, parent=parent)
        queue.deleted = parent.deleted
        parent.subqueues.append(queue)
        return queue

    # Sending

    def send(self, positions: list[Position]) -> Answer:
        """Enqueue Message ([MS-MQDMPR] 3.1.7.1.9)."""
        answer = Answer()
        queue = positions[0].queue
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        if queue.transactional:
            return answer.fail(TransactionUsage)
        if error := self.over_quota(positions):
            return answer.fail(error)
        size = sum(p.size for p in positions)
        queue.reserved += size
        if positions[0].express:
            self._send_express(positions, answer)
            return answer

        def start() -> None:
            self.arrive(positions)

        def finish() -> None:
            queue.reserved -= size
            answer.fail(QueueNotAvailable) if queue.deleted else answer.succeed()

        def fail(error: Error) -> None:
            queue.reserved -= size
            answer.fail(error)

        self.submit(finish, fail, start)
        return answer

    def _send_express(self, positions: list[Position], answer: Answer) -> None:
        queue = positions[0].queue

        def insert() -> None:
            queue.reserved -= sum(p.size for p in positions)
            if queue.deleted:
                answer.fail(QueueNotAvailable)
                return
            for position in positions:
                self.give_number(position)
            queue.place(positions)
            self.arrived(positions)
            self.fresh.append((queue, positions))
            answer.succeed()

        if self.committing is not None and self.flying.get(queue):
            self.deferred.append(insert)
        else:
            insert()
            self.wake()

    # Starting again

    def restart(self, arrival: int) -> None:
        """The process is gone, and another one starts on what is on disk ([MS-MQDMPR] 3.1.3).

        Express messages are lost, readers too. What was not committed has not been. Messages that
        someone held are free again, unless a transaction is in doubt about them (A-11, A-37).
        """
        assert arrival >= self.arrival
        self.arrival = arrival
        self.queued, self.committing, self.fresh, self.deferred = [], None, [], []
        self.forget_commit()
        self.statistics = self.written.copy()
        self.stopping = self.sweeping = self.releasing = False
        self.shift = self.shift_on_disk
        self.now = int(self.wall) - self.shift
        for transaction in self.transactions:
            transaction.state = State.PREPARED if transaction.is_in_doubt else State.ENDED
        self.transactions = [t for t in self.transactions if t.is_in_doubt]
        self.named = {name: queue for name, queue in self.named.items() if queue.on_disk}
        system = [self.sent_journal, self.dead_letters, self.transactional_dead_letters]
        there = system + [member for queue in self.named.values() for member in queue.family]
        for queue in there + self.emptying:
            self._restart_queue(queue)
        for transaction in self.transactions:
            for position in transaction.sent:
                position.queue.reserved += position.size
            for _, target in transaction.moved:
                target.pins += 1
        for queue in sorted(self.emptying, key=lambda q: q.number):
            self.drop_step(queue)
        for queue in sorted(there, key=lambda q: q.number):
            self.remove_purged(queue, [p for p in queue.positions if p.purges and not p.holder])

    def _restart_queue(self, queue: Queue) -> None:
        queue.positions = [p for p in queue.positions if not p.express]
        for position in queue.positions:
            holder = position.holder
            if not (isinstance(holder, Transaction) and holder.is_in_doubt):
                position.holder = None
            position.purges = {Answer()} if position in queue.noted else set()
        queue.readers, queue.marks = [], {}
        queue.reserved = queue.pins = 0
        queue.deleted = queue in self.emptying
