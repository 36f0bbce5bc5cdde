"""Transactions: work that takes effect at once or not at all ([MS-MQDMPR] 3.1.1.14).

What a transaction sends is kept in memory while it is little and in the store beyond that; what
it receives stays where it is, held. Nothing of either can be seen by others before the commit.
A transaction that is prepared has written down all it did and waits for the word of whoever
coordinates it, through crashes if need be.
"""

from __future__ import annotations

import json
from collections import defaultdict
from enum import Enum, auto
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.errors import TransactionSequence
from openmsmq.model.committing import Batch, Outgoing
from openmsmq.model.layout import Record, index_key, pack_record, packet_place
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Holder
from openmsmq.model.storage import Snapshot, Table

SPILL_SIZE: Final = 256 * 1024
"Bytes a transaction may hold in memory before it writes them to the store."

Buffer = list[tuple[Queue, Outgoing]]

_key = Struct(">QBI")
_sent = Struct("<IBQII")
_received = Struct("<IQ")
SENT, RECEIVED, HEADER = 0, 1, 2


class State(Enum):
    """Where a transaction stands."""

    ACTIVE = auto()
    PREPARING = auto()
    PREPARED = auto()
    DOOMED = auto()
    "Part of it could not be written: it can only be aborted."
    ENDING = auto()
    ENDED = auto()


class Spill(NamedTuple):
    """Messages of a transaction on their way from memory to the store."""

    first_row: int
    messages: Buffer


