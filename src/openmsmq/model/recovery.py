"""Starting on a store: what is there, what a crash left half done ([MS-MQDMPR] 3.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final
from uuid import UUID

from openmsmq.model.committing import Batch, Numbers
from openmsmq.model.layout import (
    COUNTERS_ROW,
    DELETED_ROW,
    PROPERTIES_ROW,
    PURGED_ROW,
    queue_key,
    split_packet_key,
    unpack_counters,
)
from openmsmq.model.queue import Queue, QueueProperties
from openmsmq.model.storage import Snapshot, Store, Table
from openmsmq.model.transaction import Transaction, load_transactions

IDENTITY_KEY: Final = b"identity"
ARRIVAL_KEY: Final = b"arrival"
MESSAGE_ID_KEY: Final = b"message-id"
QUEUE_NUMBER_KEY: Final = b"queue-number"
ARRIVAL_BLOCK: Final = 1 << 32
"Arrival numbers reserved at each start; 56 bits allow sixteen million starts."
MESSAGE_ID_BLOCK: Final = 1 << 16
FIRST_QUEUE_NUMBER: Final = 0x10
"Lower numbers are for built-in queues ([MS-MQQB] 2.2.4)."
_u64 = Struct("<Q")
_queue_key = Struct(">IB")


@dataclass(slots=True)
class Loaded:
    """What a store holds when it is opened."""

    identity: UUID
    numbers: Numbers
    queues: dict[int, Queue]
    prepared: list[Transaction]
    emptying: list[Queue]
    "Deleted queues with messages still to be removed."
    next_queue: int
    "The number of the next queue to be created."


def load(store: Store, new_identity: UUID) -> Loaded:
    """Read what the store holds and finish what a crash interrupted.

    Internal transactions that were open are aborted ([MS-MQDMPR] 3.1.3), so are external ones that
    were not prepared (A-11). A message taken by a reader that is gone is readable again (A-37).
    Numbers continue behind all that may have been used.
    """
    snapshot = store.snapshot
    queues, emptying = _load_queues(snapshot)
    prepared, abandoned = load_transactions(snapshot, queues)
    arrival = _number(snapshot, ARRIVAL_KEY)
    message_id = _number(snapshot, MESSAGE_ID_KEY)
    numbers = Numbers(
        packet=_next_packet(snapshot),
        arrival=arrival,
        arrival_end=arrival + ARRIVAL_BLOCK,
        message_id=message_id,
        message_id_end=message_id + MESSAGE_ID_BLOCK,
    )
    raw = snapshot.get(Table.META, IDENTITY_KEY)
    identity = new_identity if raw is None else UUID(bytes=raw)
    writer = store.begin()
    try:
        writer.put(Table.META, IDENTITY_KEY, identity.bytes)
        writer.put(Table.META, ARRIVAL_KEY, pack_number(numbers.arrival_end))
        writer.put(Table.META, MESSAGE_ID_KEY, pack_number(numbers.message_id_end))
        batch = Batch(writer, numbers)
        for transaction in abandoned:
            transaction.abort(batch)
        batch.write()
    except BaseException:
        store.abort()
        raise
    store.commit()
    store.refresh()
    next_queue = max(FIRST_QUEUE_NUMBER, _number(store.snapshot, QUEUE_NUMBER_KEY))
    return Loaded(identity, numbers, queues, prepared, emptying, next_queue)


def pack_number(number: int) -> bytes:
    """A number as META rows hold it."""
    return _u64.pack(number)


def _load_queues(snapshot: Snapshot) -> tuple[dict[int, Queue], list[Queue]]:
    """The queues, and those that were deleted but not emptied."""
    found: dict[int, Queue] = {}
    for key, row in snapshot.scan(Table.QUEUES, queue_key(0), b"\xff" * 5):
        number, kind = _queue_key.unpack(key)
        if kind == PROPERTIES_ROW:
            found[number] = Queue(number, QueueProperties.from_row(row))
        elif kind == COUNTERS_ROW:
            found[number].messages, found[number].size = unpack_counters(row)
        elif kind == PURGED_ROW:
            found[number].purge_mark = found[number].purged_to = _u64.unpack(row)[0]
        elif kind == DELETED_ROW:
            found[number] = Queue(number, QueueProperties.from_row(row), deleted=True)
    emptying = [found.pop(queue.number) for queue in list(found.values()) if queue.deleted]
    return found, emptying


def _number(snapshot: Snapshot, key: bytes) -> int:
    raw = snapshot.get(Table.META, key)
    return 0 if raw is None else int(_u64.unpack(raw)[0])


def _next_packet(snapshot: Snapshot) -> int:
    for key, _ in snapshot.scan_back(Table.PACKETS, b"", b"\xff" * 10):
        return int(split_packet_key(key)[0]) + 1
    return 1
