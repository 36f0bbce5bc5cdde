"""Starting on a store: what is there, what a crash left half done ([MS-MQDMPR] 3.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct, pack, unpack
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.incoming import INCOMING, RESTORED_KEY, IncomingSequence
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.number_reservation import (
    ARRIVAL_BLOCK,
    ARRIVAL_KEY,
    MESSAGE_ID_BLOCK,
    MESSAGE_ID_KEY,
    pack_number,
    unpack_number,
)
from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.commit.queue_counts import QUEUE_NUMBER_KEY
from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.commit.timeline import Timeline
from openmsmq.engine.outgoing.sequence_numbers import SequenceNumbers, load_sequences
from openmsmq.engine.queues.queue import (
    ManagedQueue,
    QueueProperties,
    delayed_of,
    derive,
    journal_of,
)
from openmsmq.engine.queues.system import FIRST_QUEUE_NUMBER, system_queues
from openmsmq.engine.storage.history import History
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    DELAYED_BIT,
    DELETED_ROW,
    JOURNAL_BIT,
    PROPERTIES_ROW,
    PURGED_ROW,
    queue_key,
    split_packet_key,
    unpack_counters,
    unpack_totals,
)
from openmsmq.engine.storage.limits import STARTS_MAX
from openmsmq.engine.storage.settings import load_settings
from openmsmq.engine.storage.tables import Snapshot, Store, Table, Writer
from openmsmq.engine.transactions.transaction import ManagedTransaction, load_transactions
from openmsmq.names.parts import fold
from openmsmq.types.queues import QueueKind
from openmsmq.types.settings import Settings

IDENTITY_KEY: Final = b"identity"
RESTORING_KEY: Final = b"restoring"
"META row: the store was put back from a backup and has not been opened since."
STARTS_KEY: Final = b"starts"
BLOCKS_SKIPPED: Final = 1024
"""Blocks of numbers that a restored store does not use: the original may have gone on with them.

