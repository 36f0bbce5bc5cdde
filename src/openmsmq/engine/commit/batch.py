"""What a commit writes: many operations gathered into one transaction of the store.

Operations are checked when they are made. One that cannot be written nevertheless fails alone, and
the others are applied again to another batch; if the store fails, all of them do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby, repeat
from math import inf
from operator import itemgetter
from typing import NamedTuple

from openmsmq.engine.commit.events import Events
from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.commit.packet_rows import PacketRows
from openmsmq.engine.commit.queue_counts import QueueCounts
from openmsmq.engine.commit.run_rows import (
    NewRun,
    RunRows,
    StoredRun,
    keeps_runs,
    may_be_run,
)
from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.outgoing.sequence_numbers import needs_sequence
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, delayed_of, outgoing_name
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import Event, History, identifiers
from openmsmq.engine.storage.layout import (
    DELAYED_BIT,
    NEVER,
    RUN_BIT,
    Owed,
    Record,
    Total,
    due_key,
    due_of,
    expiry_key,
    index_key,
    pack_record,
    packet_place,
    place_and_expiry,
)
from openmsmq.engine.storage.record_columns import columns_of
from openmsmq.engine.storage.runs import (
    MessageRun,
    is_member,
    plain_record,
    split_members,
)
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.types.lookup import ARRIVAL_BITS
from openmsmq.types.queues import QueueKind


class NewMessage(NamedTuple):
    """A message ready to be put in a queue."""

    packet: bytes
    priority: int
    expires: int
    express: bool
    flags: int = 0
    "What is owed for it, see `Owed`."
    due: int = 0
    "When it can be read: milliseconds as lifetimes count them."
    dedup_key: bytes = b""
    "The key of its deduplication id; a message whose key is known is not stored again."


def alone(run: NewRun, packet: bytes) -> NewMessage:
    """A message of a run that is stored by itself."""
    return NewMessage(packet, run.priority, run.expires, express=False, flags=run.flags)


_way = itemgetter(slice(1, 5))
"What messages of a run have in common."


class Batch(PacketRows):
    """The rows of one commit, gathered so that each table is written in one go."""

    __slots__ = (
        "_count",
        "_counted",
        "_counts",
        "_delayed_deletes",
        "_delayed_rows",
        "_events",
        "_expiry_deletes",
        "_expiry_rows",
        "_index_deletes",
        "_index_rows",
        "_removed",
        "_sequences",
        "_statistics",
        "after",
        "count_in",
        "grown",
        "inserted",
        "next_due",
        "next_expiry",
        "note",
        "note_many",
        "note_slice",
        "now",
        "properties",
        "runs",
        "set_properties",
        "size_of",
        "total",
        "write_queue_number",
    )

    def __init__(
        self,
        writer: Writer,
        numbers: Numbers,
        now: int,
        history: History,
        statistics: Statistics,
    ) -> None:
        super().__init__(writer, numbers)
        self.now = now
        "Seconds since 1970 UTC."
        self.inserted: dict[ManagedQueue, list[int]] = defaultdict(list)
        "Lookup identifiers of new messages, for those who wait."
        self.after: list[Callable[[], None]] = []
        "What is to be done once it is on disk, before operations are answered."
        self.next_expiry = NEVER
        "The first time at which one of the new messages expires."
        self.next_due = inf
        "The first time at which one of those can be read that it delays."
        self._statistics = statistics
        self._counted: dict[str, int] = defaultdict(int)
        self._events = Events(history, now)
        self.note = self._events.note
        self.note_many = self._events.note_many
        self.note_slice = self._events.note_slice
        self._index_rows: list[tuple[bytes, bytes]] = []
        self._expiry_rows: list[tuple[bytes, bytes]] = []
        self._delayed_rows: list[tuple[bytes, bytes]] = []
        self._delayed_deletes: list[bytes] = []
        self._index_deletes: list[bytes] = []
        self._expiry_deletes: list[bytes] = []
        self._removed: set[bytes] = set()
        self.runs = RunRows(writer)
        "Those that it changes."
        self._sequences: dict[ManagedQueue, OutgoingSequence] = {}
        self._counts = counts = QueueCounts(writer, numbers)
        self._count = self.count_in = counts.change
        self.total, self.grown = counts.total, counts.grown
        self.properties, self.set_properties = counts.properties, counts.set_properties
        self.size_of, self.write_queue_number = counts.size_of, counts.write_queue_number

    # Messages

    def insert_many(
        self, queue: ManagedQueue, messages: Sequence[NewMessage], by: str
    ) -> list[int]:
        """Put messages at their places in a queue; their lookup identifiers.

        (Enqueue Message, [MS-MQDMPR] 3.1.7.1.9, steps 3 to 5.)
        """
        if not keeps_runs(queue, len(messages)):
            return self._insert_rows(queue, messages, by)
        lookups: list[int] = []
        for (priority, expires, _, flags), group in groupby(messages, key=_way):
            alike = list(group)
            packets = [message[0] for message in alike]
            if not may_be_run(queue, packets, flags):
                lookups += self._insert_rows(queue, alike, by)
                continue
            run = NewRun(b"".join(packets), list(map(len, packets)), priority, flags, expires)
            lookups += self._insert_pieces(queue, run, by)
        return lookups

    def insert_run(self, queue: ManagedQueue, run: NewRun, by: str) -> None:
        """The same for messages that came in one piece."""
        if keeps_runs(queue, len(run.sizes)):
            self._insert_pieces(queue, run, by)
        else:
            self._insert_rows(queue, [alone(run, packet) for packet in run.split()], by)

    def _insert_pieces(self, queue: ManagedQueue, run: NewRun, by: str) -> list[int]:
        """Store messages as runs that are not too large; those that are too few have rows."""
        lookups: list[int] = []
        for piece in run.pieces():
            if len(piece.sizes) > 1:
                lookups += self.place_run(queue, self.store_run(piece), by)
            else:
                lookups += self._insert_rows(queue, [alone(run, piece.packets)], by)
        return lookups

    def place_run(self, queue: ManagedQueue, run: StoredRun, by: str) -> range:
        """Let messages whose blob is stored be a run of a queue, which keeps runs."""
        count, size = len(run.sizes), run.size
        if queue.kind is QueueKind.OUTGOING:
            self._number(queue, run.flags)
        first = PRIORITY_MAX - run.priority << ARRIVAL_BITS | self.numbers.arrivals(count)[0]
        record = Record(run.number, size, self.now, run.expires, flags=run.flags)
        self.runs.add(MessageRun(queue.number, first, record, run.sizes))
        self._expire(run.expires, queue, first | RUN_BIT)
        lookups = range(first, first + count)
        self._count(queue, count, size)
        self.inserted[queue] += lookups
        extra = outgoing_name(queue)
        self._events.note_run(Event.ARRIVED, queue, first, count, run.identifier, by, extra)
        self._counted[Event.ARRIVED.word] += count
        self.total(queue, Total.ARRIVED, count)
        return lookups

    def _insert_rows(
        self, queue: ManagedQueue, messages: Sequence[NewMessage], by: str
    ) -> list[int]:
        """Store messages with a row for each."""
        if len(messages) == 1:
            return [self._insert_row(queue, messages[0], by)]
        packets = [message[0] for message in messages]
        return self.insert_stored_many(
            queue,
            self.store_packets(packets),
            list(map(len, packets)),
            [message[1] for message in messages],
            [message[2] for message in messages],
            [message[4] for message in messages],
            identifiers(packets) if self.keeps_history else b"",
            by,
        )

    def _insert_row(self, queue: ManagedQueue, message: NewMessage, by: str) -> int:
        """The same with one message, as programs send them that wait for each."""
        packet, priority, expires, _, flags, *_ = message
        place = self.store_packet(packet)
        record = Record(place, len(packet), self.now, expires, flags=flags)
        lookup, ids = self.insert_stored(queue, priority, record), identifiers((packet,))
        self.note(Event.ARRIVED, queue, (lookup,), ids, by, outgoing_name(queue))
        self._counted[Event.ARRIVED.word] += 1
        return lookup

    def insert_stored_many(
        self,
        queue: ManagedQueue,
        places: Sequence[int],
        sizes: Sequence[int],
        priorities: Sequence[int],
        expires: Sequence[int],
        flags: Sequence[int],
        ids: bytes,
        by: str,
    ) -> list[int]:
        """The same for packets that are stored, of which all this is known already."""
        if queue.kind is QueueKind.OUTGOING and flags:
            self._number(queue, flags[0])
        arrivals = self.numbers.arrivals(len(sizes))
        lookups = [
            PRIORITY_MAX - priority << ARRIVAL_BITS | number
            for number, priority in zip(arrivals, priorities, strict=True)
        ]
        now, zero = repeat(self.now), repeat(0)
        records = map(pack_record, places, sizes, now, expires, zero, zero, zero, zero, flags)
        keys = map(index_key, repeat(queue.number), lookups)
        self._index_rows += zip(keys, records, strict=True)
        if min(expires, default=NEVER) != NEVER:
            for moment, lookup in zip(expires, lookups, strict=True):
                self._expire(moment, queue, lookup)
        self._count(queue, len(sizes), sum(sizes))
        self.inserted[queue] += lookups
        self.note(Event.ARRIVED, queue, lookups, ids, by, outgoing_name(queue))
        self._counted[Event.ARRIVED.word] += len(lookups)
        self.total(queue, Total.ARRIVED, len(lookups))
        return lookups

    def insert_stored(self, queue: ManagedQueue, priority: int, record: Record) -> int:
        """Put a message whose packet is stored already into a queue; its lookup identifier."""
        if queue.kind is QueueKind.OUTGOING:
            self._number(queue, record.flags)
        self.numbers.arrival = arrival = self.numbers.arrival + 1
        lookup = PRIORITY_MAX - priority << ARRIVAL_BITS | arrival
        self.place(queue, lookup, record)
        self.total(queue, Total.ARRIVED)
        return lookup

    def _number(self, queue: ManagedQueue, flags: int) -> None:
        """Messages go into an outgoing queue: those of transactions have numbers there.

        All that are put there in one call are of the same transaction, or none of any.
        """
        arrival = self.numbers.arrival + 1
        if not flags & Owed.TRANSACTIONAL or queue in self._sequences:
            return
        if needs_sequence(queue, arrival):
            begun = self.numbers.sequences.begin(self.writer, queue, arrival, self.now)
            self._sequences[queue] = begun

    def place(self, queue: ManagedQueue, lookup: int, record: Record) -> None:
        """Put a message whose packet is stored already at a given place."""
        self._index_rows.append((index_key(queue.number, lookup), record.pack()))
        self._expire(record.expires, queue, lookup)
        self._count(queue, 1, record.size)
        self.inserted[queue].append(lookup)

    def delay(self, queue: ManagedQueue, lookup: int, record: Record, due: int) -> None:
        """Let a message wait whose packet is stored already, beside its place in a queue."""
        waiting = delayed_of(queue)
        self._index_rows.append((index_key(waiting.number, lookup), record.pack_delayed(due)))
        self._delayed_rows.append((due_key(due, waiting.number, lookup), b""))
        self._expire(record.expires, waiting, lookup)
        self._count(waiting, 1, record.size)
        self.keep(queue)
        self.inserted[waiting].append(lookup)
        self.next_due = min(self.next_due, due)

    def delay_new(self, queue: ManagedQueue, priority: int, record: Record, due: int) -> int:
        """The same for a message that was not in the queue yet; its place while it waits."""
        self.numbers.arrival = arrival = self.numbers.arrival + 1
        lookup = PRIORITY_MAX - priority << ARRIVAL_BITS | arrival
        self.delay(queue, lookup, record, due)
        self.total(queue, Total.ARRIVED)
        return lookup

    def keep_reserved(self, store: ManagedQueue, first: int, raws: Sequence[bytes]) -> None:
        """Keep messages for a subscription, which finds them by their positions."""
        keys = map(index_key, repeat(store.number), range(first, first + len(raws)))
        self._index_rows += zip(keys, raws, strict=True)
        self._count(store, len(raws), sum([packet_place(raw)[1] for raw in raws]))

    def reinsert(self, queue: ManagedQueue, entries: Sequence[Entry]) -> None:
        """Put messages back where they were removed from."""
        for entry in entries:
            raw = plain_record(entry.record, self.store_packet(entry.packet))
            self.place(queue, entry.lookup, Record.unpack(raw))

    def rewrite(self, queue: ManagedQueue, lookup: int, record: bytes) -> None:
        """Change the record of a message that stays where it is."""
        self._index_rows.append((index_key(queue.number, lookup), record))

    def take_out(self, queue: ManagedQueue, lookup: int, raw: bytes) -> bool:
        """Take a message out of its queue, not out of the store; False if it was before.

        It has a row of its own (`explode`).
        """
        assert not is_member(raw), "the message is in a run"
        key = index_key(queue.number, lookup)
        if key in self._removed:
            return False
        self._removed.add(key)
        self._index_deletes.append(key)
        _, size, expires = place_and_expiry(raw)
        if expires != NEVER:
            self._expiry_deletes.append(expiry_key(expires, queue.number, lookup))
        if queue.number & DELAYED_BIT:
            self._delayed_deletes.append(due_key(due_of(raw), queue.number, lookup))
        self._count(queue, -1, -size)
        return True

    def resolve(
        self,
        queue: ManagedQueue,
        gone: Sequence[tuple[int, bytes]],
        packets: Sequence[bytes] | None,
    ) -> tuple[Sequence[tuple[int, bytes]], Sequence[bytes] | None]:
        """Messages with the records that they have now, and their packets, if these are at hand.

        One that was read as a message of a run may have a row of its own since.
        """
        members = split_members(gone)[0]
        missing = set(self.runs.missing(queue.number, members)) if members else None
        if not missing:
            return gone, packets
        rows = [self.record(queue, at) if at in missing else raw for at, raw in gone]
        found = [(at, raw) for (at, _), raw in zip(gone, rows, strict=True) if raw is not None]
        if packets is not None:
            packets = [one for one, raw in zip(packets, rows, strict=True) if raw is not None]
        return found, packets

    def explode(self, queue: ManagedQueue, lookup: int, raw: bytes) -> bytes | None:
        """The record of a message with a row of its own, which it gets now; None if it is gone."""
        if not is_member(raw):
            return raw
        if self.runs.remove(queue.number, [lookup])[2]:  # it left the run after it was read
            return self.record(queue, lookup)
        plain = plain_record(raw, self.store_packet(self.packet(raw)))
        self._index_rows.append((index_key(queue.number, lookup), plain))
        self._expire(place_and_expiry(plain)[2], queue, lookup)
        return plain

    def take_out_many(
        self, queue: ManagedQueue, gone: Sequence[tuple[int, bytes]]
    ) -> Sequence[tuple[int, bytes]]:
        """Take messages out of their queue, none of which is delayed: identifiers and records.

        The answer is those that were not taken out before.
        """
        keys = [index_key(queue.number, lookup) for lookup, _ in gone]
        if not self._removed.isdisjoint(keys):
            gone = [item for key, item in zip(keys, gone, strict=True) if key not in self._removed]
            keys = [key for key in keys if key not in self._removed]
        self._removed.update(keys)
        self._index_deletes += keys
        columns = columns_of([raw for _, raw in gone])
        self._forget_expiry(queue, gone, columns.expires)
        self._count(queue, -len(gone), -sum(columns.sizes))
        return gone

    def record(self, queue: ManagedQueue, lookup: int) -> bytes | None:
        """The row of a message as this commit leaves it so far; None if it has none."""
        self._write_index()
        key = index_key(queue.number, lookup)
        return None if key in self._removed else self.writer.get(Table.INDEX, key)

    def is_taken(self, queue: ManagedQueue, lookup: int) -> bool:
        """Whether this commit takes a message out of its queue."""
        return index_key(queue.number, lookup) in self._removed

    def move(
        self, queue: ManagedQueue, lookup: int, raw: bytes, target: ManagedQueue, by: str
    ) -> None:
        """Move Message ([MS-MQDMPR] 3.1.7.1.16): it keeps its lookup identifier (A-39)."""
        plain = self.explode(queue, lookup, raw)
        if plain is None or not self.take_out(queue, lookup, plain):
            return
        record = Record.unpack(plain).moved(self.now)
        self.place(target, lookup, record)
        self.count(Event.MOVED.word)
        self.total(queue, Total.MOVED)
        self.total(target, Total.ARRIVED)
        if self.keeps_history:
            ids = identifiers(self.first_chunks([plain]))
            self.note(Event.MOVED, target, [lookup], ids, by, queue.name)

    def keep(self, queue: ManagedQueue) -> None:
        """See that the store knows a queue that comes and goes by itself."""
        self._count(queue, 0, 0)

    def remove_many(self, queue: ManagedQueue, gone: Sequence[tuple[int, bytes]]) -> None:
        """Take messages out of their queue and the store: lookup identifiers and records."""
        queue_number = queue.number
        members, gone = split_members(gone)
        if members:
            gone += self._remove_members(queue, members)
            if not gone:
                return
        keys = [index_key(queue_number, lookup) for lookup, _ in gone]
        self._removed.update(keys)
        self._index_deletes += keys
        columns = columns_of([raw for _, raw in gone])
        self.drop_packets(columns)
        self._forget_expiry(queue, gone, columns.expires)
        if queue_number & DELAYED_BIT:
            waited = [due_key(due_of(raw), queue_number, lookup) for lookup, raw in gone]
            self._delayed_deletes += waited
        self._count(queue, -len(gone), -sum(columns.sizes))

    def remove_slice(self, queue: ManagedQueue, part: RunSlice) -> bool:
        """Take messages out of their run; False if some of them are not in it any longer."""
        size = self.runs.remove_all(queue.number, part.first, part.end)
        self._count(queue, -len(part) if size else 0, -size)
        return bool(size)

    def _remove_members(
        self, queue: ManagedQueue, members: Sequence[int]
    ) -> list[tuple[int, bytes]]:
        """Take messages out of their runs; those that left them before, with their rows."""
        count, size, others = self.runs.remove(queue.number, members)
        self._count(queue, -count, -size)
        rows = ((lookup, self.record(queue, lookup)) for lookup in others)
        return [(lookup, raw) for lookup, raw in rows if raw is not None]

    def _forget_expiry(
        self, queue: ManagedQueue, gone: Sequence[tuple[int, bytes]], expires: Sequence[int]
    ) -> None:
        """Messages leave, some of which would have expired."""
        if min(expires, default=NEVER) != NEVER:
            self._expiry_deletes += [
                expiry_key(at, queue.number, lookup)
                for at, (lookup, _) in zip(expires, gone, strict=True)
                if at != NEVER
            ]

    def _expire(self, expires: int, queue: ManagedQueue, lookup: int) -> None:
        """A message, or a run, expires then, unless it lives for ever."""
        if expires != NEVER:
            self._expiry_rows.append((expiry_key(expires, queue.number, lookup), b""))
            self.next_expiry = min(self.next_expiry, expires)

    # What happened

    @property
    def keeps_history(self) -> bool:
        """Events are kept; otherwise the identifiers of messages are not needed."""
        return self._events.are_kept

    def count(self, what: str, times: int = 1) -> None:
        """Something that the statistics count."""
        self._counted[what] += times

    # The commit

    def write(self) -> None:
        """Hand all rows to the store's transaction."""
        writer = self.writer
        if self._delayed_deletes:  # one that is delayed again is among both
            writer.delete_many(Table.DELAYED, self._delayed_deletes)
        append = {Table.PACKETS: self._packet_rows} if self._packet_rows else {}
        if pages := self._events.pages(writer):
            append[Table.HISTORY] = pages
        put = {
            Table.INDEX: self._index_rows,
            Table.EXPIRY: self._expiry_rows,
            Table.DELAYED: self._delayed_rows,
            Table.QUEUES: self._counts.rows(),
            Table.META: self._events.state_rows + self._statistics.rows(self._counted),
        }
        delete = {  # one that was taken out of its run to leave is among rows and keys
            Table.INDEX: self._index_deletes,
            Table.PACKETS: self._packet_deletes,
            Table.EXPIRY: self._expiry_deletes,
        }
        self.runs.add_to(put, delete)
        writer.change(append, put, delete)

    def _write_index(self) -> None:
        if self._index_rows:
            self.writer.put_many(Table.INDEX, self._index_rows)
            self._index_rows = []

    def apply(self) -> None:
        """It is on disk: let queues, history and statistics show it ([MS-MQDMPR] 3.1.7.2.2)."""
        self._counts.apply()
        for queue, sequence in self._sequences.items():
            self.numbers.sequences.began(queue, sequence)
        self._events.committed()
        self._statistics.committed()
