"""What one commit writes."""

from __future__ import annotations

import pytest
from tests.unit.model.world import NOW, message, properties

from openmsmq.model.committing import Batch, Numbers, Operation
from openmsmq.model.layout import (
    CHUNK_SIZE,
    COUNTERS_ROW,
    Record,
    lookup_id,
    packet_place,
    queue_key,
    split_index_key,
    split_packet_key,
    unpack_counters,
)
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Entry
from openmsmq.model.storage import Table
from openmsmq.properties.message import INFINITE
from openmsmq.store.memory import MemoryStore

BIG = b"big" * CHUNK_SIZE


class Bench:
    """A store that batches are written to."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.numbers = Numbers(
            packet=1, arrival=100, arrival_end=1 << 32, message_id=0, message_id_end=1
        )
        self.queue = Queue(16, properties())
        self.batch = Batch(self.store.begin(), self.numbers)

    def write(self) -> None:
        """Commit the batch and begin another."""
        self.batch.write()
        self.store.commit()
        self.store.refresh()
        self.batch.apply_counts()
        self.batch = Batch(self.store.begin(), self.numbers)

    @property
    def index(self) -> dict[int, Record]:
        rows = self.store.snapshot.scan(Table.INDEX, b"", b"\xff" * 12)
        return {split_index_key(key)[1]: Record.unpack(raw) for key, raw in rows}

    @property
    def packets(self) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for key, part in self.store.snapshot.scan(Table.PACKETS, b"", b"\xff" * 10):
            number, _ = split_packet_key(key)
            found[number] = found.get(number, b"") + part
        return found

    @property
    def counters(self) -> tuple[int, int]:
        raw = self.store.snapshot.get(Table.QUEUES, queue_key(self.queue.number, COUNTERS_ROW))
        assert raw is not None
        return unpack_counters(raw)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_messages_are_inserted_at_their_places_with_rising_numbers(bench: Bench) -> None:
    """DMPR-055, DMPR-189, DMPR-190, DMPR-191, DMPR-192."""
    sent = [message("a", priority=3), message(BIG, priority=7), message("c", priority=3, expires=5)]
    lookups = bench.batch.insert_many(bench.queue, sent, NOW)
    assert lookups == [lookup_id(3, 101), lookup_id(7, 102), lookup_id(3, 103)]
    assert bench.numbers.arrival == 103
    assert bench.batch.inserted == {bench.queue: lookups}
    bench.write()
    assert list(bench.index) == [lookups[1], lookups[0], lookups[2]]
    by_packet = {bench.packets[r.packet_number]: r for r in bench.index.values()}
    assert by_packet[BIG].size == len(BIG)
    assert by_packet[b"c"].expires == 5
    assert by_packet[b"a"].expires == INFINITE
    assert {record.arrived_time for record in bench.index.values()} == {NOW}


def test_queues_and_counters_show_what_was_committed(bench: Bench) -> None:
    """DMPR-313, DMPR-315."""
    bench.batch.insert_many(bench.queue, [message("abc"), message("de")], NOW)
    assert (bench.queue.messages, bench.queue.size) == (0, 0)
    bench.write()
    assert (bench.queue.messages, bench.queue.size) == (2, 5) == bench.counters
    (lookup, record), _ = bench.index.items()
    bench.batch.remove(bench.queue, lookup, *packet_place(record.pack()))
    bench.write()
    assert (bench.queue.messages, bench.queue.size) == (1, 2) == bench.counters


@pytest.mark.parametrize("packet", [b"small", BIG], ids=["one chunk", "many chunks"])
def test_a_message_that_is_removed_leaves_nothing_behind(bench: Bench, packet: bytes) -> None:
    bench.batch.insert_many(bench.queue, [message(packet)] * 3, NOW)
    bench.write()
    places = [packet_place(record.pack()) for record in bench.index.values()]
    first, *others = bench.index
    bench.batch.remove(bench.queue, first, *places[0])
    bench.batch.remove_many(bench.queue, others, places[1:])
    bench.write()
    assert (bench.index, bench.packets, bench.counters) == ({}, {}, (0, 0))


def test_a_packet_can_be_stored_before_its_message_is_inserted(bench: Bench) -> None:
    number = bench.batch.store_packet(BIG)
    dropped = bench.batch.store_packet(b"dropped")
    bench.write()
    assert bench.packets == {number: BIG, dropped: b"dropped"}
    record = Record(number, len(BIG), NOW, INFINITE)
    lookup = bench.batch.insert_stored(bench.queue, 0, record.pack(), len(BIG))
    bench.batch.drop_packet(dropped, len(b"dropped"))
    assert bench.batch.inserted == {bench.queue: [lookup]}
    bench.write()
    assert bench.index == {lookup_id(0, 101): record}
    assert bench.packets == {number: BIG}
    assert bench.counters == (1, len(BIG))


def test_a_record_is_rewritten_in_its_place(bench: Bench) -> None:
    (lookup,) = bench.batch.insert_many(bench.queue, [message("a")], NOW)
    bench.write()
    changed = bench.index[lookup]._replace(abort_count=3)
    bench.batch.rewrite(bench.queue, lookup, changed.pack())
    bench.write()
    assert bench.index == {lookup: changed}
    assert bench.counters == (1, 1)


def test_messages_come_back_under_their_old_lookup_identifiers(bench: Bench) -> None:
    (lookup,) = bench.batch.insert_many(bench.queue, [message("a")], NOW)
    bench.write()
    record = bench.index[lookup]
    bench.batch.remove(bench.queue, lookup, *packet_place(record.pack()))
    bench.write()
    bench.batch.reinsert(bench.queue, [Entry(lookup, record.pack(), b"a")])
    bench.write()
    assert [bench.packets[again.packet_number] for again in bench.index.values()] == [b"a"]
    assert list(bench.index) == [lookup]
    assert bench.counters == (1, 1)


def test_a_message_is_removed_once_however_often_that_is_asked_for(bench: Bench) -> None:
    (lookup,) = bench.batch.insert_many(bench.queue, [message("a")], NOW)
    bench.write()
    place = packet_place(bench.index[lookup].pack())
    assert bench.batch.remove(bench.queue, lookup, *place)
    assert not bench.batch.remove(bench.queue, lookup, *place)
    bench.write()
    assert bench.counters == (0, 0)


def test_a_deleted_queue_gets_no_counters_again(bench: Bench) -> None:
    bench.batch.insert_many(bench.queue, [message("a")], NOW)
    bench.queue.deleted = True
    bench.write()
    key = queue_key(bench.queue.number, COUNTERS_ROW)
    assert bench.store.snapshot.get(Table.QUEUES, key) is None


def test_an_empty_batch_writes_nothing(bench: Bench) -> None:
    before = bench.store.writes
    bench.batch.write()
    assert bench.store.writes == before


def test_an_operation_grows_only_if_it_says_so() -> None:
    operation = Operation(lambda batch: None, lambda: None, lambda error: None)
    assert not operation.grows