class Transaction(Holder):
    """One transaction of this queue manager."""

    __slots__ = (
        "_sent_rows",
        "buffer",
        "buffered",
        "is_doomed",
        "number",
        "received",
        "reserved",
        "state",
        "xid",
    )

    def __init__(self, number: int, xid: str = "") -> None:
        self.number = number
        self.xid = xid
        "The name an outside coordinator knows it by; empty for an internal one."
        self.state = State.ACTIVE
        self.is_doomed = False
        "As the state says, but known while it is ending too."
        self.buffer: Buffer = []
        self.buffered = 0
        self.received: dict[tuple[Queue, int], bytes] = {}
        "Messages it has taken, by place, with their records."
        self.reserved: dict[Queue, int] = defaultdict(int)
        "Bytes it has sent, by queue."
        self._sent_rows = 0

    @property
    def is_empty(self) -> bool:
        """It has done nothing that would have to be written."""
        return not (self.buffer or self._sent_rows or self.received)

    @property
    def is_open(self) -> bool:
        """More can be done in it."""
        return self.state is State.ACTIVE

    @property
    def is_undecided(self) -> bool:
        """Whoever began it still has to end it."""
        return self.state in (State.ACTIVE, State.DOOMED)

    def require_active(self) -> None:
        """Refuse to go on with a transaction that is over or already prepared."""
        if self.state is not State.ACTIVE:
            raise TransactionSequence(f"the transaction is {self.state.name.lower()}")

    def doom(self) -> None:
        """Part of it could not be written; a commit that is under way must not succeed."""
        self.is_doomed = True
        if self.state is State.ACTIVE:
            self.state = State.DOOMED

    def send(self, queue: Queue, messages: list[Outgoing]) -> bool:
        """Note what is to be sent; True if it has grown too large for memory."""
        size = sum(len(message.packet) for message in messages)
        self.buffer += [(queue, message) for message in messages]
        self.buffered += size
        self.reserved[queue] += size
        queue.reserved += size
        return self.buffered > SPILL_SIZE

    def take_buffer(self) -> Spill:
        """What is buffered, to be written to the store."""
        spill = Spill(self._sent_rows, self.buffer)
        self._sent_rows += len(self.buffer)
        self.buffer, self.buffered = [], 0
        return spill

    def restore_buffer(self, spill: Spill) -> None:
        """It could not be written, and nothing was sent since."""
        assert not self.buffer, "messages were sent behind those that were not written"
        self.buffer = spill.messages
        self.buffered = sum(len(message.packet) for _, message in self.buffer)
        self._sent_rows = spill.first_row

    def write_spill(self, batch: Batch, spill: Spill) -> None:
        """Write to the store what was buffered."""
        for row_number, (queue, message) in enumerate(spill.messages, spill.first_row):
            number = batch.store_packet(message.packet)
            key = _key.pack(self.number, SENT, row_number)
            row = _sent.pack(
                queue.number, message.priority, number, len(message.packet), message.expires
            )
            batch.writer.put(Table.TRANSACTIONS, key, row)

    def write_prepared(self, batch: Batch, spill: Spill) -> None:
        """Write down all that the outcome will need."""
        self.write_spill(batch, spill)
        for place, (queue, lookup) in enumerate(self.received):
            key = _key.pack(self.number, RECEIVED, place)
            batch.writer.put(Table.TRANSACTIONS, key, _received.pack(queue.number, lookup))
        header = json.dumps({"xid": self.xid}).encode()
        batch.writer.put(Table.TRANSACTIONS, _key.pack(self.number, HEADER, 0), header)

    def commit(self, batch: Batch, queues: dict[int, Queue], now: int) -> None:
        """Transaction Commit ([MS-MQDMPR] 3.1.4.4): sends appear, receives are gone."""
        for queue_number, priority, number, size, expires in self._take_sent_rows(batch):
            queue = queues.get(queue_number)
            if queue is None:
                batch.drop_packet(number, size)
            else:
                record = pack_record(number, size, now, expires, 0, 0, 0, 0, 0)
                batch.insert_stored(queue, priority, record, size)
        for queue, message in self.buffer:
            if not queue.deleted:
                batch.insert_many(queue, [message], now)
        for (queue, lookup), record in self.received.items():
            if not queue.deleted:
                batch.remove(queue, lookup, *packet_place(record))

    def abort(self, batch: Batch) -> None:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): sends vanish, receives are back, counted."""
        for _, _, number, size, _ in self._take_sent_rows(batch):
            batch.drop_packet(number, size)
        for (queue, lookup), raw in self.received.items():
            if queue.deleted:
                continue
            if queue.is_purged(lookup):
                batch.remove(queue, lookup, *packet_place(raw))
            else:
                record = Record.unpack(raw)
                counted = record._replace(abort_count=record.abort_count + 1)
                batch.rewrite(queue, lookup, counted.pack())

    def _take_sent_rows(self, batch: Batch) -> list[tuple[int, int, int, int, int]]:
        """What was spilled, in order; the transaction's rows are removed."""
        first, end = _key.pack(self.number, 0, 0), _key.pack(self.number + 1, 0, 0)
        rows = list(batch.writer.scan(Table.TRANSACTIONS, first, end))
        batch.writer.delete_many(Table.TRANSACTIONS, [key for key, _ in rows])
        return [_sent.unpack(row) for key, row in rows if _key.unpack(key)[1] == SENT]


def load_transactions(
    snapshot: Snapshot, queues: dict[int, Queue]
) -> tuple[list[Transaction], list[Transaction]]:
    """The transactions a crash left behind: those that were prepared, and those that were not.

    Prepared ones hold again what they had received, until they are told the outcome.
    """
    found: dict[int, Transaction] = {}
    prepared = []
    for key, row in snapshot.scan(Table.TRANSACTIONS, b"", b"\xff" * 13):
        number, kind, _ = _key.unpack(key)
        transaction = found.setdefault(number, Transaction(number))
        if kind == SENT:
            queue_number, _, _, size, _ = _sent.unpack(row)
            transaction._sent_rows += 1
            if queue_number in queues:
                transaction.reserved[queues[queue_number]] += size
        elif kind == RECEIVED:
            queue_number, lookup = _received.unpack(row)
            queue = queues.get(queue_number)
            record = snapshot.get(Table.INDEX, index_key(queue_number, lookup))
            if queue is not None and record is not None:
                transaction.received[queue, lookup] = record
                queue.held[lookup] = transaction
        else:
            transaction.xid = json.loads(row)["xid"]
            transaction.state = State.PREPARED
            prepared.append(transaction)
            for queue, size in transaction.reserved.items():
                queue.reserved += size
    return prepared, [t for t in found.values() if t.state is not State.PREPARED]
