"""A queue manager as [MS-MQDMPR] describes it: plain lists of positions with states.

It is slow and obvious on purpose. What is written waits in `queued` until a commit starts, in
`flying` while it runs, and takes effect, or does not, when it finishes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from openmsmq.errors import (
    IllegalCursorAction,
    InvalidHandle,
    MessageAlreadyReceived,
    MessageNotFound,
    MQError,
    OperationCancelled,
    QueueDeleted,
    QueueNotAvailable,
    ReceiveTimeout,
    StorageFull,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.model.cursor import Cursor as RealCursor
from openmsmq.model.receiving import Seek

REMOVING: Final = "removing"
"Holds what was received and leaves the disk with a commit."


class State(Enum):
    """Where a transaction or a cursor stands."""

    ACTIVE = auto()
    PREPARING = auto()
    PREPARED = auto()
    ENDING = auto()
    ENDED = auto()
    UNREAD = auto()
    READ = auto()
    WAITING = auto()


@dataclass(eq=False)
class Position:
    """A message in a queue, and who holds it (MessagePosition, [MS-MQDMPR] 3.1.1.11)."""

    body: bytes
    size: int
    priority: int
    express: bool
    lookup: int = 0
    holder: object = None
    purges: set[Answer] = field(default_factory=set)
    aborts: int = 0

    @property
    def purged(self) -> bool:
        """PurgePending, or about to be removed."""
        return bool(self.purges)

    @property
    def is_available(self) -> bool:
        return self.holder is None and not self.purged


class Answer:
    """What a call must answer, and whether it may have done so yet."""

    def __init__(self) -> None:
        self.done = False
        self.value: object = None
        self.errors: tuple[type[BaseException], ...] = ()

    def succeed(self, value: object = None) -> Answer:
        assert not self.done
        self.done, self.value = True, value
        return self

    def fail(self, *errors: type[BaseException]) -> Answer:
        assert not self.done
        self.done, self.errors = True, errors
        return self


@dataclass(eq=False)
class Transaction:
    """A transaction ([MS-MQDMPR] 3.1.1.14)."""

    xid: str
    state: State = State.ACTIVE
    sent: list[tuple[Queue, Position]] = field(default_factory=list)
    received: list[tuple[Queue, Position]] = field(default_factory=list)
    unanswered: bool = False
    "A send is being written to the store ahead of the commit."
    is_doomed: bool = False
    "Such a send failed: it can only be aborted."

    @property
    def is_open(self) -> bool:
        return self.state is State.ACTIVE and not self.is_doomed


@dataclass(eq=False)
class Cursor:
    """A cursor ([MS-MQDMPR] 3.2), which remembers an order, not a message (A-08)."""

    queue: Queue
    real: RealCursor
    position: int = 0
    passed: int = 0
    state: State = State.UNREAD
    destructive: bool = False
    closed: bool = False

    def expire(self) -> None:
        """Wait Time Expired ([MS-MQDMPR] 3.2.7.6); the end is behind all that was there (A-19)."""
        if self.state is State.WAITING and self.destructive:
            self.position = max(self.position, self.passed)
        self.state = State.UNREAD


@dataclass(eq=False)
class Reader:
    """A read, which may have to wait ([MS-MQDMPR] 3.1.1.10)."""

    answer: Answer
    count: int
    destructive: bool
    holder: object = REMOVING
    cursor: Cursor | None = None


@dataclass(eq=False)
class Queue:
    """A queue ([MS-MQDMPR] 3.1.1.2); `positions` in order, those on disk until they are off it."""

    number: int
    transactional: bool
    positions: list[Position] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    reserved: int = 0
    deleted: bool = False
    never_was: bool = False
    on_disk: bool = False
    label: str = ""

    def available(self) -> list[Position]:
        return [position for position in self.positions if position.is_available]

    def find(self, lookup: int) -> Position | None:
        return next((p for p in self.positions if p.lookup == lookup), None)

    def place(self, positions: Sequence[Position]) -> None:
        """By priority, then by arrival."""
        self.positions = sorted([*self.positions, *positions], key=lambda p: p.lookup)


@dataclass(eq=False)
class Operation:
    """Something to be written."""

    start: Callable[[], None]
    finish: Callable[[], None]
    fail: Callable[[type[BaseException]], None]
    grows: bool


class Model:
    """The queue manager."""

    def __init__(self, arrival: int) -> None:
        self.arrival = arrival
        "SequentialID ([MS-MQDMPR] 3.1.1.1)."
        self.transactions: list[Transaction] = []
        self.queued: list[Operation] = []
        self.committing: list[Operation] | None = None
        self.flying: dict[Queue, list[Position]] = defaultdict(list)
        self.leaving: set[Position] = set()
        "What purges take out with the commit that runs."
        self.deferred: list[Callable[[], None]] = []
        self.fresh: dict[Queue, set[Position]] = defaultdict(set)

    # Commits

    def submit(
        self,
        finish: Callable[[], object],
        fail: Callable[[type[BaseException]], object],
        start: Callable[[], object] = lambda: None,
        *,
        grows: bool = True,
    ) -> None:
        self.queued.append(
            Operation(lambda: void(start()), lambda: void(finish()), lambda e: void(fail(e)), grows)
        )

    def start(self) -> None:
        self.committing, self.queued = self.queued, []
        self.leaving.clear()
        for operation in self.committing:
            operation.start()

    def finish(self, error: MQError | None = None) -> None:
        """All that was started lasts, or none of it; on a full disk the rest is tried again."""
        assert self.committing is not None
        operations, self.committing = self.committing, None
        if error is None:
            for queue, positions in self.flying.items():
                queue.place(positions)
                self.fresh[queue].update(p for p in positions if p.is_available)
            for operation in operations:
                operation.finish()
        else:
            growing = [operation for operation in operations if operation.grows]
            if isinstance(error, StorageFull) and growing and len(growing) < len(operations):
                self.queued = [o for o in operations if not o.grows] + self.queued
                operations = growing
            for operation in operations:
                operation.fail(type(error))
        self.flying.clear()
        deferred, self.deferred = self.deferred, []
        for call in deferred:
            call()
        self.wake()

    # Queues

    def create(self, queue: Queue) -> Answer:
        answer = Answer()

        def finish() -> None:
            queue.on_disk = True
            answer.succeed()

        def fail(error: type[BaseException]) -> None:
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

        def fail(error: type[BaseException]) -> None:
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
        for position in express:
            queue.positions.remove(position)
        marked = [*queue.positions, *self.flying.get(queue, ())]
        for position in marked:
            position.purges.add(answer)
        victims: list[Position] = []

        def start() -> None:
            victims[:] = [
                p for p in marked if p in queue.positions and p not in self.leaving and not p.holder
            ]
            self.leaving.update(victims)

        def finish() -> None:
            remove(queue, victims)
            answer.succeed(len(express) + len(victims))

        def fail(error: type[BaseException]) -> None:
            for position in marked:
                position.purges.discard(answer)
            self.fresh[queue].update()  # readers look again, but nothing is new
            answer.fail(error)

        self.submit(finish, fail, start, grows=False)
        return answer

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

        def fail(error: type[BaseException]) -> None:
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
            position.purges.clear()
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

        def fail(error: type[BaseException]) -> None:
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
            answer.succeed()

        def fail(error: type[BaseException]) -> None:
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
                remove(queue, [position])

        return self._end(transaction, start, finish, grows=True)

    def abort(self, transaction: Transaction) -> Answer:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): receives are back, but for a purge."""
        purged: list[Position] = []

        def start() -> None:
            purged[:] = [p for _, p in transaction.received if p.purged]

        def finish() -> None:
            for queue, position in transaction.received:
                position.holder = None
                if position in purged:
                    remove(queue, [position])
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
            for queue, position in transaction.sent:
                queue.reserved -= position.size
            answer.succeed()

        def finished() -> None:
            if grows and transaction.is_doomed:
                fail(TransactionSequence)
            else:
                finish()
                end()

        def fail(error: type[BaseException]) -> None:
            transaction.state = before
            answer.fail(error)

        if before is State.ACTIVE and not (transaction.sent or transaction.received):
            end()
        else:
            transaction.state = State.ENDING
            self.submit(finished, fail, start, grows=grows)
        return answer

    # Reading

    def read(self, queue: Queue, reader: Reader, *, wait: bool, following: bool = False) -> Answer:
        """Dequeue and Peek Message, with a cursor or without ([MS-MQDMPR] 3.1.7.1.10 - .15)."""
        answer = reader.answer
        if error := self._refusal(queue, reader, following=following):
            return answer.fail(*error)
        cursor = reader.cursor
        if cursor is not None and cursor.state is State.READ and not following:
            under = queue.find(cursor.position)
            if under is None or not under.is_available:
                return answer.fail(MessageAlreadyReceived)
            self._satisfy(queue, reader, [under])
        elif found := self._found(queue, reader, set()):
            self._satisfy(queue, reader, found)
        elif wait:
            if cursor is not None:
                cursor.state, cursor.destructive = State.WAITING, reader.destructive
                cursor.passed = max((p.lookup for p in queue.positions), default=0)
            queue.readers.append(reader)
        elif cursor is not None and reader.destructive:
            answer.fail(MessageNotFound)
        else:
            if cursor is not None:
                cursor.expire()
            answer.fail(ReceiveTimeout)
        return answer

    def _refusal(
        self, queue: Queue, reader: Reader, *, following: bool
    ) -> tuple[type[MQError], ...]:
        """Why a read cannot be; any of the errors will do."""
        errors: list[type[MQError]] = []
        if queue.deleted:
            errors.append(QueueNotAvailable)
        if isinstance(reader.holder, Transaction):
            if not reader.holder.is_open:
                errors.append(TransactionSequence)
            if not queue.transactional:
                errors.append(TransactionUsage)
        if (cursor := reader.cursor) is not None:
            if cursor.closed:
                errors.append(InvalidHandle)
            if cursor.state is State.WAITING or (following and cursor.state is State.UNREAD):
                errors.append(IllegalCursorAction)
        return tuple(errors)

    def _found(self, queue: Queue, reader: Reader, fresh: set[Position]) -> list[Position]:
        """What a read finds: the first behind a cursor, or a new one if it waits (A-19)."""
        if reader.cursor is None:
            return queue.available()[: reader.count]
        behind = [p for p in queue.available() if p.lookup > reader.cursor.position]
        if behind:
            return behind[:1]
        # Several at once: any of them. The cursor tells which it was.
        possible = [p for p in queue.available() if p in fresh]
        chosen = [p for p in possible if p.lookup == reader.cursor.real.position]
        return (chosen or possible)[:1]

    def _satisfy(self, queue: Queue, reader: Reader, found: list[Position]) -> None:
        if (cursor := reader.cursor) is not None:
            cursor.position = found[0].lookup
            cursor.state = State.UNREAD if reader.destructive else State.READ
        if not reader.destructive:
            reader.answer.succeed(list(found))
        else:
            self._take(queue, found, reader.holder, reader.answer)

    def _take(self, queue: Queue, found: list[Position], holder: object, answer: Answer) -> None:
        """A plain receive is answered when the messages are off the disk, others at once."""
        hold(found, holder)
        if isinstance(holder, Transaction):
            holder.received += [(queue, p) for p in found]
        if holder is not REMOVING:
            answer.succeed(list(found))
        else:
            self._remove(queue, found, answer, list(found))

    def _remove(
        self, queue: Queue, gone: list[Position], answer: Answer, value: object = None
    ) -> None:
        if all(p.express for p in gone):
            remove(queue, gone)
            answer.succeed(value)
            return

        def finish() -> None:
            remove(queue, gone)
            answer.succeed(value)

        def fail(error: type[BaseException]) -> None:
            hold(gone, None)
            remove(queue, [p for p in gone if p.express and p.purged])
            self.fresh[queue].update(p for p in gone if p.is_available)
            answer.fail(error)

        self.submit(finish, fail, grows=False)

    def end(self, queue: Queue, positions: list[Position], *, delete: bool) -> Answer:
        """Dequeue Message End ([MS-MQDMPR] 3.1.7.1.12)."""
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        gone = [p for p in positions if delete or p.purged]
        back = [p for p in positions if p not in gone]
        hold(back, None)
        if back:
            self.fresh[queue].update(back)
        hold(gone, REMOVING)
        if gone:
            self._remove(queue, gone, answer)
        else:
            answer.succeed()
        self.wake()
        return answer

    def by_lookup(
        self, queue: Queue, lookup: int, seek: Seek, *, peek: bool, holder: object
    ) -> Answer:
        """Read Message By Lookup Identifier ([MS-MQDMPR] 3.1.7.1.13, 3.1.7.3.3)."""
        reader = Reader(Answer(), 1, not peek, holder=REMOVING if peek else holder)
        if error := self._refusal(queue, reader, following=False):
            return reader.answer.fail(*error)
        at = queue.find(lookup)
        if at is None and seek not in (Seek.FIRST, Seek.LAST):
            return reader.answer.fail(MessageNotFound)
        if at is not None and seek is Seek.CURRENT:
            is_locked = at.holder not in (None, REMOVING) and not at.purged
            if not at.is_available:
                return reader.answer.fail(
                    TransactionUsage if peek and is_locked else MessageNotFound
                )
        found = {
            Seek.CURRENT: [p for p in queue.available() if p is at],
            Seek.FIRST: queue.available(),
            Seek.NEXT: [p for p in queue.available() if p.lookup > lookup],
            Seek.PREVIOUS: [p for p in reversed(queue.available()) if p.lookup < lookup],
            Seek.LAST: queue.available()[::-1],
        }[seek]
        if not found:
            return reader.answer.fail(MessageNotFound)
        self._satisfy(queue, reader, found[:1])
        return reader.answer

    # Waiting

    def wake(self) -> None:
        """Message Position Available ([MS-MQDMPR] 3.1.7.2.2): one line per queue (A-18)."""
        fresh, self.fresh = self.fresh, defaultdict(set)
        for queue, positions in fresh.items():
            for reader in list(queue.readers):
                holder = reader.holder
                if isinstance(holder, Transaction) and not holder.is_open:
                    self.cancel(queue, reader, TransactionSequence)
                elif found := self._found(queue, reader, positions):
                    queue.readers.remove(reader)
                    self._satisfy(queue, reader, found)

    def cancel(self, queue: Queue, reader: Reader, error: type[MQError]) -> None:
        """Cancel Waiting Message Read Request ([MS-MQDMPR] 3.1.7.1.17)."""
        queue.readers.remove(reader)
        if reader.cursor is not None:
            reader.cursor.expire()
        reader.answer.fail(error)

    def close_cursor(self, cursor: Cursor) -> None:
        """Close Cursor ([MS-MQDMPR] 3.1.7.1.2), with its reader told (A-51)."""
        cursor.closed = True
        for reader in list(cursor.queue.readers):
            if reader.cursor is cursor:
                self.cancel(cursor.queue, reader, OperationCancelled)


def void(_: object) -> None:
    """Forget a result."""


def hold(positions: list[Position], holder: object) -> None:
    for position in positions:
        position.holder = holder


def remove(queue: Queue, gone: list[Position]) -> None:
    queue.positions = [p for p in queue.positions if p not in gone]
