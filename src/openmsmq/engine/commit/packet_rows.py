"""The packets that a commit stores, reads and drops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.commit.run_rows import NewRun, StoredRun, with_marks
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import identifiers
from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    chunks,
    packet_key,
    packet_keys,
    packet_place,
)
from openmsmq.engine.storage.record_columns import RecordColumns
from openmsmq.engine.storage.runs import (
    is_member,
    plain_record,
    read_members,
    read_packet,
    read_start,
)
from openmsmq.engine.storage.tables import Table, Writer


class PacketRows:
    """Rows of packets, gathered so that they are appended in one go."""

    __slots__ = ("_packet_deletes", "_packet_rows", "numbers", "writer")

    def __init__(self, writer: Writer, numbers: Numbers) -> None:
        self.writer = writer
        self.numbers = numbers
        self._packet_rows: list[tuple[bytes, bytes]] = []
        self._packet_deletes: list[bytes] = []

    def store_packet(self, packet: bytes) -> int:
        """Keep a packet; its number."""
        number = self.numbers.packet
        self.numbers.packet = number + 1
        if len(packet) <= CHUNK_SIZE:
            self._packet_rows.append((packet_key(number, 0), packet))
        else:
            keys = packet_keys(number, len(packet))
            self._packet_rows += zip(keys, chunks(packet), strict=True)
        return number

    def store_packets(self, packets: Sequence[bytes]) -> Sequence[int]:
        """Keep packets; their numbers."""
        if max(map(len, packets), default=0) > CHUNK_SIZE:
            return [self.store_packet(packet) for packet in packets]
        first = self.numbers.packet
        self.numbers.packet += len(packets)
        places = range(first, self.numbers.packet)
        self._packet_rows += zip(map(packet_key, places, repeat(0)), packets, strict=True)
        return places

    def store_run(self, run: NewRun) -> StoredRun:
        """Keep the blob of messages that came in one piece."""
        blob, sizes, priority, flags, expires = run
        identifier = identifiers([blob[: sizes[0]]])
        return StoredRun(self.store_packet(blob), sizes, priority, flags, identifier, expires)

    def take_run(self, run: StoredRun) -> NewRun:
        """The reverse: the blob is dropped."""
        self._write_packets()
        keys = packet_keys(run.number, run.size)
        self._packet_deletes += keys
        blob = b"".join(self.writer.get_many(Table.PACKETS, keys))
        return NewRun(blob, run.sizes, run.priority, run.flags, run.expires)

    def mark_packet(self, number: int, start: int, end: int, marks: int) -> None:
        """Set bits in the TransactionHeader of a packet that is stored, or about to be.

        It is between two places of what is stored under its number.
        """
        rows = dict(self._packet_rows)
        first = start // CHUNK_SIZE
        keys = [packet_key(number, at) for at in range(first, (end - 1) // CHUNK_SIZE + 1)]
        parts = [rows.get(key) or self.writer.get_many(Table.PACKETS, [key])[0] for key in keys]
        whole, at = b"".join(parts), first * CHUNK_SIZE
        changed = with_marks(whole, start - at, end - at, marks)
        for key, part in zip(keys, chunks(changed), strict=True):
            if key in rows:
                rows[key] = part
            else:
                self.writer.put(Table.PACKETS, key, part)
        self._packet_rows = list(rows.items())

    def drop_packet(self, number: int, size: int) -> None:
        """Remove a packet from the store."""
        if size <= CHUNK_SIZE:
            self._packet_deletes.append(packet_key(number, 0))
        else:
            self._packet_deletes += packet_keys(number, size)

    def drop_packets(self, columns: RecordColumns) -> None:
        """Remove the packets of messages with these records, none of which is in a run."""
        if max(columns.sizes, default=0) <= CHUNK_SIZE:
            self._packet_deletes += map(packet_key, columns.packets, repeat(0))
            return
        for number, size in zip(columns.packets, columns.sizes, strict=True):
            self.drop_packet(number, size)

    def packet(self, raw: bytes) -> bytes:
        """The packet of a message, given its record; it may be one of this commit."""
        self._write_packets()
        return read_packet(self.writer, raw)

    def with_own_packets(self, raws: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Messages of runs with packets of their own: their records, and these packets."""
        self._write_packets()
        packets = read_members(self.writer, raws)
        numbers = self.store_packets(packets)
        return list(map(plain_record, raws, numbers)), packets

    def first_chunks(self, raws: Sequence[bytes]) -> list[bytes]:
        """Enough of the packets of messages to tell their identifiers."""
        self._write_packets()
        if any(map(is_member, raws)):
            return [
                read_start(self.writer, raw) if is_member(raw) else self.first_chunks([raw])[0]
                for raw in raws
            ]
        keys = [packet_key(packet_place(raw)[0], 0) for raw in raws]
        return self.writer.get_many(Table.PACKETS, keys)

    def start_of(self, part: RunSlice) -> bytes:
        """Enough of the first packet of a slice to tell its identifier."""
        raw = part.run.member(part.first)
        assert raw is not None, "a message of a slice is in its run"
        return self.first_chunks([raw])[0]

    def _write_packets(self) -> None:
        if self._packet_rows:
            self.writer.put_many(Table.PACKETS, self._packet_rows, append=True)
            self._packet_rows = []
