"""Emptying queues, some messages with every commit, so that nobody else waits for long."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from openmsmq.model.committing import Batch
from openmsmq.model.layout import (
    ARRIVAL_MASK,
    DELETED_ROW,
    PURGED_ROW,
    index_key,
    packet_place,
    queue_key,
)
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue
from openmsmq.model.reading import REMOVING
from openmsmq.model.recovery import pack_number
from openmsmq.model.storage import Table, Writer

if TYPE_CHECKING:
    from openmsmq.model.core import Core

STEP = 2000
"Messages removed in one commit."


def drop_messages(core: Core, queue: Queue, after: int = 0) -> None:
    """Remove the messages of a deleted queue, some with every commit."""
    rows: list[tuple[bytes, bytes]] = []

    def apply(batch: Batch) -> None:
        rows[:] = _rows(batch.writer, queue, after)
        batch.writer.delete_many(Table.INDEX, [key for key, _ in rows])
        for _, raw in rows:
            batch.drop_packet(*packet_place(raw))
        if len(rows) < STEP:
            batch.writer.delete(Table.QUEUES, queue_key(queue.number, DELETED_ROW))

    def committed() -> None:
        if len(rows) == STEP:
            drop_messages(core, queue, _lookup(rows[-1][0]))

    core.submit(apply, committed, lambda error: None)


def purge(core: Core, queue: Queue) -> Pending[int]:
    """Purge Queue ([MS-MQDMPR] 3.1.7.1.7); the answer is the number of messages removed.

    What has arrived so far is unreadable at once and removed with the next commits. Messages
    held by somebody are removed when they are given back; uncommitted sends stay (A-30).
    """
    pending: Pending[int] = Pending()
    queue.purge_mark = mark = core.numbers.arrival
    queue.purges.append(mark)
    express = [lookup for lookup in queue.express.lookups() if lookup not in queue.held]
    core.drop_express(queue, express)

    def failed(error: BaseException) -> None:
        queue.purges.remove(mark)
        queue.purge_mark = max((queue.purged_to, *queue.purges))
        core.wake(queue, [1])
        pending.fail(error)

    def purged(removed: int) -> None:
        queue.purges.remove(mark)
        queue.purged_to = max(queue.purged_to, mark)
        pending.succeed(len(express) + removed)

    _purge_step(core, queue, mark, purged, failed)
    return pending


def resume_purge(core: Core, queue: Queue) -> None:
    """Finish a purge that a crash interrupted."""
    _purge_step(core, queue, queue.purge_mark, lambda removed: None, lambda error: None)


def _purge_step(
    core: Core,
    queue: Queue,
    mark: int,
    purged: Callable[[int], None],
    failed: Callable[[BaseException], None],
    *,
    after: int = 0,
    count: int = 0,
) -> None:
    rows: list[tuple[bytes, bytes]] = []
    removed = 0

    def apply(batch: Batch) -> None:
        nonlocal removed
        removed = 0
        rows[:] = _rows(batch.writer, queue, after)
        for key, raw in rows:
            lookup = _lookup(key)
            if lookup not in queue.held and lookup & ARRIVAL_MASK <= mark:
                removed += batch.remove(queue, lookup, *packet_place(raw))
        if len(rows) < STEP:
            _note_purge(batch.writer, queue, mark)

    def committed() -> None:
        if len(rows) == STEP and not queue.deleted:
            last, so_far = _lookup(rows[-1][0]), count + removed
            _purge_step(core, queue, mark, purged, failed, after=last, count=so_far)
        else:
            purged(count + removed)

    core.submit(apply, committed, failed)


def _note_purge(writer: Writer, queue: Queue, mark: int) -> None:
    """Remember a purge for those messages that somebody holds, beyond a crash too."""
    key = queue_key(queue.number, PURGED_ROW)
    kept = (at for at, holder in queue.held.items() if holder is not REMOVING)
    if not queue.deleted and any(lookup & ARRIVAL_MASK <= mark for lookup in kept):
        writer.put(Table.QUEUES, key, pack_number(mark))
    else:
        writer.delete(Table.QUEUES, key)


def _rows(writer: Writer, queue: Queue, after: int) -> list[tuple[bytes, bytes]]:
    """The next rows of a queue's index, a step's worth."""
    first, end = index_key(queue.number, after + 1), index_key(queue.number + 1, 0)
    return list(islice(writer.scan(Table.INDEX, first, end), STEP))


def _lookup(key: bytes) -> int:
    return int.from_bytes(key[4:], "big")
