"""Batch reads: what is in queues when the query is planned, split into ranges of lookup ids.

Nothing is taken. Within one priority identifiers rise with every arrival, so that a range up to
the last message of a priority is closed to all that come later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from openmsmq import Queue
from openmsmq.app_protocol.payloads import COUNT_MAX
from openmsmq.errors import MessageNotFound
from openmsmq.spark.ahead import one_ahead
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block
from openmsmq.spark.options import Options
from openmsmq.spark.service import connect, open_queue, queue_names
from openmsmq.types.access import Access
from openmsmq.types.lookup import ARRIVAL_BITS
from openmsmq.types.read import Seek

_ALL: Final = (0, (8 << ARRIVAL_BITS) - 1)


@dataclass(frozen=True)
class Range(InputPartition):
    """Messages of a queue behind one lookup identifier, up to another."""

    manager: str
    queue: str
    after: int
    last: int


class BatchReader(DataSourceReader):
    """Reads what is in queues."""

    def __init__(self, options: Options, names: tuple[str, ...]) -> None:
        self._options = options
        self._names = names
        self._bounds = _ALL
        self._check()

    def _check(self) -> None:
        """Fail before anything is planned if there is something that cannot be read."""
        for address in self._options.managers:
            with connect(self._options, address, patient=False) as manager:
                for name in queue_names(manager, self._options.queues):
                    open_queue(manager, name, Access.PEEK)

    def partitions(self) -> list[InputPartition]:
        """What there is now, in ranges."""
        found: list[InputPartition] = []
        for address in self._options.managers:
            with connect(self._options, address, patient=False) as manager:
                for name in queue_names(manager, self._options.queues):
                    queue = open_queue(manager, name, Access.PEEK)
                    count = queue.info().messages
                    for whole in bands(address, queue):
                        found += split(whole, count, self._options.messages_per_partition)
        return [part for part in map(self._bounded, found) if part is not None]

    def _bounded(self, part: InputPartition) -> InputPartition | None:
        assert isinstance(part, Range)
        first, last = self._bounds
        part = replace(part, after=max(part.after, first - 1), last=min(part.last, last))
        return part if part.after < part.last else None

    def limit(self, first: int, last: int) -> None:
        """Read nothing outside of these lookup identifiers."""
        self._bounds = max(first, self._bounds[0]), min(last, self._bounds[1])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range that are still there."""
        if isinstance(partition, Range):
            with connect(self._options, partition.manager, patient=True) as manager:
                queue = open_queue(manager, partition.queue, Access.PEEK)
                for block in one_ahead(blocks(queue, partition.after, partition.last)):
                    columns = Columns(block, queue=queue.name, manager=manager.name)
                    yield columns.batch(self._names)


def bands(address: str, queue: Queue) -> Iterable[Range]:
    """The messages of each priority as a range."""
    after = 0
    while found := queue.peek_many(1, timeout=0, after=after):
        first = found[0].lookup_id
        end = ((first >> ARRIVAL_BITS) + 1) << ARRIVAL_BITS
        try:
            last = queue.peek_by_lookup_id(end, Seek.AHEAD).lookup_id
        except MessageNotFound:  # somebody has taken it meanwhile
            return
        if last >= first:
            yield Range(address, queue.name, first - 1, last)
        after = end - 1


def split(whole: Range, messages: int, most: int) -> list[Range]:
    """A range in parts of about `most` messages each, if there are so many in the queue."""
    span = whole.last - whole.after
    count = max(1, min(-(-span // most), -(-messages // most)))
    edges = [whole.after + span * n // count for n in range(count + 1)]
    return [replace(whole, after=after, last=last) for after, last in pairwise(edges)]


def blocks(queue: Queue, after: int, last: int) -> Iterator[Block]:
    """The messages of a range, as many at once as a frame has room for."""
    while after < last:
        count = min(COUNT_MAX, last - after)
        block = Block.of_payload(queue.peek_packed(count, timeout=0, after=after))
        if not len(block):
            return
        block = block.up_to(last)
        if not len(block):
            return
        after = block.last
        yield block
