"""Empties queues, some messages with every commit, so that no other operation waits for long."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.messages.express import ExpressStore
from openmsmq.engine.messages.removal import Removal, note_purged, purge_reason
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.waiting_readers import WaitingReaders
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.layout import DELETED_ROW, queue_key
from openmsmq.engine.storage.runs import is_member, record_of, stored
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.properties.message import MessageClass
from openmsmq.types.lookup import ARRIVAL_MASK

STEP = 300
"Messages removed in one commit."

Rows = list[tuple[int, bytes]]
"Lookup identifiers and records."


class Purge:
    """Removes all messages of queues that are purged or were deleted."""

    def __init__(
        self,
        state: EngineState,
        readers: WaitingReaders,
        express: ExpressStore,
        dispositions: Dispositions,
        removal: Removal,
    ) -> None:
        self._state = state
        self._readers = readers
        self._express = express
        self._dispositions = dispositions
        self._removal = removal

    def drop_messages(self, queue: ManagedQueue, by: str = "", *, after: int = 0) -> None:
        """Remove the messages of a deleted queue, some with every commit."""
        rows: Rows = []

        def apply(batch: Batch) -> None:
            rows[:] = _rows(batch.writer, queue, after)
            self._dispositions.removed(batch, queue, rows, MessageClass.NACK_Q_DELETED, by)
            if len(rows) < STEP:
                batch.writer.delete(Table.QUEUES, queue_key(queue.number, DELETED_ROW))

        def committed() -> None:
            if len(rows) == STEP and not self._state.is_stopping:
                self.drop_messages(queue, by, after=rows[-1][0])

        self._state.submit(apply, committed, lambda error: None)

    def drop_express(self, queue: ManagedQueue, by: str) -> None:
        """Remove the express messages of a deleted queue."""
        entries = [queue.express[lookup] for lookup in queue.express.lookups()]
        self._express.drop(queue, queue.express.lookups())
        self._dispositions.removed_express(queue, entries, MessageClass.NACK_Q_DELETED, by)

    def purge(self, queue: ManagedQueue, by: str) -> Future[int]:
        """Purge Queue ([MS-MQDMPR] 3.1.7.1.7); the answer is the number of messages removed.

        Those that cannot be read yet go, too.
        """
        if queue.delayed is None:
            return self._purge(queue, by)
        parts = [self._purge(queue, by), self._purge(queue.delayed, by)]
        answer: Future[int] = Future()

        def purged() -> None:
            if all(part.done for part in parts):
                error = parts[0].error or parts[1].error
                if error is not None:
                    answer.fail(error)
                else:
                    answer.succeed(sum(part.result() for part in parts))

        for part in parts:
            part.on_done = purged
        return answer

    def _purge(self, queue: ManagedQueue, by: str) -> Future[int]:
        """Remove all messages that one place holds.

        What has arrived so far is unreadable at once and removed with the next commits. Messages
        held by a reader are removed when they are released; uncommitted sends stay (A-30).
        """
        pending: Future[int] = Future()
        queue.purge_mark = mark = self._state.numbers.arrival
        queue.purges.append(mark)
        queue.spared.clear()
        held = set(queue.holds) - queue.purge_pending
        queue.purge_pending |= held
        express = [
            queue.express[at] for at in queue.express.lookups() if not queue.holds.is_held(at)
        ]
        self._express.drop(queue, [entry.lookup for entry in express])
        self._dispositions.removed_express(queue, express, purge_reason(queue), by)

        def failed(error: BaseException) -> None:
            queue.purge_pending -= held
            _end(queue, mark)
            for follower in queue.followers:
                follower.look_again()
            self._readers.wake(queue, [1])
            pending.fail(error)

        def purged(removed: int) -> None:
            _end(queue, mark)
            pending.succeed(len(express) + removed)

        self._step(queue, mark, by, purged, failed)
        self._readers.notify()
        return pending

    def resume(self, queue: ManagedQueue) -> None:
        """Remove what was purged while it was held by a reader that a crash has ended."""
        known, snapshot = sorted(queue.purge_pending), self._state.snapshot
        there = [at for at in known if record_of(snapshot, queue.number, at) is not None]
        queue.purge_pending = set(there)
        released = [at for at in there if not queue.holds.is_held(at)]
        self._removal.remove_purged(queue, released)

    def _step(
        self,
        queue: ManagedQueue,
        mark: int,
        by: str,
        purged: Callable[[int], None],
        failed: Callable[[BaseException], None],
        *,
        after: int = 0,
        count: int = 0,
    ) -> None:
        rows: Rows = []
        removed = 0

        def apply(batch: Batch) -> None:
            nonlocal removed
            rows[:] = _rows(batch.writer, queue, after)
            free = [
                (lookup, raw)
                for lookup, raw in rows
                if lookup & ARRIVAL_MASK <= mark
                and not queue.holds.is_held(lookup)
                and lookup not in queue.spared
            ]
            members = [
                (lookup, raw)
                for lookup, raw in free
                if is_member(raw) and batch.runs.member(queue.number, lookup)
            ]
            gone = [one for one in free if not is_member(one[1]) and batch.take_out(queue, *one)]
            removed = len(members) + len(gone)
            self._dispositions.removed(batch, queue, members, purge_reason(queue), by)
            self._dispositions.finalize(batch, queue, gone, purge_reason(queue), by)
            if len(rows) < STEP:
                note_purged(batch, queue)

        def committed() -> None:
            if len(rows) == STEP and not queue.deleted:
                last, so_far = rows[-1][0], count + removed
                self._step(queue, mark, by, purged, failed, after=last, count=so_far)
            else:
                purged(count + removed)

        self._state.submit(apply, committed, failed)


def _end(queue: ManagedQueue, mark: int) -> None:
    """A purge is over."""
    queue.purges.remove(mark)
    queue.purge_mark = max(queue.purges, default=0)
    if not queue.purges:
        queue.spared.clear()
    queue.start, queue.gap = 0, (0, 0)


def _rows(writer: Writer, queue: ManagedQueue, after: int) -> Rows:
    """The next messages of a queue, a step's worth."""
    found = islice(stored(writer, queue.number, after), STEP)
    return [(lookup, raw) for lookup, raw, _ in found]
