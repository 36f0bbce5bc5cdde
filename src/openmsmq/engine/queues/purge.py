"""Emptying queues, some messages with every commit, so that nobody else waits for long."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from struct import pack
from typing import TYPE_CHECKING

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.holds import REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import DELETED_ROW, PURGED_ROW, index_key, queue_key
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.properties.message import MessageClass
from openmsmq.types.lookup import ARRIVAL_MASK

if TYPE_CHECKING:
    from openmsmq.engine.core import Core

STEP = 300
"Messages removed in one commit."

Rows = list[tuple[int, bytes]]
"Lookup identifiers and records."


def drop_messages(core: Core, queue: ManagedQueue, by: str = "", *, after: int = 0) -> None:
    """Remove the messages of a deleted queue, some with every commit."""
    rows: Rows = []

    def apply(batch: Batch) -> None:
        rows[:] = _rows(batch.writer, queue, after)
        core.dispositions.removed(batch, queue, rows, MessageClass.NACK_Q_DELETED, by)
        if len(rows) < STEP:
            batch.writer.delete(Table.QUEUES, queue_key(queue.number, DELETED_ROW))

    def committed() -> None:
        if len(rows) == STEP and not core.is_stopping:
            drop_messages(core, queue, by, after=rows[-1][0])

    core.submit(apply, committed, lambda error: None)


def purge(core: Core, queue: ManagedQueue, by: str) -> Future[int]:
    """Purge Queue ([MS-MQDMPR] 3.1.7.1.7); the answer is the number of messages removed.

    Those that cannot be read yet go, too.
    """
    if queue.delayed is None:
        return _purge(core, queue, by)
    parts = [_purge(core, queue, by), _purge(core, queue.delayed, by)]
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


def _purge(core: Core, queue: ManagedQueue, by: str) -> Future[int]:
    """Remove all messages that one place holds.

    What has arrived so far is unreadable at once and removed with the next commits. Messages
    held by somebody are removed when they are given back; uncommitted sends stay (A-30).
    """
    pending: Future[int] = Future()
    queue.purge_mark = mark = core.numbers.arrival
    queue.purges.append(mark)
    queue.spared.clear()
    held = set(queue.holds) - queue.purge_pending
    queue.purge_pending |= held
    express = [queue.express[at] for at in queue.express.lookups() if not queue.holds.is_held(at)]
    core.drop_express(queue, [entry.lookup for entry in express])
    core.dispositions.removed_express(queue, express, reason(queue), by)

    def failed(error: BaseException) -> None:
        queue.purge_pending -= held
        _end(queue, mark)
        for follower in queue.followers:
            follower.look_again()
        core.wake(queue, [1])
        pending.fail(error)

    def purged(removed: int) -> None:
        _end(queue, mark)
        pending.succeed(len(express) + removed)

    _purge_step(core, queue, mark, by, purged, failed)
    core.settle()
    return pending


def _end(queue: ManagedQueue, mark: int) -> None:
    """A purge is over."""
    queue.purges.remove(mark)
    queue.purge_mark = max(queue.purges, default=0)
    if not queue.purges:
        queue.spared.clear()
    queue.start = 0


def reason(queue: ManagedQueue) -> MessageClass:
    """Why purged messages leave; those on their way elsewhere never arrived (A-30)."""
    return MessageClass.NACK_PURGED if queue.is_outgoing else MessageClass.NACK_Q_PURGED


def resume_purge(core: Core, queue: ManagedQueue) -> None:
    """Remove what was purged while it was held by somebody whom a crash has ended."""
    known = sorted(queue.purge_pending)
    there = [at for at in known if core.snapshot.get(Table.INDEX, index_key(queue.number, at))]
    queue.purge_pending = set(there)
    remove_purged(core, queue, [at for at in there if not queue.holds.is_held(at)])


def remove_purged(core: Core, queue: ManagedQueue, lookups: list[int]) -> None:
    """Messages that were purged while somebody held them are given back: now they go."""
    express = [queue.express[lookup] for lookup in lookups if lookup in queue.express]
    core.drop_express(queue, [entry.lookup for entry in express])
    core.dispositions.removed_express(queue, express, reason(queue), "")
    queue.purge_pending.difference_update(entry.lookup for entry in express)
    stored = [lookup for lookup in lookups if lookup in queue.purge_pending]
    if not stored:
        return
    queue.holds.hold(stored, REMOVING)

    def apply(batch: Batch) -> None:
        if queue.deleted:
            return
        found = [(at, batch.writer.get(Table.INDEX, index_key(queue.number, at))) for at in stored]
        gone = [(lookup, raw) for lookup, raw in found if raw is not None]
        core.dispositions.removed(batch, queue, gone, reason(queue), "")
        note_purged(batch, queue)

    core.submit(apply, lambda: core.forget(queue, stored), lambda error: None)


def _purge_step(
    core: Core,
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
        gone = [
            (lookup, raw)
            for lookup, raw in rows
            if lookup & ARRIVAL_MASK <= mark
            and not queue.holds.is_held(lookup)
            and lookup not in queue.spared
            and batch.take_out(queue, lookup, raw)
        ]
        removed = len(gone)
        core.dispositions.finalize(batch, queue, gone, reason(queue), by)
        if len(rows) < STEP:
            note_purged(batch, queue)

    def committed() -> None:
        if len(rows) == STEP and not queue.deleted:
            last, so_far = rows[-1][0], count + removed
            _purge_step(core, queue, mark, by, purged, failed, after=last, count=so_far)
        else:
            purged(count + removed)

    core.submit(apply, committed, failed)


def note_purged(batch: Batch, queue: ManagedQueue) -> None:
    """Remember, beyond a crash too, which messages were purged while somebody held them."""
    key = queue_key(queue.number, PURGED_ROW)
    kept = [
        lookup
        for lookup in sorted(queue.purge_pending)
        if queue.holds.holder_of(lookup) not in (None, REMOVING)
        and lookup not in queue.express
        and not batch.is_taken(queue, lookup)
    ]
    if kept and not queue.deleted:
        batch.writer.put(Table.QUEUES, key, pack(f"<{len(kept)}Q", *kept))
    else:
        batch.writer.delete(Table.QUEUES, key)


def _rows(writer: Writer, queue: ManagedQueue, after: int) -> Rows:
    """The next rows of a queue's index, a step's worth."""
    first, end = index_key(queue.number, after + 1), index_key(queue.number + 1, 0)
    found = islice(writer.scan(Table.INDEX, first, end), STEP)
    return [(int.from_bytes(key[4:], "big"), raw) for key, raw in found]
