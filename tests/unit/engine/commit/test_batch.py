"""What one commit writes."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import NOW, letter, message, properties

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.commit.queue_counts import QUEUE_NUMBER_KEY
from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.outgoing.sequence_numbers import SequenceNumbers
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.storage.history import Event, History
from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    COUNTERS_ROW,
    NEVER,
    Record,
    index_key,
    lookup_id,
    queue_key,
    split_expiry_key,
    split_index_key,
    split_packet_key,
    unpack_counters,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE
from openmsmq.store.memory import MemoryStore
from openmsmq.types.queues import QueueKind

BIG = b"big" * CHUNK_SIZE


class Bench:
    """A store that batches are written to."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.numbers = Numbers(
            packet=1,
            arrival=100,
            arrival_end=1 << 32,
            message_id=0,
            message_id_end=1,
            queue=17,
            sequences=SequenceNumbers(self.store.snapshot),
        )
        self.queue = ManagedQueue(16, properties())
        self.history = History(self.store.snapshot, 1 << 20)
        self.statistics = Statistics(self.store.snapshot)
        self.batch = self._begin()

    def _begin(self) -> Batch:
        return Batch(self.store.begin(), self.numbers, NOW, self.history, self.statistics)

    def write(self) -> None:
        """Commit the batch and begin another."""
        self.batch.write()
        self.store.commit()
        self.store.refresh()
        self.batch.apply()
        self.batch = self._begin()

    def insert(self, *messages: NewMessage, queue: ManagedQueue | None = None) -> list[int]:
        """Insert messages, without a word about who did."""
        return self.batch.insert_many(queue or self.queue, messages, "")

    def rows(self, table: Table) -> dict[bytes, bytes]:
        return dict(self.store.snapshot.scan(table, b"", b"\xff" * 20))

    @property
    def index(self) -> dict[int, Record]:
        rows = self.rows(Table.INDEX)
        return {split_index_key(key)[1]: Record.unpack(raw) for key, raw in rows.items()}

    @property
    def packets(self) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for key, part in self.rows(Table.PACKETS).items():
            number, _ = split_packet_key(key)
            found[number] = found.get(number, b"") + part
        return found

    @property
    def expiry(self) -> list[tuple[int, int, int]]:
        return [split_expiry_key(key) for key in self.rows(Table.EXPIRY)]

    def counters(self, queue: ManagedQueue | None = None) -> tuple[int, int] | None:
        key = queue_key((queue or self.queue).number, COUNTERS_ROW)
        raw = self.store.snapshot.get(Table.QUEUES, key)
        return None if raw is None else unpack_counters(raw)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_messages_are_inserted_at_their_places_with_rising_numbers(bench: Bench) -> None:
    """DMPR-055, DMPR-189, DMPR-190, DMPR-191, DMPR-192."""
    lookups = bench.insert(
        message("a", priority=3), message(BIG, priority=7), message("c", priority=3, expires=5)
    )
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


def test_what_expires_is_found_by_time(bench: Bench) -> None:
    """DMPR-193."""
    assert bench.batch.next_expiry == NEVER
    sent = [message(BIG, expires=NOW + 9), message("b"), message("c", expires=NOW + 5)]
    first, _, third = bench.insert(*sent)
    assert bench.batch.next_expiry == NOW + 5
    bench.write()
    assert bench.expiry == [(NOW + 5, 16, third), (NOW + 9, 16, first)]
    for lookup, record in bench.index.items():
        bench.batch.remove_many(bench.queue, [(lookup, record.pack())])
    bench.write()
    assert bench.expiry == []


def test_queues_and_counters_show_what_was_committed(bench: Bench) -> None:
    """DMPR-313, DMPR-315."""
    bench.insert(message("abc"), message("de"))
    assert (bench.queue.messages, bench.queue.size) == (0, 0)
    assert bench.batch.size_of(bench.queue) == 5
    bench.write()
    assert (bench.queue.messages, bench.queue.size) == (2, 5) == bench.counters()
    (lookup, record), _ = bench.index.items()
    assert bench.batch.take_out(bench.queue, lookup, record.pack())
    bench.write()
    assert (bench.queue.messages, bench.queue.size) == (1, 2) == bench.counters()


