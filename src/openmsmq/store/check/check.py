"""Checking a store: that its pages are whole, and that its tables agree with one another.

Every row is read once, in the order of its table, and memory does not grow with the messages. What
is wrong is said in sentences; nothing is repaired.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Final

from openmsmq.engine.commit.number_reservation import ARRIVAL_KEY, MESSAGE_ID_KEY
from openmsmq.engine.commit.queue_counts import QUEUE_NUMBER_KEY
from openmsmq.engine.commit.run_rows import flags_of_runs
from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.commit.timeline import Timeline
from openmsmq.engine.messages import dedup as onces
from openmsmq.engine.outgoing.sequence_numbers import SequenceNumbers
from openmsmq.engine.storage.audit import AUDIT_KEY, read_audit_state, read_entry
from openmsmq.engine.storage.history import History
from openmsmq.engine.storage.layout import (
    NEVER,
    RUN_BIT,
    Owed,
    Record,
    due_key,
    due_of,
    expiry_key,
    index_key,
    packet_keys,
    split_due_key,
    split_expiry_key,
    split_index_key,
    split_packet_key,
)
from openmsmq.engine.storage.recovery import IDENTITY_KEY
from openmsmq.engine.storage.runs import MessageRun, record_of
from openmsmq.engine.storage.settings import load_settings
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.engine.transactions.staged import read_sent
from openmsmq.engine.transactions.transaction import (
    HEADER,
    MOVED,
    RECEIVED,
    SENT,
    split_key,
    split_place,
)
from openmsmq.errors import MQError, StoreDamaged
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.store import copy as copying
from openmsmq.store.check.queues import CheckedQueue, CheckedQueues
from openmsmq.store.check.references import PacketReference, References
from openmsmq.store.check.transfers import CheckedTransfers
from openmsmq.store.copy import Progress, no_progress
from openmsmq.store.limits import FINDINGS_MAX, REFERENCES_IN_MEMORY
from openmsmq.store.lock import DirectoryLock
from openmsmq.store.pages import DATA_FILE
from openmsmq.store.recovery import recover
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK
from openmsmq.types.queues import VISIBLE, QueueKind

CHECKING_ROWS: Final = "checking rows"
_NUMBER_KEYS: Final = (ARRIVAL_KEY, MESSAGE_ID_KEY, QUEUE_NUMBER_KEY)
_STEP: Final = 4096
_END: Final = b"\xff" * 64
UNREADABLE: Final = (struct.error, ValueError, KeyError, TypeError, MQError)
"What reading a row raises that was never written so."
_LOADERS: Final[Mapping[str, Callable[[Snapshot], object]]] = {
    "settings": load_settings,
    "statistics": Statistics,
    "shift of the clock": Timeline,
    "state of the history": lambda snapshot: History(snapshot, 0),
    "identifiers of sequences": SequenceNumbers,
    "state of the ids of sent messages": onces.read_state,
}


@dataclass(frozen=True, slots=True)
class Report:
    """What a check has found."""

    size: int = 0
    "Bytes of the data file."
    queues: int = 0
    messages: int = 0
    bytes: int = 0
    "Of all messages."
    transactions: int = 0
    "Those that were not at an end when the store was closed."
    findings: tuple[str, ...] = ()
    "What is wrong, in sentences."
    more: int = 0
    "Findings that are not listed."

    @property
    def is_whole(self) -> bool:
        """Nothing is wrong."""
        return not self.findings


def check(directory: Path, progress: Progress = no_progress) -> Report:
    """Look at every page and row of a store that is not open."""
    copying.require(directory)
    lock = DirectoryLock(directory)
    size = (directory / DATA_FILE).stat().st_size
    try:
        recover(directory)
        copying.check_pages(directory, progress)
        with copying.open_reader(directory) as reader:
            return replace(check_tables(reader.snapshot, reader.rows, progress), size=size)
    except StoreDamaged as error:
        return Report(size, findings=(error.detail,))
    finally:
        lock.release()


def check_tables(
    snapshot: Snapshot,
    rows: int,
    progress: Progress = no_progress,
    *,
    in_memory: int = REFERENCES_IN_MEMORY,
) -> Report:
    """Hold the tables of a store against one another; `rows` is how many they have in all."""
    with tempfile.TemporaryFile() as file:
        return _Checker(snapshot, References(file, in_memory), rows, progress).run()


@dataclass(slots=True)
class _Packet:
    """The chunks of one packet."""

    number: int
    size: int = 0
    chunks: list[int] = field(default_factory=list)


class _Checker:
    """One check; every method looks at one table."""

    def __init__(
        self, snapshot: Snapshot, references: References, rows: int, progress: Progress
    ) -> None:
        self._snapshot = snapshot
        self._references = references
        self._total = rows
        self._progress = progress
        self._seen = 0
        self._findings: list[str] = []
        self._more = 0
        self._queues = CheckedQueues()
        self._transfers = CheckedTransfers(self._queues)
        self._numbers = dict.fromkeys(_NUMBER_KEYS, 0)
        self._transactions = 0
        self._lost: Counter[int] = Counter()
        "Messages of queues that do not exist."

    def run(self) -> Report:
        """Look at all tables."""
        self._check_meta()
        self._check_queues()
        self._check_transfers()
        self._check_index()
        self._check_runs()
        for number, count in self._lost.items():
            self._find(f"{count} messages lie in queue number {number}, which does not exist.")
        for sentence in self._queues.wrong_counters():
            self._find(sentence)
        self._check_transactions()
        self._check_packets()
        self._check_expiry()
        self._check_delayed()
        self._check_history()
        self._check_audit()
        self._progress(CHECKING_ROWS, self._total, self._total)
        found = list(self._queues)
        return Report(
            queues=sum(queue.known and queue.kind in VISIBLE for queue in found),
            messages=sum(queue.messages for queue in found),
            bytes=sum(queue.bytes for queue in found),
            transactions=self._transactions,
            findings=tuple(self._findings),
            more=self._more,
        )

    def _find(self, sentence: str) -> None:
        if len(self._findings) < FINDINGS_MAX:
            self._findings.append(sentence)
        else:
            self._more += 1

    def _find_unreadable(self, table: Table, key: bytes) -> None:
        self._find(f"The row {key.hex()} of the table {table.name.lower()} makes no sense.")

    def _rows(self, table: Table) -> Iterator[tuple[bytes, bytes]]:
        for row in self._snapshot.scan(table, b"", _END):
            yield row
            self._seen += 1
            if self._seen % _STEP == 0:
                self._progress(CHECKING_ROWS, self._seen, self._total)

    def _check_meta(self) -> None:
        for key, row in self._rows(Table.META):
            size = 16 if key == IDENTITY_KEY else 8 if key in _NUMBER_KEYS else len(row)
            if len(row) != size:
                self._find_unreadable(Table.META, key)
            elif key in _NUMBER_KEYS:
                self._numbers[key] = int.from_bytes(row, "little")
        for name, load in _LOADERS.items():
            try:
                load(self._snapshot)
            except UNREADABLE:
                self._find(f"The {name} cannot be read.")

    def _check_queues(self) -> None:
        for key, row in self._rows(Table.QUEUES):
            try:
                self._queues.take(int.from_bytes(key[:-1], "big"), key[-1], row)
            except UNREADABLE:
                self._find_unreadable(Table.QUEUES, key)
        for sentence in self._queues.faults(self._numbers[QUEUE_NUMBER_KEY]):
            self._find(sentence)

    def _check_transfers(self) -> None:
        for key, row in self._rows(Table.TRANSFER):
            try:
                self._transfers.take(key, row)
            except UNREADABLE:
                self._find_unreadable(Table.TRANSFER, key)
        for sentence in self._transfers.faults():
            self._find(sentence)
        try:
            counted = onces.read_state(self._snapshot)[2]
        except UNREADABLE:
            return
        for sentence in self._transfers.wrong_ids(counted):
            self._find(sentence)

    # Messages

    def _check_index(self) -> None:
        for key, row in self._rows(Table.INDEX):
            try:
                number, lookup = split_index_key(key)
                record = Record.unpack(row)
            except struct.error:
                self._find_unreadable(Table.INDEX, key)
                continue
            if len(record.readers) % 4:
                self._find_unreadable(Table.INDEX, key)
            queue = self._queues.get(number)
            if queue is None:
                self._lost[number] += 1
            else:
                self._check_message(queue, lookup, record)
            self._references.add(record.packet_number, record.size, number, lookup)

    def _check_runs(self) -> None:
        """Each run is whole, and none of its messages is in the index, too, or in another run."""
        place = 0, 0
        for key, row in self._rows(Table.RUNS):
            try:
                run = MessageRun.unpack(key, row)
            except UNREADABLE:
                self._find_unreadable(Table.RUNS, key)
                continue
            queue = self._queues.get(run.queue)
            if queue is None:
                self._lost[run.queue] += run.left
            else:
                self._check_run(queue, run)
                if (run.queue, run.first) < place:
                    self._find(f"Message {run.first} of {queue} is in two runs.")
            place = run.queue, run.end
            self._references.add(run.record.packet_number, run.record.size, run.queue, run.first)

    def _check_run(self, queue: CheckedQueue, run: MessageRun) -> None:
        queue.messages += run.left
        queue.bytes += run.bytes_left
        if bool(run.stood) is not (queue.given is not None):
            self._find(f"Message {run.first} of {queue} does not say where it stood in its queue.")
        if queue.given is not None:
            done, reserved = queue.given
            queue.waiting += sum(position > done for position, _, _ in run.members(0))
            if not 0 < run.first < run.end <= reserved + 1:
                self._find(f"Message {run.end - 1} of {queue} is not between 1 and {reserved}.")
        elif run.first >> ARRIVAL_BITS > PRIORITY_MAX:
            self._find(f"Message {run.first} of {queue} has no possible priority.")
        if queue.given is None and run.end - 1 & ARRIVAL_MASK > self._numbers[ARRIVAL_KEY]:
            self._find(f"The number of message {run.end - 1} of {queue} would be given out again.")
        self._check_departure(queue, run)
        first, end = index_key(run.queue, run.first), index_key(run.queue, run.end)
        for key, _ in self._snapshot.scan(Table.INDEX, first, end):
            lookup = split_index_key(key)[1]
            if run.member(lookup) is not None:
                self._find(f"Message {lookup} of {queue} is in a run and in the index.")

    def _check_departure(self, queue: CheckedQueue, run: MessageRun) -> None:
        """All messages of a run have one end of life, and a sequence to be sent in."""
        is_outgoing = queue.kind is QueueKind.OUTGOING
        expires = run.expiry_key
        if run.record.flags & ~flags_of_runs(queue.kind):
            self._find(f"Message {run.first} of {queue} cannot be in a run.")
        elif expires and self._snapshot.get(Table.EXPIRY, expires) is None:
            self._find(f"Messages {run.first} to {run.end - 1} of {queue} would never expire.")
        is_numbered = is_outgoing and run.record.flags & Owed.TRANSACTIONAL
        if is_numbered and not self._transfers.has_sequence(queue, run.first & ARRIVAL_MASK):
            self._find(f"Message {run.first} of {queue} has no sequence to be sent in.")

    def _check_message(self, queue: CheckedQueue, lookup: int, record: Record) -> None:
        queue.messages += 1
        queue.bytes += record.size
        if queue.given is not None:
            done, end = queue.given
            queue.waiting += lookup > done
            if not 0 < lookup <= end:
                self._find(f"Message {lookup} of {queue} is not between 1 and {end}.")
            return
        if lookup >> ARRIVAL_BITS > PRIORITY_MAX:
            self._find(f"Message {lookup} of {queue} has no possible priority.")
        if lookup & ARRIVAL_MASK > self._numbers[ARRIVAL_KEY]:
            self._find(f"The number of message {lookup} of {queue} would be given out again.")
        is_numbered = queue.kind is QueueKind.OUTGOING and record.flags & Owed.TRANSACTIONAL
        if is_numbered and not self._transfers.has_sequence(queue, lookup & ARRIVAL_MASK):
            self._find(f"Message {lookup} of {queue} has no sequence to be sent in.")
        if record.expires != NEVER:
            key = expiry_key(record.expires, queue.number, lookup)
            if self._snapshot.get(Table.EXPIRY, key) is None:
                self._find(f"Message {lookup} of {queue} would never expire.")
        if queue.kind is QueueKind.DELAYED:
            key = due_key(due_of(record.readers), queue.number, lookup)
            if self._snapshot.get(Table.DELAYED, key) is None:
                self._find(f"Message {lookup} of {queue} would never be read.")

    def _check_expiry(self) -> None:
        for key, _ in self._rows(Table.EXPIRY):
            try:
                expires, number, lookup = split_expiry_key(key)
                table = Table.RUNS if lookup & RUN_BIT else Table.INDEX
                lookup &= ~RUN_BIT
                row = self._snapshot.get(table, index_key(number, lookup))
                if row is None or Record.unpack(row).expires != expires:
                    self._find(
                        f"Message {lookup} of queue number {number} expires but is not there."
                    )
            except struct.error:
                self._find_unreadable(Table.EXPIRY, key)

    def _check_delayed(self) -> None:
        for key, _ in self._rows(Table.DELAYED):
            try:
                due, number, lookup = split_due_key(key)
                row = self._snapshot.get(Table.INDEX, index_key(number, lookup))
                if row is None or due_of(row) != due:
                    self._find(f"Message {lookup} of queue number {number} waits but is not there.")
            except struct.error:
                self._find_unreadable(Table.DELAYED, key)

    # Transactions

    def _check_transactions(self) -> None:
        names: set[str] = set()
        rows = self._rows(Table.TRANSACTIONS)
        for _, group in groupby(rows, key=lambda row: row[0][:8]):
            self._transactions += 1
            sent = 0
            for key, row in group:
                try:
                    number, kind, place = split_key(key)
                    sent += self._take_transaction_row(number, kind, row, names)
                except UNREADABLE:
                    self._find_unreadable(Table.TRANSACTIONS, key)
                    continue
                if kind == SENT and place != sent - 1:
                    self._find(f"Transaction {number} lacks a message that it has sent.")
                    sent = place + 1

    def _take_transaction_row(self, number: int, kind: int, row: bytes, names: set[str]) -> int:
        """Look at a row of a transaction; 1 if it is about a message that it has sent."""
        if kind == SENT:
            queue, _, packet, size, *_ = read_sent(row)
            self._references.add(packet, size, queue, 0)
        elif kind == RECEIVED:
            queue, lookup = split_place(row)
            found = self._queues.get(queue)
            is_there = record_of(self._snapshot, queue, lookup) is not None
            if found is not None and found.known and not is_there:
                self._find(f"Transaction {number} has received a message that is not there.")
        elif kind == MOVED:
            split_place(row)
        elif kind == HEADER:
            name = json.loads(row)["xid"]
            if not isinstance(name, str) or name in names:
                self._find(f"Transaction {number} has no name of its own.")
            names.add(str(name))
        else:
            raise ValueError(kind)
        return kind == SENT

    # Packets

    def _check_packets(self) -> None:
        packets = self._packets()
        packet = next(packets, None)
        for number, group in groupby(self._references, key=lambda reference: reference.packet):
            while packet is not None and packet.number < number:
                self._find_unused(packet)
                packet = next(packets, None)
            first, *others = group
            if others:
                self._find(f"Packet {number} belongs to {len(others) + 1} messages.")
            if packet is None or packet.number != number:
                self._find(f"{self._message(first)} has lost its packet.")
            else:
                self._check_packet(packet, first)
                packet = next(packets, None)
        while packet is not None:
            self._find_unused(packet)
            packet = next(packets, None)

    def _packets(self) -> Iterator[_Packet]:
        packet: _Packet | None = None
        for key, row in self._rows(Table.PACKETS):
            try:
                number, chunk = split_packet_key(key)
            except struct.error:
                self._find_unreadable(Table.PACKETS, key)
                continue
            if packet is None or packet.number != number:
                if packet is not None:
                    yield packet
                packet = _Packet(number)
            packet.size += len(row)
            packet.chunks.append(chunk)
        if packet is not None:
            yield packet

    def _check_packet(self, packet: _Packet, reference: PacketReference) -> None:
        if packet.size != reference.size:
            self._find(
                f"{self._message(reference)} has a packet of {packet.size} bytes"
                f" in place of {reference.size}."
            )
        elif packet.chunks != list(range(len(packet_keys(packet.number, packet.size)))):
            self._find(f"{self._message(reference)} has a packet in the wrong pieces.")

    def _find_unused(self, packet: _Packet) -> None:
        self._find(f"Packet {packet.number} of {packet.size} bytes belongs to no message.")

    def _message(self, reference: PacketReference) -> str:
        queue = self._queues.get(reference.queue) or CheckedQueue(reference.queue)
        if reference.lookup:
            return f"Message {reference.lookup} of {queue}"
        return f"A message to {queue} in a transaction"

    # History

    def _check_history(self) -> None:
        try:
            state = History(self._snapshot, 0).state
        except UNREADABLE:
            return  # this was found before
        pages = size = 0
        for key, row in self._rows(Table.HISTORY):
            if int.from_bytes(key, "big") != state.first + pages:
                self._find(f"Page {state.first + pages} of the history is missing.")
                return
            pages += 1
            size += len(row)
        if (pages, size) != (state.next - state.first, state.size):
            self._find("The history does not have the pages that it counts.")

    def _check_audit(self) -> None:
        raw = self._snapshot.get(Table.META, AUDIT_KEY)
        try:
            first, following, counted = (1, 1, 0) if raw is None else read_audit_state(raw)
        except UNREADABLE:
            self._find("The state of the audit log cannot be read.")
            return
        entries = size = 0
        for key, row in self._rows(Table.AUDIT):
            try:
                number = read_entry(key, row).number
            except UNREADABLE:
                self._find_unreadable(Table.AUDIT, key)
                return
            if number != first + entries:
                self._find(f"Entry {first + entries} of the audit log is missing.")
                return
            entries += 1
            size += len(row)
        if (entries, size) != (following - first, counted):
            self._find("The audit log does not have the entries that it counts.")