Each start of a manager takes one.
"""
QUEUES_SKIPPED: Final = 1024
"Queues that may have been created since the backup was made."
_queue_key = Struct(">IB")


@dataclass(slots=True)
class Loaded:
    """What a store holds when it is opened."""

    identity: UUID
    numbers: Numbers
    settings: Settings
    history: History
    statistics: Statistics
    timeline: Timeline
    starts: list[int]
    queues: dict[int, ManagedQueue]
    prepared: list[ManagedTransaction]
    emptying: list[ManagedQueue]
    "Deleted queues with messages still to be removed."


def load(
    store: Store, new_identity: UUID, now: int, *, entropy: bytes = b"", restored: bool = False
) -> Loaded:
    """Read what the store holds and finish what a crash interrupted.

    Internal transactions that were open are aborted ([MS-MQDMPR] 3.1.3), so are external ones that
    were not prepared (A-11). A message taken by a reader that is gone is readable again (A-37).
    Numbers continue behind all that may have been used. System queues are made if they are missing
    (A-46).
    """
    snapshot = store.snapshot
    settings = load_settings(snapshot)
    history = History(snapshot, settings.history << 20)
    statistics = Statistics(snapshot)
    raw = snapshot.get(Table.META, IDENTITY_KEY)
    identity = new_identity if raw is None else UUID(bytes=raw)
    queues, emptying = _load_queues(snapshot)
    missing = {n: p for n, p in system_queues(identity, now).items() if n not in queues}
    made = {number: ManagedQueue(number, properties) for number, properties in missing.items()}
    queues = made | queues  # a name that people gave to a queue before goes on to mean that one
    prepared, abandoned = load_transactions(snapshot, queues)
    numbers = _load_numbers(snapshot, entropy)
    load_sequences(snapshot, queues, numbers.sequences)
    starts = [*_load_starts(snapshot), now][-STARTS_MAX:]
    writer = store.begin()
    try:
        if restored or writer.get(Table.META, RESTORING_KEY) is not None:
            start_over(writer, numbers, now, now - max(starts[:-1], default=now), entropy)
        writer.put(Table.META, IDENTITY_KEY, identity.bytes)
        writer.put(Table.META, ARRIVAL_KEY, pack_number(numbers.arrival_end))
        writer.put(Table.META, MESSAGE_ID_KEY, pack_number(numbers.message_id_end))
        writer.put(Table.META, STARTS_KEY, pack(f"<{len(starts)}I", *starts))
        _write_queues(writer, missing)
        _drop_orphans(writer, queues)
        batch = Batch(writer, numbers, now, history, statistics)
        for transaction in abandoned:
            transaction.drop_sent(batch)
        batch.write()
    except BaseException:
        store.abort()
        raise
    store.commit()
    store.refresh()
    batch.apply()
    return Loaded(
        identity,
        numbers,
        settings,
        history,
        statistics,
        Timeline(store.snapshot),
        starts,
        queues,
        prepared,
        emptying,
    )


def start_over(writer: Writer, numbers: Numbers, now: int, passed: int, entropy: bytes) -> None:
    """The store is older than what others know of this manager: it came from a backup.

    Every incoming sequence may pass over what came since the backup, once, and so may those that
    the backup does not know; outgoing ones go on with identifiers that were never used. Nor are
    other numbers used that the original may have given out since the backup. Those of messages go
    on anywhere, since there are not enough to leave many out: receivers would drop one with a
    number that they have seen lately (AMB-39).
    """
    drawn = blake2b(b"message ids", key=entropy, digest_size=4).digest()
    numbers.message_id += int.from_bytes(drawn, "big")
    numbers.message_id_end = numbers.message_id + MESSAGE_ID_BLOCK
    numbers.arrival += BLOCKS_SKIPPED * ARRIVAL_BLOCK
    numbers.arrival_end = numbers.arrival + ARRIVAL_BLOCK
    numbers.queue += QUEUES_SKIPPED
    writer.put(Table.META, QUEUE_NUMBER_KEY, pack_number(numbers.queue))
    for key, row in list(writer.scan(Table.TRANSFER, INCOMING, INCOMING + b"\xff" * 24)):
        sequence = IncomingSequence.unpack(row)._replace(may_skip=True)
        writer.put(Table.TRANSFER, key, sequence.pack())
    numbers.sequences.start_over(writer, now, passed)
    writer.put(Table.META, RESTORED_KEY, pack_number(now))
    writer.delete(Table.META, RESTORING_KEY)


def _load_queues(snapshot: Snapshot) -> tuple[dict[int, ManagedQueue], list[ManagedQueue]]:
    """The queues as they were ([MS-MQDMPR] 3.1.1, 3.1.1.3), and those deleted but not emptied."""
    found: dict[int, ManagedQueue] = {}
    emptying = []
    # A queue's own number is lower than those of what belongs to it, so that it is met before.
    for key, row in snapshot.scan(Table.QUEUES, queue_key(0), b"\xff" * 5):
        number, kind = _queue_key.unpack(key)
        if kind == DELETED_ROW:
            emptying.append(ManagedQueue(number, QueueProperties.from_row(row), deleted=True))
        elif kind == PROPERTIES_ROW:
            found[number] = ManagedQueue(number, QueueProperties.from_row(row))
        else:
            queue = _queue_of(found, number)
            if kind == COUNTERS_ROW:
                queue.messages, queue.size = unpack_counters(row)
                queue.totals[:] = unpack_totals(row)
            elif kind == PURGED_ROW:
                queue.purge_pending.update(unpack(f"<{len(row) // 8}Q", row))
    _link_subqueues(found)
    return found, emptying


def _queue_of(found: dict[int, ManagedQueue], number: int) -> ManagedQueue:
    if number & JOURNAL_BIT:
        return journal_of(found[number ^ JOURNAL_BIT])
    return delayed_of(found[number ^ DELAYED_BIT]) if number & DELAYED_BIT else found[number]


def _link_subqueues(found: dict[int, ManagedQueue]) -> None:
    """Let queues and their subqueues know each other.

    An empty subqueue of a queue that is deleted may be left, if a disk failed to let it go first.
    """
    by_name = {fold(queue.name): queue for queue in found.values()}
    for queue in list(found.values()):
        if queue.kind is QueueKind.SUBQUEUE:
            parent, _, name = queue.name.rpartition(";")
            queue.parent = by_name.get(fold(parent))
            if queue.parent is None:
                del found[queue.number]
            else:
                queue.parent.subqueues[fold(name)] = queue
    for queue in found.values():
        derive(queue)


def _write_queues(writer: Writer, missing: dict[int, QueueProperties]) -> None:
    for number, properties in missing.items():
        writer.put(Table.QUEUES, queue_key(number), properties.to_row())


def _drop_orphans(writer: Writer, queues: dict[int, ManagedQueue]) -> None:
    """Forget what is left of subqueues without a queue (`_link_subqueues`)."""
    rows = [_queue_key.unpack(key) for key, _ in writer.scan(Table.QUEUES, b"", b"\xff" * 5)]
    known = {number for number, kind in rows if kind == PROPERTIES_ROW}
    for number, row in rows:
        if number in known and number not in queues:
            writer.delete(Table.QUEUES, queue_key(number, row))


def _load_numbers(snapshot: Snapshot, entropy: bytes) -> Numbers:
    """Numbers that were never given, also to private queues ([MS-MQDMPR] 3.1.1.2)."""
    arrival = _number(snapshot, ARRIVAL_KEY)
    message_id = _number(snapshot, MESSAGE_ID_KEY)
    return Numbers(
        packet=_next_packet(snapshot),
        arrival=arrival,
        arrival_end=arrival + ARRIVAL_BLOCK,
        message_id=message_id,
        message_id_end=message_id + MESSAGE_ID_BLOCK,
        queue=max(FIRST_QUEUE_NUMBER, _number(snapshot, QUEUE_NUMBER_KEY)),
        sequences=SequenceNumbers(snapshot, entropy),
    )


def _load_starts(snapshot: Snapshot) -> list[int]:
    raw = snapshot.get(Table.META, STARTS_KEY) or b""
    return list(unpack(f"<{len(raw) // 4}I", raw))


def _number(snapshot: Snapshot, key: bytes) -> int:
    return unpack_number(snapshot.get(Table.META, key))


def _next_packet(snapshot: Snapshot) -> int:
    for key, _ in snapshot.scan_back(Table.PACKETS, b"", b"\xff" * 10):
        return int(split_packet_key(key)[0]) + 1
    return 1
