"""Slices of runs: cut, measured, and taken apart."""

from __future__ import annotations

import pytest

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.slices import (
    Parts,
    RunSlice,
    count_of,
    expanded,
    is_worth_it,
    lookups_of,
)
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.engine.storage.runs import MessageRun, is_member

SIZES = ([100, 100, 100, 100, 100], [100, 120, 80, 100, 200])


def packets(sizes: list[int]) -> bytes:
    """Packets with a source and numbers that count up from 7."""
    found = b""
    for number, size in enumerate(sizes, 7):
        head = bytes(16) + b"s" * 16 + bytes(24) + number.to_bytes(4, "little")
        found += head.ljust(size, bytes([number]))
    return found


def whole(sizes: list[int]) -> RunSlice:
    run = MessageRun(1, 10, Record(5, sum(sizes), 3, NEVER), sizes)
    return RunSlice(run, 10, 10 + len(sizes)).with_packets(packets(sizes))


@pytest.mark.parametrize("sizes", SIZES)
def test_a_slice_gives_its_messages_one_by_one(sizes: list[int]) -> None:
    entries = whole(sizes).entries()
    assert [entry.lookup for entry in entries] == [10, 11, 12, 13, 14]
    assert b"".join(entry.packet for entry in entries) == packets(sizes)
    assert [len(entry.packet) for entry in entries] == sizes
    assert [len(packet) for packet in whole(sizes).split()] == sizes
    part = whole(sizes).part(11, 13)
    assert [entry.lookup for entry in part.entries()] == [11, 12]
    tail = part.with_packets(packets(sizes)[sizes[0] : sum(sizes[:3])])
    assert [len(packet) for packet in tail.split()] == sizes[1:3]
    assert all(is_member(entry.record) for entry in entries)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_part_of_a_slice_knows_the_identifier_of_its_first_message(sizes: list[int]) -> None:
    part = whole(sizes).part(12, 14)
    assert (len(part), part.size) == (2, sum(sizes[2:4]))
    assert part.identifier == b"s" * 16 + (9).to_bytes(4, "little")
    assert part.part(13, 14).identifier == b"s" * 16 + (10).to_bytes(4, "little")
    assert [lookup for lookup, _, _ in part.found()] == [12, 13]


@pytest.mark.parametrize("sizes", SIZES)
def test_a_slice_is_cut_where_bytes_are_used_up(sizes: list[int]) -> None:
    given = whole(sizes)
    for size_max in range(sum(sizes) + 2):
        fitting = given.up_to(size_max)
        assert fitting.size <= size_max
        is_all = len(fitting) == len(given)
        assert is_all or fitting.size + sizes[len(fitting)] > size_max


def test_messages_are_counted_and_named_beside_single_ones() -> None:
    parts: Parts = [Entry(3, b"", b""), whole(SIZES[0])]
    assert count_of(parts) == 6
    assert lookups_of(parts) == [3, 10, 11, 12, 13, 14]
    assert [entry.lookup for entry in expanded(parts)] == lookups_of(parts)


def test_few_messages_are_not_kept_together() -> None:
    given = whole(SIZES[0])
    assert is_worth_it(given.part(10, 14))
    assert not is_worth_it(given.part(10, 13))
