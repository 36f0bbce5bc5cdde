"""Last words about messages that are kept until it is known who may say them."""

from __future__ import annotations

import pytest

from openmsmq.engine.outgoing.parked import Parked, parked_rows, parked_sequences, read_parked
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore

PARKED = Parked((5, 6), 7, b"p" * 16, 0x4000, b"b" * 36)


def test_a_row_says_what_was_kept() -> None:
    assert read_parked(PARKED.key, PARKED.row) == PARKED


@pytest.mark.parametrize("row", [b"", PARKED.row[:-1], PARKED.row + b"x"])
def test_a_row_of_another_size_is_refused(row: bytes) -> None:
    with pytest.raises(ValueError, match="a row of"):
        read_parked(PARKED.key, row)


def test_rows_are_found_by_their_sequence() -> None:
    store = MemoryStore()
    writer = store.begin()
    last = PARKED._replace(number=0xFFFFFFFF)
    others = [PARKED, PARKED._replace(number=8), PARKED._replace(sequence=(5, 7)), last]
    for one in others:
        writer.put(Table.TRANSFER, one.key, one.row)
    store.commit()
    store.refresh()
    found = parked_rows(store.snapshot, OutgoingSequence(5, 6, 1, 1))
    assert [read_parked(*row).number for row in found] == [7, 8, last.number]
    assert parked_sequences(store.snapshot) == {(5, 6), (5, 7)}
