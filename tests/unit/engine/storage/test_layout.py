"""Rows of the store: keys that sort as queues do, and records."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    NO_TOTALS,
    PROPERTIES_ROW,
    Owed,
    Record,
    Total,
    chunks,
    due_key,
    due_of,
    expiry_key,
    flags_of,
    index_key,
    local_facts,
    lookup_id,
    owed,
    pack_counters,
    packet_keys,
    packet_place,
    place_and_expiry,
    queue_key,
    split_due_key,
    split_expiry_key,
    split_index_key,
    split_packet_key,
    unpack_counters,
    unpack_totals,
)
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.types.lookup import ARRIVAL_MASK, LOOKUP_MAX

RECORD = Record(
    packet_number=1 << 40,
    size=4_000_000,
    arrived_time=1_700_000_000,
    expires=0xFFFFFFFF,
    abort_count=2,
    move_count=3,
    last_move_time=1_700_000_001,
    message_class=0xC001,
    flags=1,
)


@pytest.mark.parametrize("priority", range(8))
def test_a_lookup_identifier_is_seven_less_priority_above_the_arrival_number(priority: int) -> None:
    """DMPR-190, DMPR-191."""
    lookup = lookup_id(priority, 0x0123456789ABCD)
    assert lookup >> 56 == 7 - priority
    assert lookup & ARRIVAL_MASK == 0x0123456789ABCD


def test_lookup_identifiers_rise_along_the_queue() -> None:
    """Higher priorities first, then earlier arrivals (DMPR-043, DMPR-052)."""
    order = [lookup_id(7, 9), lookup_id(7, 10), lookup_id(3, 1), lookup_id(3, 2), lookup_id(0, 1)]
    assert all(first < second for first, second in pairwise(order))


def test_keys_of_the_index_sort_as_queues_and_their_messages_do() -> None:
    order = [(1, 0), (1, 1), (1, 256), (1, LOOKUP_MAX), (2, 0), (256, 0)]
    keys = [index_key(*pair) for pair in order]
    assert keys == sorted(keys)
    assert [split_index_key(key) for key in keys] == order


def test_a_record_is_stored_and_read_back() -> None:
    raw = RECORD.pack()
    assert Record.unpack(raw) == RECORD
    assert packet_place(raw) == (RECORD.packet_number, RECORD.size)


def test_parts_of_a_record_are_read_without_the_rest() -> None:
    raw = RECORD.pack()
    assert place_and_expiry(raw) == (RECORD.packet_number, RECORD.size, RECORD.expires)
    assert local_facts(raw) == (
        RECORD.arrived_time,
        RECORD.abort_count,
        RECORD.move_count,
        RECORD.message_class,
    )
    assert flags_of(raw) == RECORD.flags


def test_a_moved_message_is_counted() -> None:
    moved = RECORD.moved(1_700_000_009)
    assert moved == RECORD._replace(abort_count=0, move_count=4, last_move_time=1_700_000_009)


def test_a_message_that_waits_knows_until_when() -> None:
    record = RECORD._replace(readers=b"\1\0\0\0")
    raw = record.pack_delayed(1_700_000_009_123)
    assert Record.unpack_delayed(raw) == (record, 1_700_000_009_123)
    assert due_of(raw) == 1_700_000_009_123
    assert place_and_expiry(raw) == place_and_expiry(record.pack())


def test_keys_of_messages_that_wait_sort_as_time_does() -> None:
    order = [(1, 9, 9), (2, 0, 5), (256, 0, 0), (1 << 41, 0, 0)]
    keys = [due_key(*item) for item in order]
    assert keys == sorted(keys)
    assert [split_due_key(key) for key in keys] == order


def test_keys_by_time_sort_as_time_does() -> None:
    order = [(1, 9, 9), (2, 0, 5), (2, 1, 0), (256, 0, 0)]
    keys = [expiry_key(*item) for item in order]
    assert keys == sorted(keys)
    assert [split_expiry_key(key) for key in keys] == order


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, Owed.NOTHING),
        ({"dead_letter": True}, Owed.DEAD_LETTER),
        ({"journal": True}, Owed.JOURNAL),
        ({"acknowledge": 1}, Owed.ACK_ARRIVAL),
        ({"acknowledge": 2}, Owed.ACK_RECEIVE),
        ({"acknowledge": 4}, Owed.NACK_ARRIVAL),
        ({"acknowledge": 8}, Owed.NACK_RECEIVE),
        (
            {"acknowledge": 15, "journal": True},
            Owed.ACK_ARRIVAL
            | Owed.ACK_RECEIVE
            | Owed.NACK_ARRIVAL
            | Owed.NACK_RECEIVE
            | Owed.JOURNAL,
        ),
        ({"headers": OptionalHeaders(transaction=TransactionHeader())}, Owed.TRANSACTIONAL),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_owed_for_a_message_stands_in_its_packet(
    asked: dict[str, Any], expected: Owed
) -> None:
    packet = PacketBuilder(UUID(int=1), parse_format_name("DIRECT=OS:a\\q")).build(**asked)
    assert owed(packet) == expected


def test_rows_about_a_queue_sort_by_queue_then_kind() -> None:
    keys = [queue_key(1, PROPERTIES_ROW), queue_key(1, 1), queue_key(1, 2), queue_key(256)]
    assert keys == sorted(keys)
    assert queue_key(1) == keys[0]


def test_counters_are_stored_and_read_back() -> None:
    assert unpack_counters(pack_counters(10_000_000, 1 << 50)) == (10_000_000, 1 << 50)


def test_what_a_queue_counts_lies_behind_what_it_holds() -> None:
    totals = tuple(range(1 << 40, (1 << 40) + len(Total)))
    row = pack_counters(7, 70, totals)
    assert (unpack_counters(row), unpack_totals(row)) == ((7, 70), totals)
    assert unpack_totals(pack_counters(7, 70)) == NO_TOTALS
    with pytest.raises(struct.error):
        unpack_totals(row[:-1])


@pytest.mark.parametrize("size", [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 3 * CHUNK_SIZE])
def test_a_packet_is_cut_into_chunks_that_have_a_key_each(size: int) -> None:
    packet = bytes(i % 251 for i in range(size))
    parts = chunks(packet)
    keys = packet_keys(9, size)
    assert b"".join(parts) == packet
    assert all(len(part) <= CHUNK_SIZE for part in parts)
    assert [split_packet_key(key) for key in keys] == [(9, i) for i in range(len(parts))]
    assert keys == sorted(keys)
