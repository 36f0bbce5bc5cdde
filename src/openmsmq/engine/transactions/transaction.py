"""Transactions: work that takes effect at once or not at all ([MS-MQDMPR] 3.1.1.14).

What a transaction sends is kept in memory while it is little and in the store beyond that; what
it receives stays where it is, held. Nothing of either can be seen by others before the commit.
A transaction that is prepared has written all it did to the store and waits for the decision of its
coordinator, through crashes if need be.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum, auto
from itertools import chain, groupby, repeat
from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.engine.commit.batch import Batch, NewMessage, alone
from openmsmq.engine.commit.run_rows import NewRun, keeps_runs
from openmsmq.engine.messages.admission import Admission
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.messages.poison import PoisonMessages
from openmsmq.engine.messages.removal import note_purged, purge_reason
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.storage.layout import JOURNAL_BIT, Owed, Record
from openmsmq.engine.storage.runs import record_of
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.engine.transactions.staged import (
    Buffer,
    StagedKind,
    StagedSend,
    kind_of,
    read_sent,
    stage,
)
from openmsmq.errors import TransactionSequence
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.walk import marked
from openmsmq.properties.message import MessageClass
from openmsmq.types.queues import QueueKind

SPILL_SIZE: Final = 256 * 1024
"Bytes a transaction may hold in memory before it writes them to the store."

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
"A plain number, since to combine flags with a number makes an object each time."

_ID_MAX: Final = TransactionFlags.ID >> 4
_ID_STEP: Final = 65_537
"What lies between the first transactions of two runs; prime, so that it takes long to come round."

_key = Struct(">QBI")
_KIND: Final = 8
"Where a key says the kind of its row."
_place = Struct("<IQ")
split_key: Final = _key.unpack
"Number of a transaction, kind of the row, place."
split_place: Final = _place.unpack
"Of rows RECEIVED and MOVED: queue number and lookup identifier."
SENT, RECEIVED, HEADER, MOVED = 0, 1, 2, 3


class TransactionState(Enum):
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


class ManagedTransaction(Holder):
    """One transaction of this queue manager."""

    __slots__ = (
        "_last_spilled",
        "_sent_rows",
        "buffer",
        "buffered",
        "is_doomed",
        "is_special",
        "keeps_plain",
        "moved",
        "number",
        "prepared_at",
        "received",
        "rejected",
        "reserved",
        "stages",
        "state",
        "token",
        "used",
        "xid",
    )

    def __init__(self, number: int, xid: str = "", *, stages: bool = False) -> None:
        self.number = number
        self.xid = xid
        "The name an outside coordinator knows it by; empty for an internal one."
        self.stages = stages
        "Messages to queues that are not transactional wait in it, and stay plain ones."
        self.state = TransactionState.ACTIVE
        self.token = ""
        "Of the program that has begun it, who may end it; empty if it needed none."
        self.used = 0.0
        "When its program last did something with it, for the limit on idle transactions."
        self.prepared_at: int | None = None
        "When it was prepared, in seconds as lifetimes count them; None if that is unknown."
        self.is_doomed = False
        "As the state says, but known while it is ending too."
        self.is_special = False
        "Some of what it sends has an id of its own, or is not due yet."
        self.keeps_plain = False
        "What it stages for other managers stays plain, too."
        self.buffer: Buffer = []
        self.buffered = 0
        self.received: dict[tuple[ManagedQueue, int], bytes] = {}
        "Messages it has taken, by place, with their records."
        self.rejected: set[tuple[ManagedQueue, int]] = set()
        "Those among them that its reader rejects ([MS-MQDMPR] 3.1.4.4, DequeueReason)."
        self.moved: dict[tuple[ManagedQueue, int], tuple[bytes, ManagedQueue]] = {}
        "Messages it moves to another queue, by place, with their records."
        self.reserved: dict[ManagedQueue, int] = defaultdict(int)
        "Bytes it has sent, by queue."
        self._sent_rows = 0
        self._last_spilled: dict[int, StagedSend] = {}
        "The last message to each queue that was written to the store, by the number of the queue."

    @property
    def is_empty(self) -> bool:
        """It has done nothing that would have to be written."""
        return not (self.buffer or self._sent_rows or self.received or self.moved)

    @property
    def is_open(self) -> bool:
        """More can be done in it."""
        return self.state is TransactionState.ACTIVE

    @property
    def is_undecided(self) -> bool:
        """It has begun, and is not ended."""
        return self.state in (TransactionState.ACTIVE, TransactionState.DOOMED)

    def is_plain_to(self, queue: ManagedQueue) -> bool:
        """Whether what it sends to a queue is like any message there once it is committed."""
        if queue.kind is QueueKind.OUTGOING:
            return self.keeps_plain
        return self.stages and not queue.properties.transactional

    def require_active(self) -> None:
        """Refuse to go on with a transaction that is over or already prepared."""
        if self.state is not TransactionState.ACTIVE:
            raise TransactionSequence(f"the transaction is {self.state.name.lower()}")

    def doom(self) -> None:
        """Part of it could not be written; a commit that is under way must not succeed."""
        self.is_doomed = True
        if self.state is TransactionState.ACTIVE:
            self.state = TransactionState.DOOMED

    def send(self, queue: ManagedQueue, messages: list[NewMessage]) -> bool:
        """Note what is to be sent; True if it has grown too large for memory."""
        mark = packed_id(self.number)
        first = mark if queue in self.reserved else mark | TransactionFlags.FM
        if any([message.flags & _TRANSACTIONAL for message in messages]):
            marks = chain((first,), repeat(mark))
            messages = list(map(_marked, messages, marks))
        size = sum([len(message.packet) for message in messages])
        self.buffer += zip(repeat(queue), messages, strict=False)
        self.buffered += size
        self.reserved[queue] += size
        return self.buffered > SPILL_SIZE

    def send_run(self, queue: ManagedQueue, run: NewRun) -> bool:
        """The same for plain messages in one piece, which say already what they are part of."""
        if run.flags & _TRANSACTIONAL and queue not in self.reserved:
            run = run.marked(0, TransactionFlags.FM)
        size = len(run.packets)
        for piece in run.pieces():
            is_run = len(piece.sizes) > 1
            self.buffer.append((queue, piece if is_run else alone(run, piece.packets)))
        self.buffered += size
        self.reserved[queue] += size
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
        self.buffered = sum(len(sent[0]) for _, sent in self.buffer)
        self._sent_rows = spill.first_row

    def write_spill(self, batch: Batch, spill: Spill) -> None:
        """Write to the store what was buffered."""
        if not spill.messages:
            return
        rows = stage(batch, spill.messages)
        places = range(spill.first_row, spill.first_row + len(rows))
        keys = map(_key.pack, repeat(self.number), repeat(SENT), places)
        batch.writer.put_many(Table.TRANSACTIONS, list(zip(keys, rows, strict=True)))
        last = dict(zip([queue for queue, _ in spill.messages], rows, strict=True))
        for queue, row in last.items():
            self._last_spilled[queue.number] = read_sent(row)
            batch.keep(queue)

    def write_prepared(self, batch: Batch, spill: Spill) -> None:
        """Write down all that the outcome will need ([MS-MQDMPR] 3.1.4.3)."""
        messages = _with_last(batch, self._last_spilled.values(), spill.messages)
        self.write_spill(batch, spill._replace(messages=messages))
        for place, (queue, lookup) in enumerate((*self.received, *self.moved)):
            key = _key.pack(self.number, RECEIVED, place)
            batch.writer.put(Table.TRANSACTIONS, key, _place.pack(queue.number, lookup))
        for place, ((_, lookup), (_, target)) in enumerate(self.moved.items()):
            key = _key.pack(self.number, MOVED, place)
            batch.writer.put(Table.TRANSACTIONS, key, _place.pack(target.number, lookup))
            batch.keep(target)
        values = {"xid": self.xid, "prepared": self.prepared_at, "token": self.token}
        header = json.dumps(values).encode()
        batch.writer.put(Table.TRANSACTIONS, _key.pack(self.number, HEADER, 0), header)

    def commit(
        self,
        batch: Batch,
        queues: Queues,
        admission: Admission,
        dispositions: Dispositions,
        by: str,
    ) -> None:
        """Transaction Commit ([MS-MQDMPR] 3.1.4.4): sends appear, receives are gone."""
        rows = self._take_sent_rows(batch)
        buffer = _with_last(batch, rows, self.buffer)
        for (number, kind), found in groupby(rows, key=kind_of):
            self._arrive(batch, admission, queues.get(number), list(found), by, kind)
        for queue, group in groupby(buffer, key=itemgetter(0)):
            if not queue.deleted:
                self._insert(batch, admission, dispositions, queue, group, by)
        gone: dict[tuple[ManagedQueue, MessageClass], list[tuple[int, bytes]]] = defaultdict(list)
        for (queue, lookup), record in self.received.items():
            if not queue.deleted:
                reason = MessageClass.ACK_RECEIVE
                if self.rejected and (queue, lookup) in self.rejected:
                    reason = MessageClass.NACK_RECEIVE_REJECTED
                gone[queue, reason].append((lookup, record))
        for (queue, reason), taken in gone.items():
            dispositions.removed(batch, queue, taken, reason, by)
        self._move(batch, by)

    def _insert(
        self,
        batch: Batch,
        admission: Admission,
        dispositions: Dispositions,
        queue: ManagedQueue,
        group: Iterable[tuple[ManagedQueue, NewMessage | NewRun]],
        by: str,
    ) -> None:
        """Messages that are still in memory become visible."""
        for is_run, found in groupby([sent for _, sent in group], key=_is_run):
            if is_run:
                for run in found:
                    assert isinstance(run, NewRun)
                    batch.insert_run(queue, run, by)
                continue
            new = [message for message in found if isinstance(message, NewMessage)]
            if self.is_special:
                admission.put(batch, queue, new, by)
            else:
                batch.insert_many(queue, new, by)
                dispositions.arrived(batch, queue, new)

    def _move(self, batch: Batch, by: str) -> None:
        for (queue, lookup), (record, target) in self.moved.items():
            if not queue.deleted and not target.deleted:
                batch.move(queue, lookup, record, target, by)
                if queue.is_purged(lookup):  # but it comes back one day, perhaps
                    note_purged(batch, queue)

    def _arrive(
        self,
        batch: Batch,
        admission: Admission,
        queue: ManagedQueue | None,
        found: list[StagedSend],
        by: str,
        kind: StagedKind,
    ) -> None:
        """Messages that the store has already become visible, unless their queue is gone."""
        if queue is not None and kind is StagedKind.RUN:
            for sent in found:
                if keeps_runs(queue, len(sent.sizes)):
                    batch.place_run(queue, sent.run, by)
                else:  # it has got a journal or a subscription since
                    batch.insert_run(queue, batch.take_run(sent.run), by)
            return
        if queue is not None and kind is StagedKind.PLAIN:
            _, priorities, places, sizes, expires, flags, ids, *_ = zip(*found, strict=True)
            batch.insert_stored_many(
                queue, places, sizes, priorities, expires, flags, b"".join(ids), by
            )
            return
        for sent in found:
            number = int.from_bytes(sent.identifier[16:], "little")
            if queue is None or admission.is_known(batch, sent.dedup_key, number):
                batch.drop_packet(sent.number, sent.size)
                continue
            record = Record(sent.number, sent.size, batch.now, sent.expires, flags=sent.flags)
            admission.put_stored(
                batch, queue, sent.priority, record, sent.identifier, by, due=sent.due
            )

    def abort(
        self, batch: Batch, dispositions: Dispositions, poison: PoisonMessages, by: str
    ) -> set[tuple[ManagedQueue, int]]:
        """Transaction Abort ([MS-MQDMPR] 3.1.4.5): sends vanish, receives are back, counted.

        The answer is which of these are not in their places, since they have to wait or are poison.
        """
        self.drop_sent(batch)
        away: set[tuple[ManagedQueue, int]] = set()
        taken = dict(self.received)
        taken.update((place, record) for place, (record, _) in self.moved.items())
        for (queue, lookup), raw in taken.items():
            if queue.deleted:
                continue
            if queue.is_purged(lookup):
                dispositions.removed(batch, queue, [(lookup, raw)], purge_reason(queue), by)
                continue
            counts = (queue, lookup) in self.received
            if not poison.aborted(batch, queue, lookup, raw, by, counts=counts):
                away.add((queue, lookup))
        return away

    def drop_sent(self, batch: Batch) -> None:
        """Drop what was written to the store, which was never visible."""
        for sent in self._take_sent_rows(batch):
            batch.drop_packet(sent.number, sent.size)

    def _take_sent_rows(self, batch: Batch) -> list[StagedSend]:
        """What was spilled, in order; the transaction's rows are removed."""
        first, end = _key.pack(self.number, 0, 0), _key.pack(self.number + 1, 0, 0)
        rows = batch.writer.rows(Table.TRANSACTIONS, first, end)
        batch.writer.delete_many(Table.TRANSACTIONS, [key for key, _ in rows])
        return [read_sent(row) for key, row in rows if key[_KIND] == SENT]


