"""The records of many messages by columns: a field of all of them is read in one step."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from openmsmq.engine.storage.layout import CHUNK_SIZE, RECORD_SIZE, packet_key, place_and_expiry
from openmsmq.engine.storage.tables import Snapshot, Table

_WORDS: Final = RECORD_SIZE // 4


class RecordColumns(NamedTuple):
    """Fields of the records of messages, in the order of the messages."""

    packets: Sequence[int]
    "Numbers of their packets."
    sizes: Sequence[int]
    expires: Sequence[int]

    @property
    def lie_together(self) -> bool:
        """Whether each packet is one row, and each row follows the one before."""
        first, count = self.packets[0], len(self.packets)
        expected = range(first, first + count)
        return max(self.sizes) <= CHUNK_SIZE and list(self.packets) == list(expected)


def columns_of(raws: Sequence[bytes]) -> RecordColumns:
    """The columns of records."""
    joined = b"".join(raws)
    if len(joined) != RECORD_SIZE * len(raws):  # some say who has read the message
        packets, sizes, expires = zip(*map(place_and_expiry, raws), strict=True)
        return RecordColumns(packets, sizes, expires)
    words = array("I", joined)
    low, high = words[0::_WORDS], words[1::_WORDS]
    numbers: Sequence[int] = low
    if any(high):
        numbers = [one | two << 32 for one, two in zip(low, high, strict=True)]
    return RecordColumns(numbers, words[2::_WORDS], words[4::_WORDS])


def read_together(snapshot: Snapshot, columns: RecordColumns) -> list[bytes]:
    """The packets of messages that `lie_together`."""
    first, count = columns.packets[0], len(columns.packets)
    ends = packet_key(first, 0), packet_key(first + count, 0)
    rows = snapshot.rows(Table.PACKETS, *ends, count)
    assert len(rows) == count, "a packet is not there"
    return [packet for _, packet in rows]
