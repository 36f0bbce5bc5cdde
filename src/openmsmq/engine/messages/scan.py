"""Finding readable messages, taking them, and waiting for them ([MS-MQDMPR] 3.1.7.3)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import accumulate, chain, islice, repeat, takewhile
from typing import Final

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, Parts, RunSlice, is_worth_it
from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    Owed,
    Record,
    flags_of,
    index_key,
    packet_key,
    packet_keys,
    packet_place,
    place_and_expiry,
    split_lookups,
)
from openmsmq.engine.storage.record_columns import columns_of, read_together
from openmsmq.engine.storage.runs import (
    Found,
    first_arrival,
    has_runs,
    is_member,
    members_of,
    plain_after,
    read_blob,
    read_members,
    runs_after,
    stored,
    stored_back,
)
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK, LOOKUP_MAX

NO_LIMIT: Final = sys.maxsize

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_COLUMNS_FROM: Final = 8
"Messages from which on it pays to look at their records together."


def readable(
    snapshot: Snapshot, queue: ManagedQueue, after: int, overdue: int = 0
) -> Iterator[Found]:
    """Messages above lookup identifier `after` that any reader may take, in order of the queue.

    (Seek Available Message Position, [MS-MQDMPR] 3.1.7.3.2.) Messages that expire before
    `overdue` have expired and wait to be removed.
    """
    for item in readable_parts(snapshot, queue, after, overdue):
        if isinstance(item, RunSlice):
            yield from item.found()
        else:
            yield item


def readable_parts(
    snapshot: Snapshot, queue: ManagedQueue, after: int, overdue: int = 0
) -> Iterator[Found | RunSlice]:
    """The same, with messages of a run that lie together as a slice, without its packets.

    While a purge is under way they come one by one, since it may spare some of a run.
    """
    if queue.has_purged:
        yield from _available(queue, _present(snapshot, queue, after), overdue)
        return
    for first, last in queue.parts_after(after):
        yield from _parts_between(snapshot, queue, first, last, overdue)


def _parts_between(
    snapshot: Snapshot, queue: ManagedQueue, after: int, last: int, overdue: int
) -> Iterator[Found | RunSlice]:
    """Those above `after`, without a look at those behind `last`."""
    if after >= LOOKUP_MAX:
        return
    others = plain_after(snapshot, queue.number, after)
    if queue.express:
        others = merge(others, _express(queue.express.after(after)))
    if last < LOOKUP_MAX:
        others = takewhile(lambda item: item[0] <= last, others)
    if len(queue.holds) or overdue:
        others = _available(queue, others, overdue)
    other = next(others, None)
    for piece in _slices_between(snapshot, queue, after, last, overdue):
        while other is not None and other[0] < piece.first:
            yield other
            other = next(others, None)
        yield piece
    if other is not None:
        yield other
        yield from others


def _slices_between(
    snapshot: Snapshot, queue: ManagedQueue, after: int, last: int, overdue: int
) -> Iterator[RunSlice]:
    """Slices of runs above `after`, cut behind `last`: the rest comes with the next part."""
    for run in runs_after(snapshot, queue.number, after):
        if run.first > last:
            return
        if run.record.expires < overdue:
            continue
        held = queue.holds.held_bits(run.first, run.count)
        for first, end in run.pieces(after, held):
            if first <= last:
                yield RunSlice(run, first, min(end, last + 1))


def _present(snapshot: Snapshot, queue: ManagedQueue, after: int) -> Iterator[Found]:
    """All messages above lookup identifier `after`, and above the part that is held in one go."""
    parts = queue.parts_after(after)
    if len(parts) == 1:
        return _all(snapshot, queue, parts[0][0])
    (after, last), (behind, _) = parts
    front = takewhile(lambda item: item[0] <= last, _all(snapshot, queue, after))
    return chain(front, _all(snapshot, queue, behind))


def _all(snapshot: Snapshot, queue: ManagedQueue, after: int) -> Iterator[Found]:
    """All messages above lookup identifier `after`."""
    if after >= LOOKUP_MAX:
        return iter(())
    found = stored(snapshot, queue.number, after)
    if queue.express:
        found = merge(found, _express(queue.express.after(after)))
    return found


def readable_back(
    snapshot: Snapshot, queue: ManagedQueue, before: int, overdue: int = 0
) -> Iterator[Found]:
    """The same below lookup identifier `before`, in falling order."""
    rows = stored_back(snapshot, queue.number, before)
    found = merge(rows, _express(queue.express.before(before)), reverse=True)
    yield from _available(queue, found, overdue)


def last_fitting(
    snapshot: Snapshot,
    queue: ManagedQueue,
    count: int,
    before: int,
    overdue: int,
    size_max: int = NO_LIMIT,
) -> list[Found]:
    """Up to `count` of them, and no more than `size_max` bytes unless it is a single one."""
    found: list[Found] = []
    for item in islice(readable_back(snapshot, queue, before, overdue), count):
        size_max -= packet_place(item[1])[1]
        if found and size_max < 0:
            break
        found.append(item)
    return found


def _available(queue: ManagedQueue, found: Iterator[Found], overdue: int) -> Iterator[Found]:
    """What is neither held nor purged nor expired."""
    is_held = queue.holds.is_held
    free = (item for item in found if not is_held(item[0]))
    if not queue.has_purged and not overdue:
        return free
    return (item for item in free if not _is_leaving(queue, item, overdue))


def _is_leaving(queue: ManagedQueue, item: Found, overdue: int) -> bool:
    """Whether a message is purged or expired, and only its removal is not committed yet."""
    lookup, raw, _ = item
    return queue.is_purged(lookup) or (bool(overdue) and place_and_expiry(raw)[2] < overdue)


def first_sendable(
    snapshot: Snapshot, queue: ManagedQueue, count: int, overdue: int
) -> list[Found]:
    """Up to `count` messages of an outgoing queue that may be sent now.

    A transactional message that is leaving holds back those behind it until its removal is
    committed. Sent before, they would move the receiver past its number; if a crash undid the
    removal, the message would be sent again, and the receiver would take it for a duplicate.
    """
    if not overdue and not queue.has_purged:
        if not queue.express:
            return _first_stored(snapshot, queue, count)
        return first_readable(snapshot, queue, count)
    found: list[Found] = []
    for item in _present(snapshot, queue, 0):
        if len(found) == count:
            break
        if queue.holds.is_held(item[0]):
            continue
        if not _is_leaving(queue, item, overdue):
            found.append(item)
        elif flags_of(item[1]) & _TRANSACTIONAL:
            break
    return found


def _first_stored(snapshot: Snapshot, queue: ManagedQueue, count: int) -> list[Found]:
    """The first messages of an outgoing queue that are free."""
    if has_runs(snapshot, queue.number):
        return first_readable(snapshot, queue, count)
    found: list[Found] = []
    for after, last in queue.parts_after(0):
        first, end = index_key(queue.number, after) + b"\0", index_key(queue.number, last) + b"\0"
        while (wanted := count - len(found)) > 0:
            rows = snapshot.rows(Table.INDEX, first, end, wanted)
            if not rows:
                break
            keys, raws = zip(*rows, strict=True)
            lookups = split_lookups(keys)
            some: Iterable[Found] = zip(lookups, raws, repeat(False), strict=False)
            if queue.holds.may_hold(lookups):
                is_held = queue.holds.is_held
                some = [item for item in some if not is_held(item[0])]
            found += some
            first = keys[-1] + b"\0"
            if len(rows) < wanted:
                break
    return found


def _express(entries: Iterator[Entry]) -> Iterator[Found]:
    for entry in entries:
        yield entry.lookup, entry.record, True


def fetch(snapshot: Snapshot, queue: ManagedQueue, found: list[Found]) -> list[Entry]:
    """The packets of messages that were found, as they were sent ([MS-MQDMPR] 3.1.1.12)."""
    members = members_of(found)
    if members:
        return _fetch_members(snapshot, queue, found, members)
    if len(found) < _COLUMNS_FROM:
        return [_fetch_one(snapshot, queue, item) for item in found]
    lookups, raws, express = zip(*found, strict=True)
    columns = columns_of(raws)
    if True in express or max(columns.sizes) > CHUNK_SIZE:
        return [_fetch_one(snapshot, queue, item) for item in found]
    if columns.lie_together:
        packets = read_together(snapshot, columns)
    else:
        packets = snapshot.get_many(Table.PACKETS, [packet_key(at, 0) for at in columns.packets])
    new = tuple.__new__  # saves 0.2 µs
    return [new(Entry, item) for item in zip(lookups, raws, packets, express, strict=True)]


def _fetch_members(
    snapshot: Snapshot, queue: ManagedQueue, found: list[Found], members: list[bytes]
) -> list[Entry]:
    """The same if some are messages of runs, of which these are the records."""
    packets, new = read_members(snapshot, members), tuple.__new__
    if len(members) == len(found):
        return [
            new(Entry, (lookup, raw, packet, False))
            for (lookup, raw, _), packet in zip(found, packets, strict=True)
        ]
    following = iter(packets)
    return [
        Entry(item[0], item[1], next(following))
        if is_member(item[1])
        else _fetch_one(snapshot, queue, item)
        for item in found
    ]


def _fetch_one(snapshot: Snapshot, queue: ManagedQueue, item: Found) -> Entry:
    lookup, raw, express = item
    if express:
        return queue.express[lookup]
    number, size = packet_place(raw)
    packet = b"".join(snapshot.get_many(Table.PACKETS, packet_keys(number, size)))
    return Entry(lookup, raw, packet)


def first_readable(
    snapshot: Snapshot, queue: ManagedQueue, count: int, after: int = 0, overdue: int = 0
) -> list[Found]:
    """Up to `count` readable messages above `after`."""
    return list(islice(readable(snapshot, queue, after, overdue), count))


def first_fitting(
    snapshot: Snapshot, queue: ManagedQueue, count: int, after: int, overdue: int, size_max: int
) -> list[Found | RunSlice]:
    """The same, with those of runs as slices, and `size_max` bytes together; at least one."""
    found: list[Found | RunSlice] = []
    for item in readable_parts(snapshot, queue, after, overdue):
        if isinstance(item, RunSlice):
            whole = item
            if len(item) > count:
                item = item.part(item.first, item.first + count)
            if item.size > size_max:
                fitting = item.up_to(size_max)
                item = fitting if found or len(fitting) else item.part(item.first, item.first + 1)
            if len(item):
                found.append(item)
            count -= len(item)
            size_max -= item.size
            if len(item) < len(whole):
                break
        else:
            size = packet_place(item[1])[1]
            if found and size > size_max:
                break
            found.append(item)
            count -= 1
            size_max -= size
        if not count:
            break
    return found


def up_to(found: list[Found], size_max: int) -> list[Found]:
    """The first of the messages found that fit into a number of bytes; at least one."""
    sizes = columns_of([raw for _, raw, _ in found]).sizes
    if sum(sizes) <= size_max:
        return found
    fitting = sum(total <= size_max for total in accumulate(sizes))
    return found[: max(fitting, 1)]


def fetch_parts(
    snapshot: Snapshot, queue: ManagedQueue, found: list[Found | RunSlice]
) -> list[Part]:
    """The packets of messages that were found, those of runs as slices."""
    parts: list[Part] = []
    single: list[Found] = []
    for item in found:
        if not isinstance(item, RunSlice):
            single.append(item)
            continue
        if single:
            parts += fetch(snapshot, queue, single)
            single = []
        number = item.run.record.packet_number
        whole = item.with_packets(read_blob(snapshot, number, item.start, item.stop))
        if is_worth_it(whole):
            parts.append(whole)
        else:
            parts += whole.entries()
    if single:
        parts += fetch(snapshot, queue, single)
    return parts


def hold(queue: ManagedQueue, parts: Parts, holder: Holder, *, from_start: bool) -> None:
    """Make messages unreadable for everybody but `holder`.

    `from_start` says that they are the first readable ones: nothing up to the last of them is
    readable any longer, and no scan needs to look there again.
    """
    entries: list[Entry] = []
    for part in parts:
        if isinstance(part, RunSlice):
            queue.holds.hold_slice(part, holder)
        else:
            entries.append(part)
    if holder.keeps_entries:
        queue.holds.hold_read(entries, holder)
    else:
        queue.holds.hold([entry.lookup for entry in entries], holder)
    if from_start and parts:
        last = parts[-1]
        queue.start = last.end - 1 if isinstance(last, RunSlice) else last.lookup


def oldest(snapshot: Snapshot, queue: ManagedQueue) -> int | None:
    """When the message arrived that is in a queue for the longest time."""
    found = [Record.unpack(entry.record).arrived_time for entry in queue.express.firsts()]
    for priority in range(PRIORITY_MAX + 1):
        first = priority << ARRIVAL_BITS
        arrived = first_arrival(snapshot, queue.number, first, first | ARRIVAL_MASK)
        if arrived is not None:
            found.append(arrived)
    return min(found, default=None)
