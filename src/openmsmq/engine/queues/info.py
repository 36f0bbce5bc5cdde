"""What is known about queues, as values."""

from __future__ import annotations

from bisect import bisect_right
from sys import maxsize
from typing import Final

from openmsmq.engine.core import Core
from openmsmq.engine.messages.scan import oldest
from openmsmq.engine.queues.ownership import is_restricted
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.system import HIDDEN
from openmsmq.engine.storage.layout import Total
from openmsmq.limits import NO_QUOTA
from openmsmq.names.path import shown
from openmsmq.types.queues import VISIBLE, QueueInfo, QueueKind, by_name

BEFORE_ALL: Final = -1
"The place before the first queue."
_BY_FORMAT_NAME: Final = (QueueKind.OUTGOING, QueueKind.MULTIPLE, QueueKind.CONNECTOR)
"What has no path name."


def queue_info(queue: ManagedQueue, core: Core) -> QueueInfo:
    """What is known about `queue` now."""
    properties = queue.properties
    journal, delayed = queue.journal, queue.delayed
    arrived = oldest(core.snapshot, queue)
    return QueueInfo(
        name=path_name(queue),
        id=properties.id,
        kind=str(queue.kind),
        state=_state(queue),
        transactional=properties.transactional,
        journal=properties.journal,
        messages=queue.messages + len(queue.express),
        bytes=queue.size + queue.express.size,
        journal_messages=0 if journal is None else journal.messages + len(journal.express),
        journal_bytes=0 if journal is None else journal.size + journal.express.size,
        delayed=0 if delayed is None else delayed.messages,
        delayed_bytes=0 if delayed is None else delayed.size,
        oldest_age=None if arrived is None else max(0, core.timeline.wall - arrived),
        quota=_limit(properties.quota),
        journal_quota=_limit(properties.journal_quota),
        label=properties.label,
        authenticate=properties.authenticate,
        privacy=properties.privacy,
        base_priority=properties.base_priority,
        type=properties.type,
        abort_limit=properties.abort_limit,
        retry_delay=properties.retry_delay,
        poison=str(properties.poison),
        format_name=_format_name(queue, core),
        created=properties.created,
        modified=properties.modified,
        restricted=is_restricted(properties.permissions),
        multicast=properties.multicast,
        arrived=queue.totals[Total.ARRIVED],
        received=queue.totals[Total.RECEIVED],
        expired=queue.totals[Total.EXPIRED],
        rejected=queue.totals[Total.REJECTED],
        moved=queue.totals[Total.MOVED],
        aborted=queue.totals[Total.ABORTED],
    )


def queue_infos(core: Core, *, everything: bool) -> list[QueueInfo]:
    """All queues that people made, by name, or really all that there is to see."""
    found, _ = queue_page(core, everything=everything, after=BEFORE_ALL, count=maxsize)
    return by_name(found)


def queue_page(
    core: Core, *, everything: bool, after: int, count: int
) -> tuple[list[QueueInfo], int | None]:
    """Some of these, in the order they were made, and after which to go on; None at the end.

    `count` queues are looked at, so that no page takes long, however few of them can be seen.
    """
    numbers = sorted(core.queues.by_number)
    first = bisect_right(numbers, after)
    page = [core.queues.by_number[number] for number in numbers[first : first + count]]
    found = [
        queue_info(queue, core)
        for owner in page
        for queue in (owner, owner.journal)
        if queue is not None and (_is_made(queue) or (everything and _is_worth_seeing(queue)))
    ]
    return found, page[-1].number if first + count < len(numbers) else None


def _is_made(queue: ManagedQueue) -> bool:
    """People made it."""
    return queue.kind in VISIBLE and not queue.deleted


def _is_worth_seeing(queue: ManagedQueue) -> bool:
    if queue.deleted or queue.number in HIDDEN:
        return False
    if queue.kind in (QueueKind.UNCONFIRMED, QueueKind.RESERVED):
        return False  # reported with the outgoing queue or the subscription it belongs to
    return queue.kind is not QueueKind.JOURNAL or bool(queue.messages or queue.express)


def path_name(queue: ManagedQueue) -> str:
    """What people call a queue."""
    return queue.name if queue.kind in _BY_FORMAT_NAME else shown(queue.name)


def _state(queue: ManagedQueue) -> str:
    """Active exactly when it is open ([MS-MQDMPR] 3.1.1.2)."""
    if queue.transfer is not None:
        return str(queue.transfer.state)
    return "active" if queue.modes else "inactive"


def _format_name(queue: ManagedQueue, core: Core) -> str:
    if queue.kind in _BY_FORMAT_NAME:
        return queue.name
    if queue.kind is QueueKind.PRIVATE:
        return f"PRIVATE={core.identity}\\{queue.number:08x}"
    return f"DIRECT=OS:.\\{queue.name}"


def _limit(quota: int) -> int | None:
    return None if quota == NO_QUOTA else quota
