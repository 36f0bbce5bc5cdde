"""Runs: messages that came together and are stored as one row and one blob.

A run is 4 to 1,000 messages of one queue with equal priority, end of life and flags, consecutive
lookup identifiers and consecutive message identifiers of one source. Its blob is the concatenation
of their packets, in chunks like a packet. Its row says how many there are, where each begins, and
which are gone. A message that changes by itself is taken out of its run first: its bit is set in
the commit that writes a row of its own in the index. One blob has exactly one row.

Readers see a message of a run as a record like any other, which is marked (`MEMBER`), names the
blob in place of the packet, and has the offset there in place of the time of the last move: a
message of a run was never moved.

A run that is given to a subscription as a whole only gets another key: its messages are found by
their positions there, and the row says where they stood in their queue, as the row of a single
message does (`reserved_tail`). There nothing expires, and the row still says when it would.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from struct import Struct
from typing import Final

from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    NEVER,
    RECORD_SIZE,
    RUN_BIT,
    START_SIZE,
    Record,
    expiry_key,
    index_key,
    local_facts,
    pack_record,
    packet_key,
    packet_keys,
    packet_place,
    split_index_key,
)
from openmsmq.engine.storage.limits import RUN_COUNT_MAX, RUN_SIZE_MAX
from openmsmq.engine.storage.tables import Snapshot, Table

COUNT_MIN: Final = 4
"Messages below which a row for each takes less."
SPARSE: Final = 4
"A run takes too much room when one message of this many is left."
MEMBER: Final = 1 << 15
"Set in the flags of a record while it is in memory: the message is part of a run."

Found = tuple[int, bytes, bool]
"Lookup identifier, record, and whether it is an express message."

_shape = Struct("<HIH")
"Messages, bytes of each if they are equal, and how many of the first are gone."
_RESERVED: Final = 1 << 15
"Set in the number of messages if the lookup identifier follows that the first one had."
_lookup = Struct("<Q")
reserved_tail: Final = Struct("<QI")
"""What follows the record of a message that was given to a subscription: its lookup identifier and
when it expires."""
_place = Struct("<QI16xI").unpack_from
"Of the record of a member: blob, size and offset."
_offset = Struct("<I").pack
_number = Struct("<Q").pack
_NOT_MOVED: Final = bytes(4)
_MARK: Final = 35
"The byte of a record with the mark."
_MARKED: Final = MEMBER >> 8
_BEFORE_OFFSET: Final = 28
_AFTER_OFFSET: Final = 32
_SPARE: Final = 64 * 1024
"Bytes between members that may be read in vain."


class MessageRun:
    """One run; changes are written by its batch."""

    __slots__ = ("_ends", "count", "first", "gone", "queue", "record", "stood", "stride")

    def __init__(self, queue: int, first: int, record: Record, sizes: Sequence[int]) -> None:
        self.queue = queue
        self.first = first
        "The lookup identifier of the first message."
        self.stood = 0
        "The one that it had in its queue, if a subscription was given the run."
        self.record = record
        "What all have in common; packet and size are those of the blob."
        self.count = len(sizes)
        self.gone = 0
        "A bit for each message that is not in the run any longer."
        self.stride = sizes[0] if sizes.count(sizes[0]) == len(sizes) else 0
        "Bytes of each message; 0 if they differ."
        self._ends = None if self.stride else array("I", accumulate(sizes))

    @classmethod
    def unpack(cls, key: bytes, row: bytes) -> MessageRun:
        """The run that is stored so; `ValueError` if it cannot be one."""
        run = cls.__new__(cls)
        run.queue, run.first = split_index_key(key)
        run.record = Record.unpack(row[:RECORD_SIZE])
        count, run.stride, done = _shape.unpack_from(row, RECORD_SIZE)
        at, ends = RECORD_SIZE + _shape.size, None
        run.count, run.stood = count & ~_RESERVED, 0
        if count & _RESERVED:
            (run.stood,) = _lookup.unpack_from(row, at)
            at += _lookup.size
        if not run.stride:
            ends = array("I")
            ends.frombytes(row[at : at + 4 * run.count])
            at += 4 * run.count
        run._ends = ends
        run.gone = int.from_bytes(row[at:], "little") << done | (1 << done) - 1
        if run.offset(run.count) != run.record.size or run.gone >> run.count or not run.left:
            raise ValueError("a run that cannot be")
        return run

    @property
    def key(self) -> bytes:
        """The key of its row."""
        return index_key(self.queue, self.first)

    @property
    def expiry_key(self) -> bytes | None:
        """The key of the row that says when all of them expire; None if they do not.

        What a subscription was given does not, and remembers when it would.
        """
        expires = self.record.expires
        if expires == NEVER or self.stood:
            return None
        return expiry_key(expires, self.queue, self.first | RUN_BIT)

    def pack(self) -> bytes:
        """The value of its row."""
        done = _trailing_ones(self.gone)
        holes = self.gone >> done
        ends = b"" if self._ends is None else self._ends.tobytes()
        count = self.count | _RESERVED if self.stood else self.count
        shape = _shape.pack(count, self.stride, done)
        stood = _lookup.pack(self.stood) if self.stood else b""
        bits = holes.to_bytes((holes.bit_length() + 7) // 8, "little")
        return b"".join((self.record.pack(), shape, stood, ends, bits))

    def given(self, queue: int, first: int) -> MessageRun:
        """The same for a subscription, all of it, whose messages are in another place there."""
        run = self.placed(queue, first, self.record)
        run.stood = self.first
        return run

    def placed(self, queue: int, first: int, record: Record) -> MessageRun:
        """The same in another queue, all of it."""
        run = MessageRun.__new__(MessageRun)
        run.queue, run.first, run.stood = queue, first, 0
        run.record, run.count, run.gone = record, self.count, self.gone
        run.stride, run._ends = self.stride, self._ends
        return run

    @property
    def end(self) -> int:
        """The lookup identifier behind the last message."""
        return self.first + self.count

    @property
    def left(self) -> int:
        """How many messages are in it."""
        return self.count - self.gone.bit_count()

    @property
    def bytes_left(self) -> int:
        """The bytes of these."""
        places = range(self.count)
        return sum(self.size_of(place) for place in places if not self.gone >> place & 1)

    @property
    def is_sparse(self) -> bool:
        """Whether most of its blob is of no use any longer."""
        return self.left * SPARSE < self.count

    @property
    def packet_keys(self) -> list[bytes]:
        """The keys of the chunks of its blob."""
        return packet_keys(self.record.packet_number, self.record.size)

    def offset(self, place: int) -> int:
        """Where the packet of a message begins in the blob."""
        if self._ends is None:
            return self.stride * place
        return self._ends[place - 1] if place else 0

    def size_of(self, place: int) -> int:
        """The bytes of a packet."""
        return self.stride or self.offset(place + 1) - self.offset(place)

    def member(self, lookup: int) -> bytes | None:
        """The record of one of its messages; None if it is not in it."""
        place = lookup - self.first
        if not 0 <= place < self.count or self.gone >> place & 1:
            return None
        return self._marked(self.size_of(place), self.offset(place)) + self._tail(place)

    def _tail(self, place: int) -> bytes:
        return reserved_tail.pack(self.stood + place, self.record.expires) if self.stood else b""

    def _marked(self, size: int, offset: int) -> bytes:
        number, _, arrived, expires, aborts, moves, _, reason, flags, _ = self.record
        expires = NEVER if self.stood else expires
        return pack_record(
            number, size, arrived, expires, aborts, moves, offset, reason, flags | MEMBER
        )

    def members(self, after: int) -> Iterator[Found]:
        """Its messages above a lookup identifier."""
        gone, first = self.gone, self.first
        start = max(after + 1 - first, _trailing_ones(gone))
        holes = gone >> start
        if not self.stride or self.stood:
            for place in range(start, self.count):
                raw = self.member(first + place)
                if raw is not None:
                    yield first + place, raw, False
            return
        stride = self.stride
        raw = self._marked(stride, 0)
        head, tail = raw[:_BEFORE_OFFSET], raw[_AFTER_OFFSET:]
        for place in range(start, self.count):
            if not holes or not gone >> place & 1:
                yield first + place, head + _offset(place * stride) + tail, False

    def pieces(self, after: int, held: int) -> Iterator[tuple[int, int]]:
        """Where its messages above a lookup identifier lie together: first, and behind the last.

        Those that are gone and those whose bit is set in `held` are left out.
        """
        first = self.first
        start = max(after + 1 - first, 0)
        free = ~(self.gone | held) & (1 << self.count) - 1
        free = free >> start << start
        while free:
            low = (free & -free).bit_length() - 1
            high = low + _trailing_ones(free >> low)
            yield first + low, first + high
            free = free >> high << high

    def members_back(self, before: int) -> Iterator[Found]:
        """Its messages below a lookup identifier, in falling order."""
        for lookup in range(min(before, self.end) - 1, self.first - 1, -1):
            raw = self.member(lookup)
            if raw is not None:
                yield lookup, raw, False

    def missing(self, lookups: Sequence[int]) -> list[int]:
        """Which of these, sorted by lookup identifier, are not in it any longer."""
        first, count = lookups[0] - self.first, lookups[-1] - lookups[0] + 1
        if not self.gone >> first & (1 << count) - 1:
            return []
        return [lookup for lookup in lookups if self.gone >> lookup - self.first & 1]

    def remove(self, lookups: Sequence[int]) -> tuple[int, int, list[int]]:
        """Take messages out, sorted by lookup identifier; those that were gone are the last value.

        The others are how many were taken out and their bytes.
        """
        first, last = lookups[0] - self.first, lookups[-1] - self.first
        count = len(lookups)
        mask = (1 << count) - 1 << first
        if last - first == count - 1 and not mask & self.gone:
            self.gone |= mask
            return count, self.offset(last + 1) - self.offset(first), []
        size, before = 0, []
        for lookup in lookups:
            place = lookup - self.first
            if self.gone >> place & 1:
                before.append(lookup)
            else:
                self.gone |= 1 << place
                size += self.size_of(place)
        return count - len(before), size, before


def _trailing_ones(bits: int) -> int:
    """How many of the lowest bits are set without a gap."""
    return (~bits & bits + 1).bit_length() - 1


def is_member(raw: bytes) -> bool:
    """Whether a record is that of a message in a run."""
    return raw[_MARK] >= _MARKED


def blob_of(raw: bytes) -> int:
    """The number of the blob that a message of a run is in."""
    number: int = _place(raw)[0]
    return number


def plain_record(raw: bytes, number: int) -> bytes:
    """The record of a message that was in a run, now with a packet of its own."""
    last = raw[_MARK] & ~_MARKED
    middle = raw[8:_BEFORE_OFFSET] + _NOT_MOVED + raw[_AFTER_OFFSET:_MARK]
    return b"%b%b%c%b" % (_number(number), middle, last, raw[_MARK + 1 :])


def sizes_of_runs(sizes: Sequence[int]) -> list[int]:
    """How many messages each run gets, of messages that follow each other; 0 if one gets a row."""
    found: list[int] = []
    at = 0
    while at < len(sizes):
        part = sizes[at : at + RUN_COUNT_MAX]
        if sum(part) > RUN_SIZE_MAX:
            part = part[: bisect_left(list(accumulate(part)), RUN_SIZE_MAX + 1)]
        found.append(len(part) if len(part) >= COUNT_MIN else 0)
        at += found[-1] or 1
    return found


# Reading


def find_run(snapshot: Snapshot, queue: int, lookup: int) -> MessageRun | None:
    """The run with this lookup identifier among its own, be the message gone or not."""
    for key, row in snapshot.scan_back(Table.RUNS, index_key(queue, 0), _behind(queue, lookup)):
        run = MessageRun.unpack(key, row)
        return run if lookup < run.end else None
    return None


def record_of(snapshot: Snapshot, queue: int, lookup: int) -> bytes | None:
    """The record of a message, be it in a run or not; None if there is none."""
    raw = snapshot.get(Table.INDEX, index_key(queue, lookup))
    if raw is not None:
        return raw
    run = find_run(snapshot, queue, lookup)
    return None if run is None else run.member(lookup)


def stored(snapshot: Snapshot, queue: int, after: int = 0) -> Iterator[Found]:
    """All messages of a queue above a lookup identifier, those of runs and the others, in order."""
    plain = plain_after(snapshot, queue, after)
    item = next(plain, None)
    for run in runs_after(snapshot, queue, after):
        while item is not None and item[0] < run.first:
            yield item
            item = next(plain, None)
        if item is None or item[0] >= run.end:
            yield from run.members(after)
            continue
        for member in run.members(after):
            while item is not None and item[0] < member[0]:
                yield item
                item = next(plain, None)
            yield member
    if item is not None:
        yield item
        yield from plain


def stored_between(snapshot: Snapshot, queue: int, first: int, end: int) -> Iterator[Found]:
    """The same from one lookup identifier to before another."""
    for item in stored(snapshot, queue, first - 1):
        if item[0] >= end:
            return
        yield item


def stored_back(snapshot: Snapshot, queue: int, before: int) -> Iterator[Found]:
    """The same below a lookup identifier, in falling order."""
    first, end = index_key(queue, 0), index_key(queue, before)
    plain = _plain(snapshot.scan_back(Table.INDEX, first, end))
    item = next(plain, None)
    for key, row in snapshot.scan_back(Table.RUNS, first, end):
        for member in MessageRun.unpack(key, row).members_back(before):
            while item is not None and item[0] > member[0]:
                yield item
                item = next(plain, None)
            yield member
    if item is not None:
        yield item
        yield from plain


def plain_after(snapshot: Snapshot, queue: int, after: int) -> Iterator[Found]:
    """The messages of a queue above a lookup identifier that are in no run."""
    rows = snapshot.scan(Table.INDEX, _behind(queue, after), index_key(queue + 1, 0))
    return _plain(rows)


def _plain(rows: Iterator[tuple[bytes, bytes]]) -> Iterator[Found]:
    for key, raw in rows:
        yield split_index_key(key)[1], raw, False


def runs_after(snapshot: Snapshot, queue: int, after: int) -> Iterator[MessageRun]:
    """The runs with messages above a lookup identifier, perhaps."""
    if after:
        run = find_run(snapshot, queue, after)
        if run is not None:
            yield run
    for key, row in snapshot.scan(Table.RUNS, _behind(queue, after), index_key(queue + 1, 0)):
        yield MessageRun.unpack(key, row)


def has_runs(snapshot: Snapshot, queue: int) -> bool:
    """Whether a queue has runs."""
    rows = snapshot.rows(Table.RUNS, index_key(queue, 0), index_key(queue + 1, 0), 1)
    return bool(rows)


def _behind(queue: int, lookup: int) -> bytes:
    """The first key that may follow that of a message."""
    return index_key(queue, lookup) + b"\0"


def first_arrival(snapshot: Snapshot, queue: int, first: int, last: int) -> int | None:
    """When the first message between two lookup identifiers arrived; None if there is none."""
    for lookup, raw, _ in stored(snapshot, queue, max(first - 1, 0)):
        if lookup > last:
            break
        arrived: int = local_facts(raw)[0]
        return arrived
    return None


def read_packet(snapshot: Snapshot, raw: bytes) -> bytes:
    """The packet of a message, given its record."""
    if is_member(raw):
        number, size, offset = _place(raw)
        return read_blob(snapshot, number, offset, offset + size)
    return b"".join(snapshot.get_many(Table.PACKETS, packet_keys(*packet_place(raw))))


def read_start(snapshot: Snapshot, raw: bytes) -> bytes:
    """Enough of the packet of a message of a run to tell its identifier."""
    number, size, offset = _place(raw)
    return read_blob(snapshot, number, offset, offset + min(size, START_SIZE))


def read_blob(snapshot: Snapshot, number: int, start: int, end: int) -> bytes:
    """Some bytes of a blob."""
    first, last = start // CHUNK_SIZE, (end - 1) // CHUNK_SIZE
    return snapshot.joined(
        Table.PACKETS,
        packet_key(number, first),
        packet_key(number, last),
        last - first + 1,
        start - first * CHUNK_SIZE,
        end - last * CHUNK_SIZE,
    )


def members_of(found: Sequence[Found]) -> list[bytes]:
    """The records of messages in runs among those that were found."""
    return [raw for _, raw, _ in found if raw[_MARK] >= _MARKED]


def split_members(
    messages: Sequence[tuple[int, bytes]],
) -> tuple[list[int], list[tuple[int, bytes]]]:
    """The lookup identifiers of messages in runs, and the other messages with their records."""
    members = [lookup for lookup, raw in messages if raw[_MARK] >= _MARKED]
    if len(members) == len(messages):
        return members, []
    return members, [item for item in messages if item[1][_MARK] < _MARKED]


def is_part_of_run(messages: Sequence[tuple[int, bytes]]) -> bool:
    """Whether messages follow each other in one run, given lookup identifiers and records."""
    (first, one), (last, other) = messages[0], messages[-1]
    return (
        is_member(one)
        and is_member(other)
        and one[:8] == other[:8]
        and [lookup for lookup, _ in messages] == list(range(first, last + 1))
    )


def read_members(snapshot: Snapshot, raws: Sequence[bytes]) -> list[bytes]:
    """The packets of messages of runs, given their records in order."""
    places = [_place(raw) for raw in raws]
    found: list[bytes] = []
    at = 0
    while at < len(places):
        end = _neighbours(places, at)
        number, _, start = places[at]
        _, size, offset = places[end - 1]
        blob = read_blob(snapshot, number, start, offset + size)
        found += [blob[o - start : o - start + s] for _, s, o in places[at:end]]
        at = end
    return found


def _neighbours(places: Sequence[tuple[int, int, int]], at: int) -> int:
    """Up to which place messages lie in one blob without much between them."""
    number, _, start = places[at]
    last, size, offset = places[-1]
    if last == number and offset + size - start == sum([size for _, size, _ in places[at:]]):
        return len(places)
    for place, (one, other) in enumerate(pairwise(places[at:]), at + 1):
        if other[0] != number or other[2] - one[2] - one[1] > _SPARE:
            return place
    return len(places)
