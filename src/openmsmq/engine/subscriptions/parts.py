"""What one commit gives to a subscription or takes from it: whole runs, and messages one by one.

A run that nothing was taken out of only changes its place, however many messages it has. So a
commit has a few of them, or as many single messages as take about as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from openmsmq.engine.messages.scan import readable_parts
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.layout import Owed, packet_place
from openmsmq.engine.storage.runs import Found
from openmsmq.engine.storage.tables import Snapshot

STEP: Final = 1000
"Single messages of one commit."
STEP_SIZE: Final = 8 * 1024 * 1024
"Bytes of one commit, unless it is a single message."
_PLAIN: Final = (Owed.TRANSACTIONAL | Owed.DEAD_LETTER).value
"What may be owed for messages of a run that is given as it is."
StepParts = list[Found | RunSlice]


def takeable(
    snapshot: Snapshot,
    queue: ManagedQueue,
    count: int,
    size_max: int,
    overdue: int,
    *,
    is_first: bool,
) -> StepParts:
    """The first readable messages of a queue: some runs that can be given whole, and others.

    They fit into a number of bytes, but for a single one that is the first.
    """
    return list(
        _step(readable_parts(snapshot, queue, 0, overdue), count, size_max, is_first=is_first)
    )


def _step(
    parts: Iterable[Found | RunSlice], count: int, size_max: int, *, is_first: bool
) -> Iterator[Found | RunSlice]:
    step, singles, is_empty = min(size_max, STEP_SIZE), 0, True
    for part in parts:
        if isinstance(part, RunSlice) and is_whole(part) and len(part) <= count:
            if part.size <= step:
                yield part
                count, step, is_empty = count - len(part), step - part.size, False
                size_max -= part.size
                continue
            if part.size <= size_max and not is_empty:
                return  # it goes with the next commit, whole
        for item in part.found() if isinstance(part, RunSlice) else (part,):
            size = packet_place(item[1])[1]
            may_be_large = is_first and is_empty
            if not count or singles == STEP or (size > step and not may_be_large):
                return
            yield item
            count, step, is_empty = count - 1, step - size, False
            size_max, singles = size_max - size, singles + 1


def is_whole(part: RunSlice) -> bool:
    """Whether it is a run that can be given as it is: all of it, and little is owed for it."""
    run = part.run
    return len(part) == run.count and not run.record.flags & ~_PLAIN


def reserved_parts(
    snapshot: Snapshot, store: ManagedQueue, after: int, last: int
) -> Iterator[Found | RunSlice]:
    """The messages behind one position up to another: slices of runs, and others."""
    for part in readable_parts(snapshot, store, after):
        if not isinstance(part, RunSlice):
            if part[0] > last:
                return
            yield part
        elif part.first > last:
            return
        else:
            yield part if part.end <= last + 1 else part.part(part.first, last + 1)


def reserved_step(snapshot: Snapshot, store: ManagedQueue, after: int, last: int) -> StepParts:
    """Those of one commit."""
    found: StepParts = []
    size = singles = 0
    for part in reserved_parts(snapshot, store, after, last):
        if found and (size >= STEP_SIZE or singles == STEP):
            break
        found.append(part)
        if isinstance(part, RunSlice):
            size += part.size
        else:
            singles += 1
    return found


def one_by_one(parts: Iterable[Found | RunSlice]) -> list[tuple[int, bytes]]:
    """All messages of parts: where they are, and their records."""
    found: list[tuple[int, bytes]] = []
    for part in parts:
        if isinstance(part, RunSlice):
            found += [(place, raw) for place, raw, _ in part.found()]
        else:
            found.append((part[0], part[1]))
    return found


def last_of(parts: StepParts) -> int:
    """Where the last message of parts is."""
    part = parts[-1]
    return part.end - 1 if isinstance(part, RunSlice) else part[0]


def bytes_of(parts: Iterable[Found | RunSlice]) -> int:
    """The bytes of all packets."""
    return sum(
        part.size if isinstance(part, RunSlice) else packet_place(part[1])[1] for part in parts
    )


def fitting(snapshot: Snapshot, store: ManagedQueue, after: int, last: int, size_max: int) -> int:
    """The last position behind one and up to another whose messages fit into a number of bytes.

    The first of them may have more.
    """
    at, size = after, 0
    for part in reserved_parts(snapshot, store, after, last):
        if isinstance(part, RunSlice):
            some = part if size + part.size <= size_max else part.up_to(size_max - size)
            if not len(some) and at == after:
                some = part.part(part.first, part.first + 1)
            at, size = at + len(some), size + some.size
            if len(some) < len(part):
                break
        else:
            size += packet_place(part[1])[1]
            if size > size_max and at > after:
                break
            at += 1
    return at
