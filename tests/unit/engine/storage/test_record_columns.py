"""Records by columns."""

from __future__ import annotations

import pytest

from openmsmq.engine.storage.layout import (
    CHUNK_SIZE,
    NEVER,
    Record,
    packet_key,
    place_and_expiry,
)
from openmsmq.engine.storage.record_columns import columns_of, read_together
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore

RECORDS = [
    Record(7, 1200, 5, NEVER, 1, 2, 3, 4, 0xFFFF),
    Record(8, CHUNK_SIZE, 6, 77),
    Record(9, 0, 6, 0),
]


@pytest.mark.parametrize(
    "records",
    [
        RECORDS,
        [*RECORDS, Record((1 << 40) + 3, 12, 6, 0)],
        [*RECORDS, Record(10, 12, 6, 0, readers=b"abc")],
        [],
    ],
    ids=["usual", "large numbers", "readers", "none"],
)
def test_columns_say_what_each_record_says(records: list[Record]) -> None:
    raws = [record.pack() for record in records]
    columns = columns_of(raws)
    assert list(zip(*columns, strict=True)) == list(map(place_and_expiry, raws))


@pytest.mark.parametrize(
    ("places", "together"),
    [
        ([(7, 1), (8, 2)], True),
        ([(7, CHUNK_SIZE)], True),
        ([(7, CHUNK_SIZE + 1)], False),
        ([(7, 1), (9, 2)], False),
        ([(8, 1), (7, 2)], False),
        ([(7, 1), (9, 1), (8, 1), (10, 1)], False),
    ],
)
def test_packets_lie_together_if_each_is_one_row_and_follows_the_last(
    places: list[tuple[int, int]], *, together: bool
) -> None:
    raws = [Record(number, size, 0, NEVER).pack() for number, size in places]
    assert columns_of(raws).lie_together is together


def test_packets_that_lie_together_are_read_without_those_around_them() -> None:
    store = MemoryStore()
    rows = [(packet_key(number, 0), str(number).encode()) for number in range(5, 12)]
    store.begin().put_many(Table.PACKETS, rows)
    store.commit()
    store.refresh()
    found = columns_of([Record(number, 1, 0, NEVER).pack() for number in (7, 8, 9)])
    assert read_together(store.snapshot, found) == [b"7", b"8", b"9"]


def test_a_packet_that_is_not_there_is_a_mistake() -> None:
    found = columns_of([Record(number, 1, 0, NEVER).pack() for number in (7, 8)])
    with pytest.raises(AssertionError, match="not there"):
        read_together(MemoryStore().snapshot, found)