@pytest.mark.parametrize("packet", [b"small", BIG], ids=["one chunk", "many chunks"])
def test_a_message_that_is_removed_leaves_nothing_behind(bench: Bench, packet: bytes) -> None:
    bench.insert(*[message(packet, expires=NOW)] * 3)
    bench.write()
    (first, record), *others = bench.index.items()
    assert bench.batch.packet(record.pack()) == packet
    assert bench.batch.take_out(bench.queue, first, record.pack())
    bench.batch.drop_packet(record.packet_number, record.size)
    bench.batch.remove_many(bench.queue, [(lookup, other.pack()) for lookup, other in others])
    bench.write()
    assert (bench.index, bench.packets, bench.expiry) == ({}, {}, [])
    assert bench.counters() == (0, 0)


def test_a_packet_can_be_stored_before_its_message_is_inserted(bench: Bench) -> None:
    number = bench.batch.store_packet(BIG)
    dropped = bench.batch.store_packet(b"dropped")
    bench.write()
    assert bench.packets == {number: BIG, dropped: b"dropped"}
    record = Record(number, len(BIG), NOW, NOW + 1)
    assert bench.batch.first_chunks([record.pack()]) == [BIG[:CHUNK_SIZE]]
    lookup = bench.batch.insert_stored(bench.queue, 0, record)
    bench.batch.drop_packet(dropped, len(b"dropped"))
    assert bench.batch.inserted == {bench.queue: [lookup]}
    bench.write()
    assert bench.index == {lookup_id(0, 101): record}
    assert bench.packets == {number: BIG}
    assert bench.expiry == [(NOW + 1, 16, lookup)]
    assert bench.counters() == (1, len(BIG))


@pytest.mark.parametrize("size", [10, 3 * CHUNK_SIZE])
@pytest.mark.parametrize("before", [True, False], ids=["stored", "on its way"])
def test_a_packet_can_be_marked_where_it_is(bench: Bench, size: int, before: bool) -> None:
    """The place of a message in its transaction is known only at the end of that."""
    packet = letter("x" * size, transactional=True).packet
    number = bench.batch.store_packet(packet)
    other = bench.batch.store_packet(b"other")
    if before:
        bench.write()
    bench.batch.mark_packet(number, 0, len(packet), TransactionFlags.LM)
    bench.write()
    header = PacketView(bench.packets[number]).transaction
    assert header is not None
    assert header.flags == TransactionFlags.LM
    assert PacketView(bench.packets[number]).message_size == size
    assert bench.packets[other] == b"other"


def test_a_record_is_rewritten_in_its_place(bench: Bench) -> None:
    (lookup,) = bench.insert(message("a"))
    bench.write()
    changed = bench.index[lookup]._replace(abort_count=3)
    bench.batch.rewrite(bench.queue, lookup, changed.pack())
    bench.write()
    assert bench.index == {lookup: changed}
    assert bench.counters() == (1, 1)


def test_messages_come_back_under_their_old_lookup_identifiers(bench: Bench) -> None:
    (lookup,) = bench.insert(message("a", expires=NOW + 1))
    bench.write()
    record = bench.index[lookup]
    bench.batch.remove_many(bench.queue, [(lookup, record.pack())])
    bench.write()
    bench.batch.reinsert(bench.queue, [Entry(lookup, record.pack(), b"a")])
    bench.write()
    assert [bench.packets[again.packet_number] for again in bench.index.values()] == [b"a"]
    assert list(bench.index) == [lookup]
    assert bench.expiry == [(NOW + 1, 16, lookup)]
    assert bench.counters() == (1, 1)


def test_a_message_leaves_its_queue_once_however_often_that_is_asked_for(bench: Bench) -> None:
    (lookup,) = bench.insert(message("a"))
    bench.write()
    raw, target = bench.index[lookup].pack(), ManagedQueue(17, properties("other"))
    assert bench.batch.take_out(bench.queue, lookup, raw)
    assert not bench.batch.take_out(bench.queue, lookup, raw)
    bench.batch.move(bench.queue, lookup, raw, target, "")
    bench.write()
    assert bench.counters() == (0, 0)
    assert bench.index == {}


def test_messages_that_are_removed_together_are_gone_for_the_rest_of_the_commit(
    bench: Bench,
) -> None:
    """An acknowledgement removes them, and another names one of them: it leaves once."""
    lookups = bench.insert(message("a"), message("b"))
    bench.write()
    rows = [(at, bench.rows(Table.INDEX)[index_key(16, at)]) for at in lookups]
    bench.batch.remove_many(bench.queue, rows)
    assert [bench.batch.record(bench.queue, at) for at in lookups] == [None, None]
    assert not bench.batch.take_out(bench.queue, *rows[0])
    bench.write()
    assert (bench.queue.messages, bench.queue.size) == (0, 0)


