"""Moves and transactions of the model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from openmsmq.errors import (
    InvalidParameter,
    MessageLockedUnderTransaction,
    MessageNotFound,
    MQError,
    QueueNotAvailable,
    QueueQuotaExceeded,
    TransactionSequence,
    TransactionUsage,
)
from tests.strategies.model.commits import Error, Outset
from tests.strategies.model.delaying import Delays
from tests.strategies.model.outcomes import PURGED, RECEIVED
from tests.strategies.model.parts import (
    KIB,
    REMOVING,
    Answer,
    Kind,
    Position,
    Queue,
    State,
    Transaction,
    hold,
)


class Transactions(Delays):
    """Work that takes effect together."""

    def __init__(self, outset: Outset) -> None:
        super().__init__(outset)
        self.transactions: list[Transaction] = []

    # Moves

    def move(
        self, queue: Queue, lookup: int, target: Queue, transaction: Transaction | None
    ) -> Answer:
        """Move Message ([MS-MQDMPR] 3.1.7.1.16): lookup identifier and lifetime stay (A-39)."""
        answer = Answer()
        if errors := self._cannot_move(queue, target, transaction):
            return answer.fail(*errors)
        position = queue.find(lookup)
        if position is None or position.purges or position.holder is REMOVING:
            return answer.fail(MessageNotFound)
        if position.holder is not None:
            return answer.fail(MessageLockedUnderTransaction)
        if not self.is_available(position):
            return answer.fail(MessageNotFound)
        if position.express:
            self._move(position, target)
            self.wake()
            return answer.succeed()
        target.pins += 1
        if transaction is not None:
            position.holder = transaction
            transaction.moved.append((position, target))
            return answer.succeed()
        position.holder = REMOVING

        def finish() -> None:
            target.pins -= 1
            position.holder = None
            answer.succeed()

        def fail(error: Error) -> None:
            target.pins -= 1
            self.release(queue, [position])
            answer.fail(error)

        self.submit(finish, fail, lambda: self._move(position, target), grows=False)
        return answer

    def _cannot_move(
        self, queue: Queue, target: Queue, transaction: Transaction | None
    ) -> list[type[MQError]]:
        """Why a move cannot be ([MS-MQRR] 3.1.4.10); any of the errors will do."""
        errors: list[type[MQError]] = []
        if queue.deleted or target.deleted:
            errors.append(QueueNotAvailable)
        if transaction is not None and not transaction.is_open:
            errors.append(TransactionSequence)
        if transaction is not None and not target.transactional:
            errors.append(TransactionUsage)
        kinds = {queue.kind, target.kind}
        if (
            queue is target
            or queue.main is not target.main
            or not kinds
            <= {
                Kind.MAIN,
                Kind.SUBQUEUE,
            }
        ):
            errors.append(InvalidParameter)
        return errors

    def _move(self, position: Position, target: Queue) -> None:
        if position.queue.deleted:
            return
        self.take([position])
        self.count("moved", [position])
        copy = position.copy(target, aborts=0, moves=position.moves + 1)
        if position.express:
            target.place([copy])
            self.fresh.append((target, [copy]))
        else:
            self.flying.setdefault(target, []).append(copy)

    # Transactions

    def begin(self, xid: str) -> Transaction:
        transaction = Transaction(xid)
        self.transactions.append(transaction)
        return transaction

    def send_in(
        self, transaction: Transaction, positions: list[Position], *, at_once: bool
    ) -> Answer:
        """Keep messages for a transaction, answering at once or when they are written down."""
        answer = Answer()
        queue = positions[0].queue
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        if not transaction.is_open:
            return answer.fail(TransactionSequence)
        if not queue.transactional:
            return answer.fail(TransactionUsage)
        if error := self.over_quota(positions):
            return answer.fail(error)
        queue.reserved += sum(p.size for p in positions)
        transaction.sent += positions
        if at_once:
            return answer.succeed()
        transaction.unanswered = True
        transaction.spilled = len(transaction.sent)

        def finish() -> None:
            transaction.unanswered = False
            answer.succeed()

        def fail(error: Error) -> None:
            transaction.unanswered = False
            transaction.is_doomed = True
            answer.fail(error)

        self.submit(finish, fail)
        return answer

    def over_quota(self, positions: list[Position]) -> type[MQError] | None:
        """A queue and its subqueues share one quota (A-05)."""
        queue = positions[0].queue
        size = sum(p.size for p in positions)
        used = sum(member.size for member in (queue, queue.waiting, *queue.subqueues))
        is_over = queue.quota is not None and used + size > queue.quota * KIB
        return QueueQuotaExceeded if is_over else None

    def prepare(self, transaction: Transaction) -> Answer:
        """Transaction Prepare ([MS-MQDMPR] 3.1.4.3)."""
        answer = Answer()
        if not (transaction.is_open and transaction.xid):
            return answer.fail(TransactionSequence)
        transaction.state = State.PREPARING
        spilled, transaction.spilled = transaction.spilled, len(transaction.sent)

        def finish() -> None:
            transaction.state = State.PREPARED
            transaction.is_in_doubt = True
            answer.succeed()

        def fail(error: Error) -> None:
            transaction.state = State.ACTIVE
            transaction.spilled = spilled
            answer.fail(error)

        self.submit(finish, fail)
        return answer

    def commit(self, transaction: Transaction) -> Answer:
        """Transaction Commit ([MS-MQDMPR] 3.1.4.4): sends appear, receives are gone."""

        def start() -> None:
            if transaction.is_doomed:
                return
            for position in transaction.sent[: transaction.spilled]:
                self.arrive([position])
            for _, group in groupby(transaction.sent[transaction.spilled :], lambda p: p.queue):
                self.arrive(list(group))
            for queue in _queues(transaction.received):
                if not queue.deleted:
                    self.left([p for p in transaction.received if p.queue is queue], RECEIVED)
            for position, target in transaction.moved:
                self._move(position, target)

        def finish() -> None:
            hold(_taken(transaction), None)

        return self._end(transaction, start, finish, grows=True)

    def abort(self, transaction: Transaction) -> Answer:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): receives are back, but for a purge (A-31)."""
        back: list[Position] = []
        away: dict[Position, Position] = {}

        def start() -> None:
            taken = [p for p in _taken(transaction) if not p.queue.deleted]
            back[:] = [p for p in taken if not p.purges]
            away.clear()
            for position in taken:
                if position.purges:
                    self.left([position], PURGED)
                elif position in transaction.received and (place := self.give_back(position)):
                    away[position] = place
            self.count("aborted", back)

        def finish() -> None:
            for position in back:
                position.aborts += position in transaction.received and position not in away
            for position, place in away.items():
                if place.queue.kind is Kind.DELAYED:
                    self.purged_meanwhile(position, place)
            hold(_taken(transaction), None)
            self._are_back([p for p in _taken(transaction) if p not in away])

        return self._end(transaction, start, finish, grows=False)

    def _are_back(self, taken: list[Position]) -> None:
        for queue in _queues(taken):
            # A purge that began meanwhile comes to them by itself.
            if free := [p for p in taken if p.queue is queue and not p.purges]:
                self.fresh.append((queue, free))

    def decide(self, transaction: Transaction, *, commit: bool) -> Answer:
        """The outcome of a prepared transaction; reported again, it must be the same."""
        if transaction.state is State.PREPARING or transaction.is_in_doubt:
            return self.commit(transaction) if commit else self.abort(transaction)
        if transaction.is_committed is commit:
            return Answer().succeed()
        return Answer().fail(TransactionSequence)

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
            if before is State.PREPARED:
                transaction.is_in_doubt, transaction.is_committed = False, grows
            for position in transaction.sent:
                position.queue.reserved -= position.size
            for _, target in transaction.moved:
                target.pins -= 1
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

        if before is State.ACTIVE and transaction.is_empty:
            end()
        else:
            transaction.state = State.ENDING
            self.submit(finished, fail, start, grows=grows)
        return answer


def _taken(transaction: Transaction) -> list[Position]:
    """What it holds."""
    return transaction.received + [position for position, _ in transaction.moved]


def _queues(positions: list[Position]) -> list[Queue]:
    """Their queues, in the order they were met."""
    return list(dict.fromkeys(position.queue for position in positions))
