"""The queue manager of the model: its queues, what is sent to them, and its transactions."""

from __future__ import annotations

from collections.abc import Callable

from openmsmq.errors import (
    QueueDeleted,
    QueueNotAvailable,
    TransactionSequence,
    TransactionUsage,
)
from tests.strategies.model.commits import Error
from tests.strategies.model.parts import Answer, Position, Queue, State, Transaction
from tests.strategies.model.reading import Reading


class Model(Reading):
    """The queue manager."""

    def __init__(self, arrival: int, step: int) -> None:
        super().__init__()
        self.arrival = arrival
        "SequentialID ([MS-MQDMPR] 3.1.1.1)."
        self.step = step
        "How many messages a purge looks at with each commit."
        self.transactions: list[Transaction] = []

    # Queues

    def create(self, queue: Queue) -> Answer:
        answer = Answer()

        def finish() -> None:
            queue.on_disk = True
            answer.succeed()

        def fail(error: Error) -> None:
            queue.deleted = queue.never_was = True
            answer.fail(error)

        self.submit(finish, fail)
        return answer

    def change(self, queue: Queue, label: str) -> Answer:
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)

        def finish() -> None:
            queue.label = label
            answer.succeed()

        self.submit(finish, answer.fail)
        return answer

    def delete(self, queue: Queue) -> Answer:
        """Delete Queue ([MS-MQDMPR] 3.1.7.1.4), with the readers told (A-29)."""
        answer = Answer()
        queue.deleted = True
        for reader in list(queue.readers):
            self.cancel(queue, reader, QueueDeleted)

        def finish() -> None:
            queue.on_disk = False
            queue.positions.clear()
            answer.succeed()

        def fail(error: Error) -> None:
            queue.deleted = queue.never_was
            answer.fail(error)

        self.submit(finish, fail, grows=False)
        return answer

    def purge(self, queue: Queue) -> Answer:
        """Purge Queue ([MS-MQDMPR] 3.1.7.1.7), which leaves uncommitted sends alone (A-30)."""
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        express = [p for p in queue.available() if p.express]
        queue.remove(express)
        queue.marks[answer] = self.arrival
        self._purge_step(queue, answer, after=0, count=len(express))
        return answer

    def _purge_step(self, queue: Queue, answer: Answer, *, after: int, count: int) -> None:
        """Take out some of what was purged, then the next."""
        seen: list[Position] = []
        victims: list[Position] = []

        def start() -> None:
            stored = [p for p in queue.positions if not p.express and p.lookup > after]
            seen[:] = stored[: self.step]
            free = [p for p in seen if p.holder is None and p not in self.leaving]
            victims[:] = [p for p in free if p.arrival <= queue.marks[answer]]
            self.leaving.update(victims)

        def finish() -> None:
            queue.remove(victims)
            if len(seen) == self.step and not queue.deleted:
                so_far = count + len(victims)
                self._purge_step(queue, answer, after=seen[-1].lookup, count=so_far)
            else:
                answer.succeed(count + len(victims))

        def fail(error: Error) -> None:
            del queue.marks[answer]
            self.fresh[queue].update()  # readers look again, but nothing is new
            answer.fail(error)

        self.submit(finish, fail, start, grows=False)

    # Sending

    def send(self, queue: Queue, positions: list[Position]) -> Answer:
        """Enqueue Message ([MS-MQDMPR] 3.1.7.1.9)."""
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        if queue.transactional:
            return answer.fail(TransactionUsage)
        size = sum(p.size for p in positions)
        queue.reserved += size
        if positions[0].express:
            self._send_express(queue, positions, answer)
            return answer

        def start() -> None:
            if not queue.deleted:
                self.flying[queue] += self._number(positions)

        def finish() -> None:
            queue.reserved -= size
            answer.fail(QueueNotAvailable) if queue.deleted else answer.succeed()

        def fail(error: Error) -> None:
            queue.reserved -= size
            answer.fail(error)

        self.submit(finish, fail, start)
        return answer

    def _send_express(self, queue: Queue, positions: list[Position], answer: Answer) -> None:
        def insert() -> None:
            queue.reserved -= sum(p.size for p in positions)
            if queue.deleted:
                answer.fail(QueueNotAvailable)
                return
            queue.place(self._number(positions))
            self.fresh[queue].update(positions)
            answer.succeed()

        if self.committing is not None and self.flying.get(queue):
            self.deferred.append(insert)
        else:
            insert()
            self.wake()

    def _number(self, positions: list[Position]) -> list[Position]:
        """Give lookup identifiers: 7 - priority above, SequentialID below (A-09)."""
        for position in positions:
            self.arrival += 1
            position.lookup = 7 - position.priority << 56 | self.arrival
        return positions

    def send_in(
        self, transaction: Transaction, queue: Queue, positions: list[Position], *, at_once: bool
    ) -> Answer:
        """Keep messages for a transaction, answering at once or when they are written down."""
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        if not transaction.is_open:
            return answer.fail(TransactionSequence)
        if not queue.transactional:
            return answer.fail(TransactionUsage)
        size = sum(p.size for p in positions)
        queue.reserved += size
        transaction.sent += [(queue, p) for p in positions]
        if at_once:
            return answer.succeed()
        transaction.unanswered = True

        def finish() -> None:
            transaction.unanswered = False
            answer.succeed()

        def fail(error: Error) -> None:
            transaction.unanswered = False
            transaction.is_doomed = True
            answer.fail(error)

        self.submit(finish, fail)
        return answer

    # Transactions

    def begin(self, xid: str) -> Transaction:
        transaction = Transaction(xid)
        self.transactions.append(transaction)
        return transaction

    def prepare(self, transaction: Transaction) -> Answer:
        """Transaction Prepare ([MS-MQDMPR] 3.1.4.3)."""
        answer = Answer()
        if not (transaction.is_open and transaction.xid):
            return answer.fail(TransactionSequence)
        transaction.state = State.PREPARING

        def finish() -> None:
            transaction.state = State.PREPARED
            transaction.is_in_doubt = True
            answer.succeed()

        def fail(error: Error) -> None:
            transaction.state = State.ACTIVE
            answer.fail(error)

        self.submit(finish, fail)
        return answer

    def commit(self, transaction: Transaction) -> Answer:
        """Transaction Commit ([MS-MQDMPR] 3.1.4.4): sends appear, receives are gone."""

        def start() -> None:
            for queue, position in transaction.sent:
                if not (queue.deleted or transaction.is_doomed):
                    self.flying[queue] += self._number([position])

        def finish() -> None:
            for queue, position in transaction.received:
                queue.remove([position])

        return self._end(transaction, start, finish, grows=True)

    def abort(self, transaction: Transaction) -> Answer:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): receives are back, but for a purge."""
        purged: list[Position] = []

        def start() -> None:
            purged[:] = [p for _, p in transaction.received if p.is_purged]

        def finish() -> None:
            for queue, position in transaction.received:
                position.holder = None
                if position in purged:
                    queue.remove([position])
                else:
                    position.aborts += 1
                    self.fresh[queue].add(position)

        return self._end(transaction, start, finish, grows=False)

    def _end(
        self,
        transaction: Transaction,
        start: Callable[[], None],
        finish: Callable[[], None],
        *,
        grows: bool,
    ) -> Answer:
        answer = Answer()
        before = transaction.state
        if before not in (State.ACTIVE, State.PREPARED) or (grows and transaction.is_doomed):
            return answer.fail(TransactionSequence)

        def end() -> None:
            transaction.state = State.ENDED
            transaction.is_in_doubt = False
            for queue, position in transaction.sent:
                queue.reserved -= position.size
            answer.succeed()

        def finished() -> None:
            if grows and transaction.is_doomed:
                fail(TransactionSequence)
            else:
                finish()
                end()

        def fail(error: Error) -> None:
            transaction.state = before
            answer.fail(error)

        if before is State.ACTIVE and not (transaction.sent or transaction.received):
            end()
        else:
            transaction.state = State.ENDING
            self.submit(finished, fail, start, grows=grows)
        return answer