def test_a_move_takes_the_message_with_its_place_and_its_time(bench: Bench) -> None:
    """DMPR-275, DMPR-279, DMPR-280, DMPR-402."""
    (lookup,) = bench.insert(message("abc", expires=NOW + 5))
    bench.write()
    before, target = bench.index[lookup], ManagedQueue(17, properties("other"))
    bench.batch.move(bench.queue, lookup, before.pack(), target, "")
    assert bench.batch.inserted == {target: [lookup]}
    bench.write()
    assert list(bench.rows(Table.INDEX)) == [index_key(17, lookup)]
    assert bench.index == {lookup: before._replace(move_count=1, last_move_time=NOW)}
    assert bench.expiry == [(NOW + 5, 17, lookup)]
    assert (bench.counters(), bench.counters(target)) == ((0, 0), (1, 3))
    assert (bench.queue.messages, target.messages) == (0, 1)


def test_a_deleted_queue_gets_no_counters_again(bench: Bench) -> None:
    bench.insert(message("a"))
    bench.queue.deleted = True
    bench.write()
    assert bench.counters() is None


@pytest.mark.parametrize("kind", [QueueKind.SUBQUEUE, QueueKind.OUTGOING])
def test_a_queue_that_comes_and_goes_is_written_with_its_first_message(
    bench: Bench, kind: QueueKind
) -> None:
    """So is the next number, which is not given again then."""
    queue = ManagedQueue(17, properties("other", kind=kind), is_stored=False)
    bench.numbers.queue = 18
    bench.insert(message("a"), queue=queue)
    bench.write()
    rows = bench.rows(Table.QUEUES)
    assert rows.keys() == {queue_key(17), queue_key(17, COUNTERS_ROW)}
    assert bench.rows(Table.META)[QUEUE_NUMBER_KEY] == (18).to_bytes(8, "little")
    assert queue.is_stored
    writes = bench.store.writes
    bench.insert(message("b"), queue=queue)
    bench.write()
    assert QueueProperties.from_row(rows[queue_key(17)]) == queue.properties
    assert bench.counters(queue) == (2, 2)
    assert bench.store.writes > writes


def test_such_a_queue_can_be_kept_before_it_has_messages(bench: Bench) -> None:
    queue = ManagedQueue(17, properties("q;retry", kind=QueueKind.SUBQUEUE), is_stored=False)
    bench.batch.keep(queue)
    assert list(bench.batch.grown()) == [(queue, 0)]
    bench.write()
    assert queue_key(17) in bench.rows(Table.QUEUES)
    assert bench.counters(queue) == (0, 0)


def test_properties_changed_together_build_on_each_other(bench: Bench) -> None:
    assert bench.batch.properties(bench.queue) is bench.queue.properties
    changed = bench.queue.properties.changed(NOW, label="new")
    bench.batch.set_properties(bench.queue, changed)
    assert bench.batch.properties(bench.queue) is changed
    bench.write()
    assert bench.batch.properties(bench.queue) is bench.queue.properties


def test_events_and_counts_are_written_with_what_they_are_about(bench: Bench) -> None:
    sent = letter("x")
    bench.batch.insert_many(bench.queue, [sent], "partner")
    assert bench.batch.keeps_history
    bench.batch.count("odd", 2)
    assert bench.statistics.counts == {}
    bench.write()
    assert bench.statistics.counts == {"arrived": 1, "odd": 2}
    assert Statistics(bench.store.snapshot).counts == {"arrived": 1, "odd": 2}
    (found,) = History(bench.store.snapshot, 1).of(
        bench.store.snapshot, PacketView(sent.packet).identifier
    )
    assert (found.time, found.event, found.queue, found.by) == (NOW, Event.ARRIVED, 16, "partner")


def test_without_history_nothing_is_noted(bench: Bench) -> None:
    bench.history.limit = 0
    (lookup,) = bench.insert(letter("x"))
    bench.write()
    raw = bench.index[lookup].pack()
    bench.batch.move(bench.queue, lookup, raw, ManagedQueue(17, properties("other")), "")
    bench.batch.note(Event.MOVED, bench.queue, [lookup], b"x" * 20, "")
    assert not bench.batch.keeps_history
    bench.write()
    assert bench.rows(Table.HISTORY) == {}
    assert bench.statistics.counts == {"arrived": 1, "moved": 1}


def test_an_empty_batch_writes_nothing(bench: Bench) -> None:
    before = bench.store.writes
    bench.batch.write()
    assert bench.store.writes == before