def packed_id(number: int) -> int:
    """TransactionHeader.Flags.ID of a transaction, in its place ([MS-MQMQ] 2.2.20.5).

    20 bits, never 0, the next for each transaction of a run. A run begins elsewhere than the one
    before: the low halves of the numbers begin anew.
    """
    return ((number + (number >> 32) * _ID_STEP) % _ID_MAX + 1) << 4


def _is_run(sent: NewMessage | NewRun) -> bool:
    return isinstance(sent, NewRun)


def _last_marked(sent: NewMessage | NewRun) -> NewMessage | NewRun:
    """The last that is sent to a queue, marked so."""
    if isinstance(sent, NewRun):
        if not sent.flags & _TRANSACTIONAL:
            return sent
        return sent.marked(len(sent.sizes) - 1, TransactionFlags.LM)
    return _marked(sent, TransactionFlags.LM)


def _marked(message: NewMessage, mark: int) -> NewMessage:
    """A message that says where it stands in its transaction (A-33)."""
    if not message.flags & _TRANSACTIONAL:  # it was not sent by a program
        return message
    return NewMessage(marked(message.packet, mark), *message[1:])


def _with_last(batch: Batch, rows: Iterable[StagedSend], buffer: Buffer) -> Buffer:
    """What is buffered, with the last message to each queue marked; those in the store, too."""
    last = {sent.queue: sent for sent in rows}
    places = {queue: place for place, (queue, _) in enumerate(buffer)}
    for queue in places:
        last.pop(queue.number, None)
    for sent in last.values():
        if sent.flags & _TRANSACTIONAL:
            batch.mark_packet(sent.number, *sent.last, TransactionFlags.LM)
    found = list(buffer)
    for queue, place in places.items():
        found[place] = queue, _last_marked(buffer[place][1])
    return found


