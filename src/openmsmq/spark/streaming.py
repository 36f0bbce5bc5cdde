"""Streams: what a subscription was given, in steps that Spark repeats until it has committed.

An offset is the position of a subscription, for each queue: it counts the messages that were
reserved for the stream, and the same positions are the same messages until the stream is done
with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from openmsmq import Manager, Queue, Subscription
from openmsmq.model.opening import Access
from openmsmq.spark.ahead import one_ahead
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block
from openmsmq.spark.options import Options
from openmsmq.spark.service import connect, open_queue, queue_names

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark before 4.2 has no admission control for sources in Python
    ReadAllAvailable = ReadMaxRows = ReadLimit = object  # type: ignore[misc,assignment]
    SupportsTriggerAvailableNow = object  # type: ignore[misc,assignment]

P = ParamSpec("P")
T = TypeVar("T")
Offset = dict[str, int]
STEP: Final = 10_000
"Messages that are reserved with one commit."
AT_ONCE: Final = 32
"Managers that are asked at once."
_BETWEEN: Final = " "


@dataclass(frozen=True)
class Positions(InputPartition):
    """What a subscription was given behind one position, up to another."""

    manager: str
    queue: str
    after: int
    last: int


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads queues through subscriptions."""

    def __init__(self, options: Options, names: tuple[str, ...]) -> None:
        self._options = options
        self._names = names
        self._managers: list[Manager] = []
        self._sources: dict[str, tuple[Queue, Subscription]] = {}
        self._targets: Offset | None = None
        "How far a stream goes that ends when it has what was there at its start."
        self._beside: ThreadPoolExecutor | None = None
        "Lets the manager work while tasks do."
        self._finishing: list[Future[None]] = []

    def __getstate__(self) -> dict[str, Any]:
        """What tasks need of it."""
        driver: dict[str, Any] = {
            "_managers": [],
            "_sources": {},
            "_beside": None,
            "_finishing": [],
        }
        return self.__dict__ | driver

    # On the driver

    def _opened(self) -> dict[str, tuple[Queue, Subscription]]:
        """The subscriptions, by what offsets call them.

        A manager that is not there when the stream starts is an error at once; one that goes away
        later is waited for by its connection.
        """
        if self._sources:
            return self._sources
        options, found = self._options, dict[str, tuple[Queue, Subscription]]()
        for address in options.managers:
            manager = connect(options, address, patient=False)
            self._managers.append(manager)
            for name in queue_names(manager, options.queues):
                queue = open_queue(manager, name, Access.RECEIVE)
                subscription = queue.subscription(options.subscription, copy=options.copies)
                found[f"{address}{_BETWEEN}{queue.name}"] = queue, subscription
        self._sources = found
        return found

    def initialOffset(self) -> Offset:
        """Where a new stream begins: behind what was done before."""
        return {key: reader.done for key, (_, reader) in self._opened().items()}

    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:
        """Reserve messages behind `start`; what was reserved and not used comes first.

        Spark before 4.2 says neither where it is nor how much it wants: it is given what was
        reserved before, and one more batch.
        """
        sources = self._opened()
        if start is None:
            start = {key: reader.end for key, (_, reader) in sources.items()}
        begin = {key: start.get(key, reader.done) for key, (_, reader) in sources.items()}
        if limit is not None and isinstance(limit, ReadAllAvailable):
            return {**start, **self._reserve_all(begin, self._everything(begin))}
        left = getattr(limit, "max_rows", self._options.messages_per_trigger)
        most = self._options.bytes_per_trigger
        room = None if most is None else max(1, most // len(sources))
        end, hungry = begin, list(sources)
        while left and hungry:  # who has little to say leaves the rest to the others
            shares = dict(zip(hungry, _shares(left, len(hungry)), strict=True))
            reached = self._reserve_all(end, shares, room)
            left -= sum(reached[key] - end[key] for key in hungry)
            hungry = [key for key in hungry if reached[key] - end[key] == shares[key]]
            end = end | reached
            if room is not None:
                break
        for key in hungry:
            if (share := end[key] - begin[key]) >= STEP:  # there is more: have it ready
                share = self._within_target(key, end[key], share)
                self._begin(_reserve, sources[key][1], end[key], share, room)
        return {**start, **end}

    def _everything(self, after: Offset) -> Offset:
        """How much there is behind these positions."""
        return {
            key: max(reader.end, after[key]) - after[key] + queue.info().messages
            for key, (queue, reader) in self._opened().items()
        }

    def _reserve_all(self, after: Offset, shares: Offset, room: int | None = None) -> Offset:
        """Reserve so many messages behind positions, at all managers at once; up to where."""
        asked: dict[str, list[str]] = {}
        for key in shares:
            asked.setdefault(key.partition(_BETWEEN)[0], []).append(key)

        def ask(keys: list[str]) -> Offset:
            found = {}
            for key in keys:
                share = self._within_target(key, after[key], shares[key])
                found[key] = _reserve(self._sources[key][1], after[key], share, room)
            return found

        if len(asked) == 1:
            return ask(list(shares))
        with ThreadPoolExecutor(min(len(asked), AT_ONCE), "openmsmq-ask") as pool:
            return {
                key: end for found in pool.map(ask, asked.values()) for key, end in found.items()
            }

    def _begin(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do something while tasks work, as many things at once as there are managers."""
        if self._beside is None:
            count = min(len(self._options.managers), AT_ONCE)
            self._beside = ThreadPoolExecutor(count, "openmsmq-stream")
        return self._beside.submit(work, *args, **kwargs)

    def _within_target(self, key: str, after: int, share: int) -> int:
        return share if self._targets is None else min(share, self._targets.get(key, 0) - after)

    def getDefaultReadLimit(self) -> ReadLimit:
        """How many messages a batch has at most."""
        return ReadMaxRows(self._options.messages_per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember how much there is now."""
        self._targets = {
            key: reader.end + queue.info().messages
            for key, (queue, reader) in self._opened().items()
        }

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """The messages between two offsets, in parts."""
        found: list[InputPartition] = []
        most = self._options.messages_per_partition
        for key, last in end.items():
            address, _, queue = key.partition(_BETWEEN)
            first = start.get(key, 0)
            for after in range(first, last, most):
                found.append(Positions(address, queue, after, min(after + most, last)))
        return found

    def commit(self, end: Offset) -> None:
        """Spark is done with all up to here; what fails is found with the next one."""
        for earlier in self._finishing:
            earlier.result()
        self._finishing = [
            self._begin(source[1].finish, end[key], self._options.moves_to)
            for key, source in self._opened().items()
            if key in end
        ]

    def stop(self) -> None:
        """Let go of the managers."""
        if self._beside is not None:
            self._beside.shutdown()
        for manager in self._managers:
            manager.close()
        self._managers, self._sources = [], {}

    # In tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part, the same whenever it is read."""
        assert isinstance(partition, Positions)
        options = self._options
        with connect(options, partition.manager, patient=True) as manager:
            queue = open_queue(manager, partition.queue, Access.RECEIVE)
            reader = queue.subscription(options.subscription, copy=options.copies)
            for block in one_ahead(_blocks(reader, partition.after, partition.last)):
                columns = Columns(block, queue=queue.name, manager=manager.name)
                yield columns.batch(self._names)


def _blocks(reader: Subscription, after: int, last: int) -> Iterator[Block]:
    """What a subscription was given, as many messages at once as a frame has room for."""
    while after < last:
        block = Block.of_payload(reader.read_packed(after, last))
        yield block
        after += len(block)


def _shares(total: int, count: int) -> list[int]:
    """A number in so many parts that are as good as equal."""
    return [total // count + (place < total % count) for place in range(count)]


def _reserve(reader: Subscription, after: int, count: int, size: int | None) -> int:
    """Reserve so many messages and bytes; without a limit of bytes, in steps."""
    if count < 1:
        return after
    if size is not None:
        return reader.reserve(after, count, size)
    end, last = after, after + count
    while end < last:
        reached = reader.reserve(end, min(STEP, last - end))
        if reached == end:
            break
        end = reached
    return end
