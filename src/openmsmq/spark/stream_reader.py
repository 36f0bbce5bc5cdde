"""Streams: the messages of a subscription, in batches that Spark repeats until it has committed.

An offset has the position of a subscription, for each queue: it counts the messages that were
reserved for the stream, and the same positions are the same messages until the stream is done
with them. It also has the owner of these subscriptions, which is this stream: see `offsets`.

A task binds the subscription to the owner before it reads, and marks what it has read before it
ends. By then Spark has the offset on disk, so that the owner is never lost. What no task has read
stays reserved when Spark commits it: sinks skip batches whose numbers they have had before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from openmsmq import Manager, Queue, Subscription
from openmsmq.errors import InvalidParameter, SubscriptionTaken
from openmsmq.spark.ahead import one_ahead
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block
from openmsmq.spark.offsets import Offset, QueueAddress, key, manager_of, refusal
from openmsmq.spark.options import Options
from openmsmq.spark.service import connect, open_queue, queue_names
from openmsmq.types.access import Access
from openmsmq.types.subscriptions import lasting_id

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
Written = dict[str, Any]
"An offset as Spark has it."
Ends = dict[str, int]
"Positions, by what offsets call the queues."
STEP: Final = 10_000
"Messages that are reserved with one commit."
AT_ONCE: Final = 32
"Managers that are asked at once."


@dataclass(frozen=True)
class Positions(InputPartition):
    """Reserved messages of a subscription, after one position up to another."""

    manager: str
    queue: str
    after: int
    last: int
    owner: str = ""
    "Empty for a batch that was begun before there were owners."


@dataclass(frozen=True, slots=True)
class QueueSource:
    """A queue that is read."""

    place: QueueAddress
    queue: Queue
    reader: Subscription


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads queues through subscriptions."""

    def __init__(self, options: Options, names: tuple[str, ...]) -> None:
        self._options = options
        self._names = names
        self._managers: list[Manager] = []
        self._sources: dict[str, QueueSource] = {}
        self._owned: dict[tuple[str, str], Subscription] = {}
        "Subscriptions opened for an owner, by what offsets call the queue, and the owner."
        self._owner = ""
        "What a stream is called whose offsets have no owner yet."
        self._joined = ""
        "The owner that was there, when Spark did not say which one the stream has."
        self._is_admitted = False
        self._targets: Ends | None = None
        "How far a stream goes that ends when it has what was there at its start."
        self._beside: ThreadPoolExecutor | None = None
        "Lets the manager work while tasks do."
        self._finishing: list[Future[None]] = []

    def __getstate__(self) -> dict[str, Any]:
        """What tasks need of it."""
        driver: dict[str, Any] = {
            "_managers": [],
            "_sources": {},
            "_owned": {},
            "_beside": None,
            "_finishing": [],
        }
        return self.__dict__ | driver

    # On the driver

    def _opened(self) -> dict[str, QueueSource]:
        """The subscriptions, by what offsets call them.

        A manager that is not there when the stream starts is an error at once; one that goes away
        later is waited for by its connection.
        """
        if self._sources:
            return self._sources
        options, found = self._options, dict[str, QueueSource]()
        for address in options.managers:
            manager = connect(options, address, patient=False)
            self._managers.append(manager)
            for name in queue_names(manager, options.queues):
                queue = open_queue(manager, name, Access.RECEIVE)
                reader = queue.subscription(options.subscription, copy=options.copies)
                info = queue.info()
                name = key(manager.id, lasting_id(info.id, info.kind))
                found[name] = QueueSource(QueueAddress(address, queue.name), queue, reader)
        self._sources = found
        return found

    def _offset(self, written: Written) -> Offset:
        return Offset.of(written, {name: one.place for name, one in self._opened().items()})

    def initialOffset(self) -> Written:
        """Where a new stream begins: behind what was done before.

        After a crash in its first batch a stream asks for this again, although it has an owner.
        """
        done = {name: source.reader.committed for name, source in self._opened().items()}
        return Offset(positions=done).written()

    def latestOffset(self, start: Written | None = None, limit: ReadLimit | None = None) -> Written:
        """Reserve messages behind `start`; what was reserved and not used comes first.

        Spark before 4.2 says neither where it is nor how much it wants: it is given what was
        reserved before, and one more batch.
        """
        sources = self._opened()
        if start is None:
            ends = {name: source.reader.reserved for name, source in sources.items()}
            return Offset(self._known_owner(), {**ends, **self._reach(ends, limit)}).written()
        offset = self._offset(start)
        self._admit(offset)
        known = offset.positions
        begin = {name: known.get(name, one.reader.committed) for name, one in sources.items()}
        end = self._reach(begin, limit)
        if end == begin:
            return start
        return Offset(offset.owner or self._new_owner(), {**known, **end}).written()

    def _new_owner(self) -> str:
        self._owner = self._owner or uuid4().hex
        return self._owner

    def _known_owner(self) -> str:
        """The owner, if Spark does not say which one the stream has: `partitions` learns that."""
        owners = {source.reader.owner for source in self._opened().values()} - {""}
        if not self._owner and len(owners) == 1:
            (self._owner,) = (self._joined,) = owners
        return self._new_owner()

    def _admit(self, start: Offset) -> None:
        """Refuse a stream whose subscription belongs to another one, before anything is reserved.

        Later on tasks find out.
        """
        for source in () if self._is_admitted else self._opened().values():
            has = source.reader.owner
            if has and has != start.owner and not self._options.resume:
                raise refusal(self._options.subscription, source.place.queue, has)
        self._is_admitted = True

    def _reach(self, begin: Ends, limit: ReadLimit | None) -> Ends:
        """Reserve messages behind positions, within a limit; up to where."""
        sources = self._opened()
        if limit is not None and isinstance(limit, ReadAllAvailable):
            return self._reserve_all(begin, self._everything(begin))
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
        for name in hungry:
            if (share := end[name] - begin[name]) >= STEP:  # there is more: have it ready
                share = self._within_target(name, end[name], share)
                self._begin(_reserve, sources[name].reader, end[name], share, room)
        return end

    def _everything(self, after: Ends) -> Ends:
        """How much there is behind these positions."""
        return {
            name: max(one.reader.reserved, after[name]) - after[name] + one.queue.info().messages
            for name, one in self._opened().items()
        }

    def _reserve_all(self, after: Ends, shares: Ends, room: int | None = None) -> Ends:
        """Reserve so many messages behind positions, at all managers at once; up to where."""
        asked: dict[str, list[str]] = {}
        for name in shares:
            asked.setdefault(manager_of(name), []).append(name)

        def ask(names: list[str]) -> Ends:
            found = {}
            for name in names:
                share = self._within_target(name, after[name], shares[name])
                found[name] = _reserve(self._sources[name].reader, after[name], share, room)
            return found

        if len(asked) == 1:
            return ask(list(shares))
        with ThreadPoolExecutor(min(len(asked), AT_ONCE), "openmsmq-ask") as pool:
            return {
                name: end for found in pool.map(ask, asked.values()) for name, end in found.items()
            }

    def _begin(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do something while tasks work, as many things at once as there are managers."""
        if self._beside is None:
            count = min(len(self._options.managers), AT_ONCE)
            self._beside = ThreadPoolExecutor(count, "openmsmq-stream")
        return self._beside.submit(work, *args, **kwargs)

    def _within_target(self, name: str, after: int, share: int) -> int:
        return share if self._targets is None else min(share, self._targets.get(name, 0) - after)

    def getDefaultReadLimit(self) -> ReadLimit:
        """How many messages a batch has at most."""
        return ReadMaxRows(self._options.messages_per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember how much there is now."""
        self._targets = {
            name: source.reader.reserved + source.queue.info().messages
            for name, source in self._opened().items()
        }

    def partitions(self, start: Written, end: Written) -> list[InputPartition]:
        """The messages between two offsets, in parts."""
        before, offset = self._offset(start), self._offset(end)
        self._check_passage(before, offset)
        self._owner = offset.owner or self._owner
        if before.is_adopted and offset.owner:
            self._adopt(before, offset.owner)
        found: list[InputPartition] = []
        most = self._options.messages_per_partition
        for name, (first, last) in self._between(before, offset).items():
            if first < last and name not in self._sources:
                raise InvalidParameter(
                    f"option queue: the checkpoint has messages of {name} that were not read to the"
                    " end, and no option names this manager and queue (by their GUIDs)"
                )
            for after in range(first, last, most):
                place = self._sources[name].place
                part = place.address, place.queue, after, min(after + most, last)
                found.append(Positions(*part, offset.owner))
        return found

    def between(self, start: Written, end: Written) -> dict[str, tuple[int, int]]:
        """Behind which position of each queue messages are between two offsets, up to which."""
        return self._between(self._offset(start), self._offset(end))

    def _between(self, start: Offset, end: Offset) -> dict[str, tuple[int, int]]:
        sources = self._opened()
        found = {}
        for name, last in end.positions.items():
            done = sources[name].reader.committed if name in sources else last
            found[name] = start.positions.get(name, done), last
        return found

    def _check_passage(self, start: Offset, end: Offset) -> None:
        """Refuse what Spark before 4.2 could not be refused when messages were reserved."""
        is_another = start.owner and start.owner != end.owner
        is_new = not start.owner and end.owner and end.owner == self._joined
        if is_another or (is_new and not self._options.resume):
            queues = ", ".join(self._options.queues)
            raise refusal(self._options.subscription, queues, end.owner)

    def _adopt(self, start: Offset, owner: str) -> None:
        """Let the subscriptions belong to a stream that was begun before there were owners.

        It has read all that its offset says. Spark has written down the owner already.
        """
        for name, source in self._opened().items():
            if name in start.positions:
                reader = self._for_owner(name, owner)
                self._bind(reader, source.place.queue, start.positions[name])

    def _bind(self, reader: Subscription, queue: str, read: int = 0) -> None:
        """Let a subscription belong to the stream; it may have read some before it had owners."""
        try:
            reader.bind(take_over=self._options.resume, read=read)
        except SubscriptionTaken as error:
            raise refusal(self._options.subscription, queue, reader.owner) from error

    def _for_owner(self, name: str, owner: str) -> Subscription:
        """A subscription as its owner reads it."""
        options, source = self._options, self._opened()[name]
        if (name, owner) not in self._owned:
            self._owned[name, owner] = source.queue.subscription(
                options.subscription, copy=options.copies, owner=owner
            )
        return self._owned[name, owner]

    def commit(self, end: Written) -> None:
        """Spark is done with all up to here; what fails is found with the next one.

        What it was done with before there were owners is adopted with the batch after it.
        """
        for earlier in self._finishing:
            earlier.result()
        self._finishing = []
        offset = self._offset(end)
        for name, position in offset.positions.items() if offset.owner else ():
            if name in self._opened():
                self._finishing.append(self._begin(self._finish, name, offset.owner, position))

    def _finish(self, name: str, owner: str, position: int) -> None:
        """A batch that a sink has skipped had no task that could bind the subscription."""
        reader = self._for_owner(name, owner)
        if position > reader.committed:
            if reader.owner != owner:
                self._bind(reader, self._sources[name].place.queue)
            reader.commit(position, self._options.moves_to)

    def stop(self) -> None:
        """Let go of the managers."""
        if self._beside is not None:
            self._beside.shutdown()
        for manager in self._managers:
            manager.close()
        self._managers, self._sources, self._owned = [], {}, {}

    # In tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part, the same whenever it is read."""
        assert isinstance(partition, Positions)
        options = self._options
        with connect(options, partition.manager, patient=True) as manager:
            queue = open_queue(manager, partition.queue, Access.RECEIVE)
            reader = queue.subscription(
                options.subscription, copy=options.copies, owner=partition.owner
            )
            if partition.owner:
                self._bind(reader, queue.name)
            elif reader.owner:
                raise refusal(options.subscription, queue.name, reader.owner)
            for block in one_ahead(_blocks(reader, partition.after, partition.last)):
                columns = Columns(block, queue=queue.name, manager=manager.name)
                yield columns.batch(self._names)
            if partition.owner:
                reader.mark_read(partition.after, partition.last)


def _blocks(reader: Subscription, after: int, last: int) -> Iterator[Block]:
    """Reserved messages of a subscription, as many at a time as fit a frame."""
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
