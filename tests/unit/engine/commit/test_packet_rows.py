"""Packets of one commit are read whether they are on disk, about to be, or part of a blob."""

from __future__ import annotations

from tests.unit.engine.runs import fill
from tests.unit.engine.world import World

from openmsmq.engine.commit.packet_rows import PacketRows
from openmsmq.engine.storage.history import identifiers
from openmsmq.engine.storage.layout import CHUNK_SIZE, NEVER, Record
from openmsmq.engine.storage.runs import stored


def test_packets_are_read_before_they_are_written() -> None:
    world = World()
    packets = PacketRows(world.store.begin(), world.core.numbers)
    contents = [b"a" * 10, b"b" * (2 * CHUNK_SIZE + 1), b""]
    raws = [
        Record(packets.store_packet(content), len(content), 0, NEVER).pack() for content in contents
    ]
    assert [packets.packet(raw) for raw in raws] == contents
    assert packets.first_chunks(raws) == [b"a" * 10, b"b" * CHUNK_SIZE, b""]
    world.store.abort()


def test_so_are_those_of_a_run_and_others_together() -> None:
    world = World()
    queue = world.queue()
    sent = fill(world, queue)
    packets = PacketRows(world.store.begin(), world.core.numbers)
    raws = [raw for _, raw, _ in stored(world.store.snapshot, queue.number)]
    other = Record(packets.store_packet(sent[2].packet), len(sent[2].packet), 0, NEVER).pack()
    both = [*raws, other]
    expected = [*(message.packet for message in sent), sent[2].packet]
    assert [packets.packet(raw) for raw in both] == expected
    assert identifiers(packets.first_chunks(both)) == identifiers(expected)
    world.store.abort()
