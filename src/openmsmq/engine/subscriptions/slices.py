"""Reserved messages in slices: read together, without a step for each where they are alike.

Rows of one size lie behind one another in memory, so that a field of all of them is every nth word.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    RECORD_SIZE,
    Owed,
    local_facts,
    packet_keys,
    packet_place,
)
from openmsmq.engine.storage.runs import read_blob
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.engine.subscriptions.owners import check_owner
from openmsmq.engine.subscriptions.parts import reserved_parts
from openmsmq.engine.subscriptions.rows import TAIL_SIZE, place_of
from openmsmq.engine.subscriptions.subscription import DurableSubscription
from openmsmq.errors import InvalidParameter, QueueNotFound

STEP: Final = 1000
"Rows that are looked at together."
_ROW: Final = RECORD_SIZE + TAIL_SIZE
_WORDS: Final = _ROW // 4
assert _ROW % 4 == 0
_SIZE, _ARRIVED, _ABORTS, _MOVES, _CLASS, _LOOKUP = 2, 3, 5, 6, 8, 9
"Words of a row; the second word of a lookup identifier follows the first."
_PLAIN: Final = (0, Owed.TRANSACTIONAL.value)
"What is owed for messages behind whose packets there is nothing."
_KEY: Final = 10
_packet_size: Final = Struct("<8xI").unpack_from


class ReservedSlice(NamedTuple):
    """Messages with consecutive lookup identifiers, of which the queue knows the same."""

    lookup: int
    arrived: int
    abort_count: int
    move_count: int
    message_class: int
    messages: int
    packets: bytes


def check_read(subscription: DurableSubscription, after: int, last: int, owner: str) -> None:
    """Refuse to read what is not there, or not for this reader."""
    if subscription.is_over:
        raise QueueNotFound(f"the subscription {subscription.name} was dropped")
    check_owner(subscription, owner)
    check_place(subscription, after, last)


def check_place(subscription: DurableSubscription, after: int, last: int) -> None:
    """Refuse positions that are committed, or not reserved."""
    if not subscription.committed <= after <= last <= subscription.reserved:
        raise InvalidParameter(
            f"subscription {subscription.name} has positions {subscription.committed} to"
            f" {subscription.reserved}, not {after} to {last}"
        )


def read_slices(
    snapshot: Snapshot,
    subscription: DurableSubscription,
    after: int,
    last: int,
    size_max: int,
    owner: str = "",
) -> list[ReservedSlice]:
    """Reserved messages after one position up to another; at least one of them."""
    check_read(subscription, after, last, owner)
    found: list[ReservedSlice] = []
    rows: list[bytes] = []
    for part in reserved_parts(snapshot, subscription.store, after, last):
        if not isinstance(part, RunSlice):
            rows.append(part[1])
            if len(rows) == STEP and (size_max := _add(snapshot, found, rows, size_max)) < 0:
                return found
            continue
        if (size_max := _add(snapshot, found, rows, size_max)) < 0:
            return found
        fitting = part if part.size <= size_max else part.up_to(size_max)
        if not (len(fitting) or found):
            fitting = part.part(part.first, part.first + 1)
        if len(fitting):
            found.append(_run_slice(snapshot, fitting))
        size_max -= fitting.size
        if len(fitting) < len(part):
            return found
    _add(snapshot, found, rows, size_max)
    return found


def _add(snapshot: Snapshot, found: list[ReservedSlice], rows: list[bytes], size_max: int) -> int:
    """Add messages with rows of their own, which are then forgotten; how much room is left.

    Less than nothing, if some did not fit.
    """
    sizes = _sizes(rows)
    left = size_max - sum(sizes)
    if left < 0:
        fitting = sum(total <= size_max for total in accumulate(sizes))
        rows = rows[: fitting if found else max(fitting, 1)]
        found += _slices(snapshot, rows)
        return left
    found += _slices(snapshot, rows)
    rows.clear()
    return left


def _run_slice(snapshot: Snapshot, part: RunSlice) -> ReservedSlice:
    record = part.run.record
    return ReservedSlice(
        part.as_it_stood().first,
        record.arrived_time,
        record.abort_count,
        record.move_count,
        record.message_class,
        len(part),
        read_blob(snapshot, record.packet_number, part.start, part.stop),
    )


def _slices(snapshot: Snapshot, raws: Sequence[bytes]) -> Iterator[ReservedSlice]:
    """Messages in slices, as long as they are alike."""
    at = 0
    while at < len(raws):
        count = _alike(raws[at : at + STEP])
        part = raws[at : at + count]
        packets = _packets(snapshot, part)
        at += count
        if packets is not None:
            yield _slice(part[0], count, b"".join(packets))
            continue
        for raw in part:
            keys = packet_keys(*packet_place(raw))
            yield _slice(raw, 1, b"".join(snapshot.get_many(Table.PACKETS, keys)))


def _sizes(raws: Sequence[bytes]) -> list[int]:
    """The bytes of the packets of messages."""
    joined = b"".join(raws)
    if len(joined) != _ROW * len(raws) or len({len(raw) for raw in raws}) > 1:
        return [packet_place(raw)[1] for raw in raws]
    return memoryview(joined).cast("I")[_SIZE::_WORDS].tolist()


def _slice(first: bytes, count: int, packets: bytes) -> ReservedSlice:
    arrived, aborts, moves, reason = local_facts(first)
    lookup = place_of(first)[0]
    return ReservedSlice(lookup, arrived, aborts, moves, reason, count, packets)


def _alike(raws: Sequence[bytes]) -> int:
    """How many of the first messages can be in one slice."""
    joined = b"".join(raws)
    if len(joined) != _ROW * len(raws) or any([len(raw) != _ROW for raw in raws]):
        return 1
    words = memoryview(joined).cast("I")
    if words[_CLASS] >> 16 not in _PLAIN:
        return 1
    count = len(raws)
    for place in (_ARRIVED, _ABORTS, _MOVES, _CLASS, _LOOKUP + 1):
        count = _equal(words, place, words[place], count)
    low = words[_LOOKUP]
    wanted = array("I", range(low, min(low + count, 1 << 32)))
    found = array("I", words[_LOOKUP::_WORDS].tobytes())[:count]
    if found == wanted:
        return count
    pairs = enumerate(zip(found, wanted, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(wanted))


def _equal(words: memoryview, place: int, value: int, count: int) -> int:
    """In how many of the first rows a word is the same."""
    found = words[place::_WORDS][:count].tobytes()
    if found == value.to_bytes(4, "little") * count:
        return count
    return next(at for at, one in enumerate(array("I", found)) if one != value)


def _packets(snapshot: Snapshot, raws: Sequence[bytes]) -> list[bytes] | None:
    """The packets of messages; None if it would not be known where each of them ends."""
    joined = b"".join(raws)
    sizes = _sizes(raws)
    if len(raws) == 1 or max(sizes) > CHUNK_SIZE:
        return None
    keys = bytearray(_KEY * len(raws))
    for place in range(8):  # numbers of packets, the other way round
        keys[place::_KEY] = joined[7 - place :: _ROW]
    each = bytes(keys)
    places = [each[at : at + _KEY] for at in range(0, len(each), _KEY)]
    packets = snapshot.get_many(Table.PACKETS, places)
    return packets if [_packet_size(packet)[0] for packet in packets] == sizes else None