def date_prepared(transactions: Iterable[ManagedTransaction], now: int) -> None:
    """Prepared transactions of an older store do not say since when they are."""
    for transaction in transactions:
        if transaction.prepared_at is None:
            transaction.prepared_at = now


def load_transactions(
    snapshot: Snapshot, queues: dict[int, ManagedQueue]
) -> tuple[list[ManagedTransaction], list[ManagedTransaction]]:
    """The transactions a crash left behind: those that were prepared, and those that were not.

    Prepared ones hold again what they had received, until they are decided.
    """
    found: dict[int, ManagedTransaction] = {}
    prepared = []
    for key, row in snapshot.scan(Table.TRANSACTIONS, b"", b"\xff" * 13):
        number, kind, _ = _key.unpack(key)
        transaction = found.setdefault(number, ManagedTransaction(number))
        if kind == SENT:
            sent = read_sent(row)
            transaction._sent_rows += 1
            if sent.queue in queues:
                transaction.reserved[queues[sent.queue]] += sent.size
        elif kind == RECEIVED:
            _hold_again(transaction, row, snapshot, queues)
        elif kind == MOVED:
            target, lookup = _place.unpack(row)
            for place in list(transaction.received):
                if place[1] == lookup and target in queues:
                    transaction.moved[place] = transaction.received.pop(place), queues[target]
                    queues[target].pins += 1
        else:
            header = json.loads(row)
            transaction.xid = header["xid"]
            transaction.prepared_at = header.get("prepared")  # was not written at first
            transaction.token = header.get("token", "")  # nor was this
            transaction.state = TransactionState.PREPARED
            prepared.append(transaction)
            for queue, size in transaction.reserved.items():
                queue.reserved += size
    return prepared, [t for t in found.values() if t.state is not TransactionState.PREPARED]


def _hold_again(
    transaction: ManagedTransaction, row: bytes, snapshot: Snapshot, queues: dict[int, ManagedQueue]
) -> None:
    """A message that a prepared transaction has taken stays taken."""
    number, lookup = _place.unpack(row)
    owner = queues.get(number & ~JOURNAL_BIT)
    queue = journal_of(owner) if owner is not None and number & JOURNAL_BIT else owner
    record = record_of(snapshot, number, lookup)
    if queue is not None and record is not None:
        transaction.received[queue, lookup] = record
        queue.holds.hold([lookup], transaction)
