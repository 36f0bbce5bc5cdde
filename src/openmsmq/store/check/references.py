"""Which packets are referred to, in the order of the packets, however many they are.

The index is sorted by queue, packets lie in the order they came. To hold the two against each other
in one pass, references are sorted here: some in memory, and on disk what is more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from heapq import merge
from struct import Struct
from typing import BinaryIO, Final, NamedTuple

from openmsmq.store.faults import storage_error
from openmsmq.store.limits import REFERENCES_IN_MEMORY

_BLOCK: Final = 2048
_reference = Struct(">QIIQ")


class PacketReference(NamedTuple):
    """What says that there is a packet."""

    packet: int
    size: int
    queue: int
    lookup: int
    "The message's lookup identifier; 0 for one that a transaction has sent."


class References:
    """References in any order go in, and come out sorted."""

    def __init__(self, file: BinaryIO, in_memory: int = REFERENCES_IN_MEMORY) -> None:
        self._file = file
        "An empty one, for as long as this is used."
        self._in_memory = in_memory
        self._rows: list[bytes] = []
        self._runs: list[tuple[int, int]] = []
        "Where in the file sorted rows begin and end."

    def add(self, packet: int, size: int, queue: int, lookup: int) -> None:
        """Take note of a packet that must be there."""
        self._rows.append(_reference.pack(packet, size, queue, lookup))
        if len(self._rows) == self._in_memory:
            self._spill()

    def __iter__(self) -> Iterator[PacketReference]:
        self._rows.sort()
        for row in merge(self._rows, *map(self._read, self._runs)):
            yield PacketReference(*_reference.unpack(row))

    def _spill(self) -> None:
        self._rows.sort()
        try:
            start = self._file.tell()
            self._file.writelines(self._rows)
            self._file.flush()
        except OSError as error:
            raise storage_error(error, "a temporary file") from error
        self._runs.append((start, self._file.tell()))
        self._rows.clear()

    def _read(self, run: tuple[int, int]) -> Iterator[bytes]:
        """Sorted rows, some at a time."""
        start, end = run
        step = _BLOCK * _reference.size
        for at in range(start, end, step):
            block = os.pread(self._file.fileno(), min(step, end - at), at)
            for place in range(0, len(block), _reference.size):
                yield block[place : place + _reference.size]
