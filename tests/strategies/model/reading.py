"""Reading in the model: at once or waiting, with cursors, by identifier, in two steps."""

from __future__ import annotations

from openmsmq.errors import (
    IllegalCursorAction,
    InvalidHandle,
    MessageAlreadyReceived,
    MessageNotFound,
    MQError,
    OperationCancelled,
    QueueNotAvailable,
    ReceiveTimeout,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.types.read import Seek
from tests.strategies.model.commits import Error
from tests.strategies.model.outcomes import RECEIVED, Dispositions
from tests.strategies.model.parts import (
    REMOVING,
    Answer,
    Cursor,
    Position,
    Queue,
    Reader,
    State,
    Transaction,
    hold,
)


class Reading(Dispositions):
    """Reads; what they remove leaves with a commit."""

    now = 0
    "Seconds of lifetimes."
    _waking = False

    def available(self, queue: Queue) -> list[Position]:
        """What anyone may take: not held, not purged, not expired."""
        return [p for p in queue.positions if p.is_free and p.expires >= self.now]

    def is_available(self, position: Position) -> bool:
        return position.is_free and position.expires >= self.now

    def finish(self, error: MQError | None = None) -> None:
        """The commit is over, and readers are woken once the books are in order (A-55)."""
        super().finish(error)
        self.wake()

    def read(self, queue: Queue, reader: Reader, *, wait: bool, following: bool = False) -> Answer:
        """Dequeue and Peek Message, with a cursor or without ([MS-MQDMPR] 3.1.7.1.10 - .15)."""
        answer = reader.answer
        if error := self._refusal(queue, reader, following=following):
            return answer.fail(*error)
        cursor = reader.cursor
        if cursor is not None and cursor.state is State.READ and not following:
            under = queue.find(cursor.position)
            if under is None or not self.is_available(under):
                return answer.fail(MessageAlreadyReceived)
            self._satisfy(queue, reader, [under])
        elif found := self._found(queue, reader, []):
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

    def _found(self, queue: Queue, reader: Reader, fresh: list[Position]) -> list[Position]:
        """What a read finds: the first behind a cursor, or a new one if it waits (A-19)."""
        found = self.available(queue)
        if reader.cursor is None:
            return found[: reader.count]
        behind = [p for p in found if p.lookup > reader.cursor.position]
        return (behind or [p for p in found if p in fresh])[:1]

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
            holder.received += found
        if holder is not REMOVING:
            answer.succeed(list(found))
        else:
            self._remove(queue, found, answer, list(found))

    def _remove(
        self, queue: Queue, gone: list[Position], answer: Answer, value: object = None
    ) -> None:
        """Express messages leave at once, unless they are taken together with others."""
        stored = [p for p in gone if not p.express]
        express = [p for p in gone if p.express]

        def finish() -> None:
            hold(gone, None)
            self.left(express, RECEIVED)
            answer.succeed(value)

        def fail(error: Error) -> None:
            self.release(queue, gone)
            answer.fail(error)

        if stored:
            self.submit(finish, fail, lambda: self.left(stored, RECEIVED), grows=False)
        else:
            finish()
            self.wake()

    def end(self, queue: Queue, positions: list[Position], *, delete: bool) -> Answer:
        """Dequeue Message End ([MS-MQDMPR] 3.1.7.1.12); what was purged goes as purged (A-31)."""
        answer = Answer()
        if queue.deleted:
            return answer.fail(QueueNotAvailable)
        gone = [p for p in positions if delete and not p.purges]
        purged = self.release(queue, [p for p in positions if p not in gone])
        self.wake()
        hold(gone, REMOVING)
        removed = Answer()

        def done() -> None:
            if removed.errors:
                answer.fail(*removed.errors)
            elif removed.done and purged.done and not answer.done:
                answer.fail(*purged.errors) if purged.errors else answer.succeed()

        removed.then = purged.then = done
        self._remove(queue, gone, removed)
        return answer

    def put_back(self, queue: Queue, positions: list[Position]) -> None:
        """Return what was received to its place; no purge meanwhile was about it."""
        if queue.deleted:
            return
        copies = [p.copy(queue) for p in positions]
        express = [p for p in copies if p.express]
        stored = [p for p in copies if not p.express]
        if express:
            queue.place(express)
            self.fresh.append((queue, express))
            self.wake()

        def start() -> None:
            if not queue.deleted:
                self.flying.setdefault(queue, []).extend(stored)

        def finish() -> None:
            queue.pins -= 1

        def fail(error: Error) -> None:
            queue.pins -= 1
            lost = "messages lost because they could not be put back"
            self.statistics[lost] += len(stored)

        if stored:
            queue.pins += 1
            self.submit(finish, fail, start)

    def by_lookup(
        self, queue: Queue, lookup: int, seek: Seek, *, peek: bool, holder: object
    ) -> Answer:
        """Read Message By Lookup Identifier ([MS-MQDMPR] 3.1.7.1.13, 3.1.7.3.3)."""
        reader = Reader(Answer(), 1, not peek, holder=REMOVING if peek else holder)
        if error := self._refusal(queue, reader, following=False):
            return reader.answer.fail(*error)
        at = queue.find(lookup)
        if at is None and seek in (Seek.CURRENT, Seek.NEXT, Seek.PREVIOUS):
            return reader.answer.fail(MessageNotFound)
        if at is not None and seek is Seek.CURRENT:
            is_locked = at.holder not in (None, REMOVING) and not at.purges
            if not self.is_available(at):
                return reader.answer.fail(
                    TransactionUsage if peek and is_locked else MessageNotFound
                )
        available = self.available(queue)
        found = {
            Seek.CURRENT: [p for p in available if p is at],
            Seek.FIRST: available,
            Seek.NEXT: [p for p in available if p.lookup > lookup],
            Seek.PREVIOUS: [p for p in reversed(available) if p.lookup < lookup],
            Seek.LAST: available[::-1],
            Seek.BEHIND: [p for p in available if p.lookup > lookup],
            Seek.AHEAD: [p for p in reversed(available) if p.lookup < lookup],
        }[seek]
        if not found:
            return reader.answer.fail(MessageNotFound)
        self._satisfy(queue, reader, found[:1])
        return reader.answer

    def wake(self) -> None:
        """Message Position Available ([MS-MQDMPR] 3.1.7.2.2): one line per queue (A-18)."""
        if self._waking:
            return
        self._waking = True
        while self.fresh:
            queue, positions = self.fresh.pop(0)
            for reader in list(queue.readers):
                holder = reader.holder
                if isinstance(holder, Transaction) and not holder.is_open:
                    self.cancel(queue, reader, TransactionSequence)
                elif found := self._found(queue, reader, positions):
                    queue.readers.remove(reader)
                    self._satisfy(queue, reader, found)
        self._waking = False

    def cancel(self, queue: Queue, reader: Reader, error: type[MQError]) -> None:
        """Cancel Waiting Message Read Request ([MS-MQDMPR] 3.1.7.1.17)."""
        queue.readers.remove(reader)
        if reader.cursor is not None:
            reader.cursor.expire()
        reader.answer.fail(error)

    def cancel_all(self, queue: Queue, error: type[MQError]) -> None:
        for reader in list(queue.readers):
            self.cancel(queue, reader, error)

    def close_cursor(self, cursor: Cursor) -> None:
        """Close Cursor ([MS-MQDMPR] 3.1.7.1.2), with its reader notified (A-51)."""
        cursor.closed = True
        for reader in list(cursor.queue.readers):
            if reader.cursor is cursor:
                self.cancel(cursor.queue, reader, OperationCancelled)
