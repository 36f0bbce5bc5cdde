"""What a commit writes: many operations gathered into one transaction of the store.

Operations are checked when they are made and cannot fail for a reason of their own when they are
written; only the store can fail, and then all of them do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openmsmq.model.layout import (
    ARRIVAL_BITS,
    CHUNK_SIZE,
    COUNTERS_ROW,
    Record,
    chunks,
    index_key,
    pack_counters,
    pack_record,
    packet_key,
    packet_keys,
    queue_key,
)
from openmsmq.model.queue import Queue, QueueProperties
from openmsmq.model.reading import Entry
from openmsmq.model.storage import Table, Writer
from openmsmq.properties.message import PRIORITY_MAX


class Outgoing(NamedTuple):
    """A message ready to be put in a queue."""

    packet: bytes
    priority: int
    expires: int
    express: bool


class Numbers:
    """The counters behind packets, arrivals and message identifiers; none is ever reused.

    Arrival numbers and identifiers are reserved on disk ahead of their use, so that those of
    express messages are not met again after a crash either.
    """

    __slots__ = ("arrival", "arrival_end", "message_id", "message_id_end", "packet")

    def __init__(
        self, *, packet: int, arrival: int, arrival_end: int, message_id: int, message_id_end: int
    ) -> None:
        self.packet = packet
        self.arrival = arrival
        self.arrival_end = arrival_end
        self.message_id = message_id
        self.message_id_end = message_id_end


class Batch:
    """The rows of one commit, gathered so that each table is written in one go."""

    __slots__ = (
        "_index_deletes",
        "_index_rows",
        "_packet_deletes",
        "_packet_rows",
        "_properties",
        "_removed",
        "_touched",
        "inserted",
        "numbers",
        "writer",
    )

    def __init__(self, writer: Writer, numbers: Numbers) -> None:
        self.writer = writer
        self.numbers = numbers
        self.inserted: dict[Queue, list[int]] = defaultdict(list)
        "Lookup identifiers of new messages, for those who wait."
        self._properties: dict[Queue, QueueProperties] = {}
        self._packet_rows: list[tuple[bytes, bytes]] = []
        self._index_rows: list[tuple[bytes, bytes]] = []
        self._packet_deletes: list[bytes] = []
        self._index_deletes: list[bytes] = []
        self._removed: set[bytes] = set()
        self._touched: dict[Queue, list[int]] = defaultdict(lambda: [0, 0])

    def store_packet(self, packet: bytes) -> int:
        """Keep a packet; its number."""
        number = self.numbers.packet
        self.numbers.packet = number + 1
        if len(packet) <= CHUNK_SIZE:
            self._packet_rows.append((packet_key(number, 0), packet))
        else:
            rows = ((packet_key(number, i), part) for i, part in enumerate(chunks(packet)))
            self._packet_rows.extend(rows)
        return number

    def insert_many(self, queue: Queue, messages: Sequence[Outgoing], now: int) -> list[int]:
        """Put messages at their places in a queue; their lookup identifiers.

        (Enqueue Message, [MS-MQDMPR] 3.1.7.1.9, steps 3 to 5.)
        """
        numbers, packets, rows = self.numbers, self._packet_rows, self._index_rows
        lookups = []
        total = 0
        for packet, priority, expires, _ in messages:
            size = len(packet)
            total += size
            number = numbers.packet
            if size <= CHUNK_SIZE:
                numbers.packet = number + 1
                packets.append((packet_key(number, 0), packet))
            else:
                number = self.store_packet(packet)
            numbers.arrival = arrival = numbers.arrival + 1
            lookup = PRIORITY_MAX - priority << ARRIVAL_BITS | arrival
            lookups.append(lookup)
            record = pack_record(number, size, now, expires, 0, 0, 0, 0, 0)
            rows.append((index_key(queue.number, lookup), record))
        self._count(queue, len(messages), total)
        self.inserted[queue] += lookups
        return lookups

    def insert_stored(self, queue: Queue, priority: int, record: bytes, size: int) -> int:
        """Put a message whose packet is stored already into a queue; its lookup identifier."""
        self.numbers.arrival = arrival = self.numbers.arrival + 1
        lookup = PRIORITY_MAX - priority << ARRIVAL_BITS | arrival
        self._index_rows.append((index_key(queue.number, lookup), record))
        self._count(queue, 1, size)
        self.inserted[queue].append(lookup)
        return lookup

    def reinsert(self, queue: Queue, entries: Sequence[Entry]) -> None:
        """Put messages back where they were removed from."""
        for entry in entries:
            number = self.store_packet(entry.packet)
            record = Record.unpack(entry.record)._replace(packet_number=number)
            self._index_rows.append((index_key(queue.number, entry.lookup), record.pack()))
            self._count(queue, 1, len(entry.packet))

    def rewrite(self, queue: Queue, lookup: int, record: bytes) -> None:
        """Change the record of a message that stays where it is."""
        self._index_rows.append((index_key(queue.number, lookup), record))

    def remove(self, queue: Queue, lookup: int, number: int, size: int) -> bool:
        """Take a message out of its queue and the store; False if this was asked for before."""
        key = index_key(queue.number, lookup)
        if key in self._removed:
            return False
        self._removed.add(key)
        self._index_deletes.append(key)
        self.drop_packet(number, size)
        self._count(queue, -1, -size)
        return True

    def remove_many(self, queue: Queue, lookups: list[int], places: list[tuple[int, int]]) -> None:
        """Take messages out of their queue and the store, given where their packets lie."""
        queue_number = queue.number
        self._index_deletes += [index_key(queue_number, lookup) for lookup in lookups]
        total = 0
        for number, size in places:
            total += size
            if size <= CHUNK_SIZE:
                self._packet_deletes.append(packet_key(number, 0))
            else:
                self._packet_deletes += packet_keys(number, size)
        self._count(queue, -len(lookups), -total)

    def drop_packet(self, number: int, size: int) -> None:
        """Remove a packet from the store."""
        if size <= CHUNK_SIZE:
            self._packet_deletes.append(packet_key(number, 0))
        else:
            self._packet_deletes += packet_keys(number, size)

    def properties(self, queue: Queue) -> QueueProperties:
        """The properties of a queue, as changed by this commit."""
        return self._properties.get(queue, queue.properties)

    def set_properties(self, queue: Queue, properties: QueueProperties) -> None:
        """Keep the properties of a queue."""
        self._properties[queue] = properties
        self.writer.put(Table.QUEUES, queue_key(queue.number), properties.to_row())

    def write(self) -> None:
        """Hand all rows to the store's transaction."""
        writer = self.writer
        if self._packet_rows:
            writer.put_many(Table.PACKETS, self._packet_rows, append=True)
        if self._index_rows:
            writer.put_many(Table.INDEX, self._index_rows)
        if self._index_deletes:
            writer.delete_many(Table.INDEX, self._index_deletes)
            writer.delete_many(Table.PACKETS, self._packet_deletes)
        elif self._packet_deletes:
            writer.delete_many(Table.PACKETS, self._packet_deletes)
        for queue, (messages, size) in self._touched.items():
            if not queue.deleted:
                row = pack_counters(queue.messages + messages, queue.size + size)
                writer.put(Table.QUEUES, queue_key(queue.number, COUNTERS_ROW), row)

    def apply_counts(self) -> None:
        """Let the queues show what was committed."""
        for queue, (messages, size) in self._touched.items():
            queue.messages += messages
            queue.size += size

    def _count(self, queue: Queue, messages: int, size: int) -> None:
        touched = self._touched[queue]
        touched[0] += messages
        touched[1] += size


@dataclass(frozen=True, slots=True)
class Operation:
    """Something to be committed, and what follows."""

    apply: Callable[[Batch], None]
    "Adds its rows to the batch."
    committed: Callable[[], None]
    "It is on disk: answer whoever asked."
    failed: Callable[[BaseException], None]
    "It is not: undo what memory says, tell whoever asked."
    grows: bool = False
    "It needs more room than it frees, and is the first to be refused on a full disk."
