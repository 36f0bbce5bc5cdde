"""Batch reads: what is in queues when the query is planned, split into ranges of lookup ids.

Nothing is taken. Within one priority identifiers rise with every arrival, so that a range up to
the last message of a priority is closed to all that come later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from openmsmq import Manager, Queue
from openmsmq.app_protocol.payloads import COUNT_MAX
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import gathered
from openmsmq.spark.fleet import at_once
from openmsmq.spark.options import Options
from openmsmq.spark.service import bands, connect, open_queue, queue_names
from openmsmq.spark.tasks import Range, Span, Task, keep_loaded, packed, size_of_tasks
from openmsmq.types.access import Access
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK

_ALL: Final = (0, (8 << ARRIVAL_BITS) - 1)


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
        options = self._options
        found: dict[str, list[Contents]] = {}
        for address in options.managers:
            with connect(options, address, patient=False) as manager:
                names = queue_names(manager, options.queues)
                found[address] = [one for _, one in at_once(names, partial(contents, manager))]
        total = sum(one.messages for each in found.values() for one in each)
        most = size_of_tasks(total, options.messages_per_partition, options.min_partitions)
        return [
            task
            for address, queues in found.items()
            for task in packed(address, self._ranges(queues, most), most)
        ]

    def _ranges(self, queues: Iterable[Contents], most: int) -> Iterator[Range]:
        for queue in queues:
            for part in slices_of(queue, most):
                spans = tuple(span for span in map(self._bounded, part.spans) if span[0] < span[1])
                if spans:
                    yield replace(part, spans=spans)

    def _bounded(self, span: Span) -> Span:
        first, last = self._bounds
        return max(span[0], first - 1), min(span[1], last)

    def limit(self, first: int, last: int) -> None:
        """Read nothing outside of these lookup identifiers."""
        self._bounds = max(first, self._bounds[0]), min(last, self._bounds[1])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a task that are still there."""
        if not isinstance(partition, Task):
            return  # Spark has a task without one if there is nothing to read
        keep_loaded()
        with connect(self._options, partition.manager, patient=True) as manager:

            def found() -> Iterator[tuple[str, Sequence[QueuedSlice]]]:
                for one in partition.ranges:
                    queue = open_queue(manager, one.queue, Access.PEEK)
                    for after, last in one.spans:
                        for slices in slices_in(queue, after, last):
                            yield queue.name, slices
                    queue.close()

            for block, queues in gathered(found()):
                yield Columns(block, queues=queues, manager=manager.name).batch(self._names)


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a queue: how many messages, and the first and last one of each priority."""

    queue: str
    messages: int
    bands: tuple[Span, ...]


def contents(manager: Manager, name: str) -> Contents:
    """What is in a queue now."""
    queue = open_queue(manager, name, Access.PEEK)
    count = queue.info().messages
    found = Contents(queue.name, count, tuple(bands(queue)))
    queue.close()
    return found


def slices_of(queue: Contents, most: int) -> Iterator[Range]:
    """A queue in parts of about `most` messages, by arrival: each has its part of all priorities.

    Priorities are no reason for more parts: few messages have one of their own.
    """
    if not queue.bands:
        return
    start = min(first & ARRIVAL_MASK for first, _ in queue.bands) - 1
    span = max(last & ARRIVAL_MASK for _, last in queue.bands) - start
    count = max(1, min(-(-span // most), -(-queue.messages // most)))
    edges = [start + span * n // count for n in range(count + 1)]
    for after, last in pairwise(edges):
        parts = [
            (
                max(low - 1, low - (low & ARRIVAL_MASK) + after),
                min(high, (low & ~ARRIVAL_MASK) + last),
            )
            for low, high in queue.bands
        ]
        spans = tuple(part for part in parts if part[0] < part[1])
        if spans:
            yield Range(queue.queue, spans, -(-queue.messages // count))


def slices_in(queue: Queue, after: int, last: int) -> Iterator[Sequence[QueuedSlice]]:
    """The messages of a range, as many at once as a frame has room for."""
    while after < last:
        count = min(COUNT_MAX, last - after)
        found = queue.peek_slices(count, timeout=0, after=after)
        kept = [one.up_to(last) for one in found if one.lookup_id <= last]
        if not kept:
            return
        after = kept[-1].lookup_id + kept[-1].messages - 1
        yield kept
