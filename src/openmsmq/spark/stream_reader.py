"""Streams: the messages of a subscription, in batches that Spark repeats until it has committed.

An offset has the position of a subscription, for each queue: it counts the messages that were
reserved for the stream, and the same positions are the same messages until the stream is done
with them. It also has the owner of these subscriptions, which is this stream: see `offsets`.

Spark has an offset on disk before it asks for its partitions. So the driver binds subscriptions to
their owner when it is asked for partitions, and the owner is never lost; tasks mark what they have
read before they end. What no task has read stays reserved when Spark commits it: sinks skip
batches whose numbers they have had before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from openmsmq import Subscription
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.errors import InvalidParameter, ServiceNotAvailable
from openmsmq.spark.arrow import TIME, Columns
from openmsmq.spark.block import gathered
from openmsmq.spark.fleet import AT_ONCE, Fleet, at_once
from openmsmq.spark.offsets import Offset, own_name, refusal, subscription_of
from openmsmq.spark.options import EARLIEST, Options
from openmsmq.spark.service import connect, open_queue
from openmsmq.spark.shares import BatchShares, Ends
from openmsmq.spark.slices import array_of
from openmsmq.spark.subscribed import (
    SINCE_TIME,
    QueueSource,
    Subscribed,
    begins,
    bind,
    latest,
    left_out,
)
from openmsmq.spark.tasks import (
    Range,
    Task,
    keep_loaded,
    packed,
    size_of_tasks,
    split,
)
from openmsmq.types.access import Access

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


@dataclass(frozen=True)
class Positions(Task):
    """Reserved messages of subscriptions of one manager."""

    subscription: str = ""
    owner: str = ""
    "Empty for a batch that was begun before there were owners."
    run: str = ""
    since: tuple[tuple[str, int], ...] = ()
    "What the stream leaves out: see `subscribed`."


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads queues through subscriptions."""

    def __init__(self, options: Options, names: tuple[str, ...], *, rereads: bool = False) -> None:
        self._options = options
        self._rereads = rereads
        "Its offsets are written down behind what was read, not before: what follows comes again."
        self._names = names
        self._fleet: Fleet | None = None
        self._subscribed: Subscribed | None = None
        self._owner = ""
        "What a stream is called whose offsets have no owner yet."
        self._joined = ""
        "The owner that was there, when Spark did not say which one the stream has."
        self._run = uuid4().hex
        self._moved: tuple[Written, set[str]] | None = None
        "An offset of which these queues go on elsewhere: it says nothing about them any more."
        self._targets: Ends | None = None
        "How far a stream goes that ends when it has what was there at its start."
        self._beside: ThreadPoolExecutor | None = None
        "Lets the manager work while tasks do."
        self._finishing: list[Future[None]] = []

    def __getstate__(self) -> dict[str, Any]:
        """What tasks need of it."""
        driver: dict[str, Any] = {
            "_fleet": None,
            "_subscribed": None,
            "_beside": None,
            "_finishing": [],
        }
        return self.__dict__ | driver

    # On the driver

    def _looked(self) -> Fleet:
        """The managers and queues there are; those of a pattern are looked for every time."""
        if self._fleet is None:
            self._fleet = Fleet(self._options)
        self._fleet.look()
        return self._fleet

    def _offset(self, written: Written) -> Offset:
        fleet = self._fleet or self._looked()
        return Offset.of(written, {name: one.place for name, one in fleet.queues.items()})

    def _opened(self, offset: Offset, owner: str = "") -> Mapping[str, QueueSource]:
        """The subscriptions of an offset or a new owner, by what offsets call the queues."""
        fleet = self._fleet or self._looked()
        name = subscription_of(offset, self._options.subscription) or own_name(owner)
        if self._subscribed is None or self._subscribed.name != name:
            self._subscribed = Subscribed(
                self._options, fleet, name, self._run, owner, rereads=self._rereads
            )
        return self._subscribed.sources()

    def initialOffset(self) -> Written:
        """Where a new stream begins: behind what was done before through its subscription.

        After a crash in its first batch a stream asks for this again, although it has an owner.
        """
        since = begins(self._options, self._looked())
        if not self._options.subscription:
            return Offset(since=since).written()
        done = {name: one.reader.committed for name, one in self._opened(Offset()).items()}
        return Offset(positions=done, since=since).written()

    def latestOffset(self, start: Written | None = None, limit: ReadLimit | None = None) -> Written:
        """Reserve messages behind `start`; what was reserved and not used comes first.

        A stream with a subscription of its own first lets Spark write down its owner, with an empty
        batch: what is reserved for an owner that is lost would be lost with it.
        """
        self._looked()
        if start is None:
            return self._latest_of_older_spark(limit)
        offset = self._offset(start)
        owner = offset.owner or self._new_owner()
        is_all = limit is not None and isinstance(limit, ReadAllAvailable)
        if not (offset.owner or offset.is_adopted or self._options.subscription or is_all):
            name = own_name(owner)
            return Offset(owner, offset.positions, name, since=offset.since).written()
        sources = self._opened(offset, owner)
        assert self._subscribed is not None
        name = self._subscribed.name
        moved = self._subscribed.admit(offset)
        if moved:
            self._moved = start, set(moved)
        known = offset.positions
        begin = {
            at: moved.get(at, known.get(at, one.reader.committed)) for at, one in sources.items()
        }
        end = self._reach(begin, limit)
        if end == begin and not moved:
            self.commit(start)  # Spark is done with it, and may not come back before it stops
            self.wait_for_commits()
            return start
        return Offset(owner, {**known, **end}, name, moved, offset.since).written()

    def latest(self, start: Written, *, is_all: bool) -> Written:
        """The same without Spark's limits: one batch, or all that there is."""
        return self.latestOffset(start, ReadAllAvailable() if is_all else None)

    def _latest_of_older_spark(self, limit: ReadLimit | None) -> Written:
        """Spark before 4.2 says neither where it is nor how much it wants.

        It is given what was reserved before, and one more batch.
        """
        if not self._options.subscription:
            raise InvalidParameter(
                "option subscription is missing: Spark before 4.2 does not say where a stream is,"
                " so that it needs a name; a stream that had none so far is 'spark'"
            )
        if self._options.starting != EARLIEST:
            raise InvalidParameter("option startingPosition needs Spark 4.2 or later")
        sources = self._opened(Offset())
        ends = {name: source.reader.reserved for name, source in sources.items()}
        positions = {**ends, **self._reach(ends, limit)}
        return Offset(self._known_owner(sources), positions, self._options.subscription).written()

    def _new_owner(self) -> str:
        self._owner = self._owner or uuid4().hex
        return self._owner

    def _known_owner(self, sources: Mapping[str, QueueSource]) -> str:
        """The owner, if Spark does not say which one the stream has: `partitions` learns that."""
        owners = {source.reader.owner for source in sources.values()} - {""}
        if not self._owner and len(owners) == 1:
            (self._owner,) = (self._joined,) = owners
        return self._new_owner()

    def _reach(self, begin: Ends, limit: ReadLimit | None) -> Ends:
        """Reserve messages behind positions, within a limit; up to where."""
        assert self._subscribed is not None
        assert self._fleet is not None
        shares = BatchShares(self._options, self._subscribed, self._fleet, self._targets)
        if limit is not None and isinstance(limit, ReadAllAvailable):
            return shares.reserve_all(begin, shares.everything(begin))
        most = getattr(limit, "max_rows", self._options.messages_per_trigger)
        end, more = shares.reach(begin, most, self._options.bytes_per_trigger)
        for name, share in more.items():  # there is more: have it ready
            self._begin(shares.reserve, name, end[name], share)
        return end

    def _begin(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do something while tasks work, as many things at once as there are managers."""
        if self._beside is None:
            self._beside = ThreadPoolExecutor(AT_ONCE, "openmsmq-stream")
        return self._beside.submit(work, *args, **kwargs)

    def getDefaultReadLimit(self) -> ReadLimit:
        """How many messages a batch has at most."""
        return ReadMaxRows(self._options.messages_per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember how much there is now; positions count from what each stream has reserved."""
        fleet = self._looked()
        self._targets = fleet.messages(fleet.queues)

    def _by_manager(self, names: Iterable[str]) -> list[list[str]]:
        assert self._fleet is not None
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self._fleet.queues[name].place.address, []).append(name)
        return list(groups.values())

    def reportLatestOffset(self) -> Written | None:
        """How far the stream could read now, and how far it is behind: for progress reports."""
        if self._fleet is None or self._subscribed is None:
            return None
        return latest(self._fleet, self._subscribed)

    def partitions(self, start: Written, end: Written) -> list[InputPartition]:
        """The messages between two offsets, in parts."""
        before, offset = self._offset(start), self._offset(end)
        self._check_passage(before, offset)
        self._owner = offset.owner or self._owner
        between = {
            name: (first, last)
            for name, (first, last) in self._between(before, offset).items()
            if first < last
        }
        sources = self._opened(offset, offset.owner)
        assert self._subscribed is not None
        for name in [name for name in between if name not in sources]:
            if self._fleet_away() or self._options.fail_on_data_loss:
                raise self._missing(name)
            del between[name]
        adopted = before.positions if before.is_adopted else {}
        if offset.owner:
            self._subscribed.bind({**adopted, **between}, offset.owner, adopted)
        between = {
            name: (self._subscribed.check_begin(name, first), last)
            for name, (first, last) in between.items()
        }
        return self._tasks(between, offset)

    def _tasks(
        self, between: Mapping[str, tuple[int, int]], offset: Offset
    ) -> list[InputPartition]:
        assert self._subscribed is not None
        sources, options = self._subscribed.sources(), self._options
        total = sum(last - first for first, last in between.values())
        most = size_of_tasks(total, options.messages_per_partition, options.min_partitions)
        by_manager: dict[str, list[Range]] = {}
        for name, (first, last) in between.items():
            place = sources[name].place
            parts = split(place.queue, first, last, most)
            by_manager.setdefault(place.address, []).extend(parts)
        name = self._subscribed.name
        since = {address: left_out(offset.since, sources, address) for address in by_manager}
        return [
            Positions(address, task.ranges, name, offset.owner, self._run, since[address])
            for address, ranges in by_manager.items()
            for task in packed(address, ranges, most)
        ]

    def _fleet_away(self) -> str:
        return "; ".join(self._fleet.away.values()) if self._fleet is not None else ""

    def _missing(self, name: str) -> InvalidParameter | ServiceNotAvailable:
        if away := self._fleet_away():
            return ServiceNotAvailable(
                f"option managers: a batch that was begun has messages of {name} (by the GUIDs of"
                f" manager and queue), and cannot be read without its manager: {away}"
            )
        return InvalidParameter(
            f"option queue: the checkpoint has messages of {name} that were not read to the"
            " end, and no option names this manager and queue (by their GUIDs)"
        )

    def between(self, start: Written, end: Written) -> dict[str, tuple[int, int]]:
        """Behind which position of each queue messages are between two offsets, up to which."""
        return self._between(self._offset(start), self._offset(end))

    def _between(self, start: Offset, end: Offset) -> dict[str, tuple[int, int]]:
        sources = self._opened(end, end.owner)
        found = {}
        for name, last in end.positions.items():
            done = sources[name].reader.committed if name in sources else last
            first = end.begin.get(name, start.positions.get(name, done))
            found[name] = min(first, last), last
        return found

    def _check_passage(self, start: Offset, end: Offset) -> None:
        """Refuse what Spark before 4.2 could not be refused when messages were reserved."""
        is_another = start.owner and start.owner != end.owner
        is_new = not start.owner and end.owner and end.owner == self._joined
        if is_another or (is_new and not self._options.resume):
            queues = ", ".join(self._options.queues)
            raise refusal(self._options.subscription, queues, end.owner)

    def commit(self, end: Written) -> None:
        """Spark is done with all up to here; what fails is found with the next one.

        What it was done with before there were owners is adopted with the batch after it.
        """
        self.wait_for_commits()
        offset = self._offset(end)
        if not (offset.owner and offset.positions):
            return
        sources = self._opened(offset, offset.owner)
        subscribed = self._subscribed
        assert subscribed is not None
        before, self._moved = self._moved, None
        moved = before[1] if before is not None and before[0] == end else set()
        done = {
            name: at
            for name, at in offset.positions.items()
            if name in sources and name not in moved
        }
        for group in self._by_manager(done):
            positions = {name: done[name] for name in group}
            self._finishing.append(self._begin(subscribed.finish, positions, offset.owner))

    def wait_for_commits(self) -> None:
        """Wait until managers are done with what was committed; raises what went wrong."""
        for earlier in self._finishing:
            earlier.result()
        self._finishing = []

    def stop(self) -> None:
        """Close the connections."""
        if self._beside is not None:
            self._beside.shutdown()
        if self._fleet is not None:
            self._fleet.close()
        self._fleet = self._subscribed = self._beside = None

    # In tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part, the same whenever it is read."""
        assert isinstance(partition, Positions)
        keep_loaded()
        with connect(self._options, partition.manager, patient=True) as manager:
            paths = dict.fromkeys(one.queue for one in partition.ranges)

            def opened(path: str) -> Subscription:
                return self._reader(open_queue(manager, path, Access.RECEIVE), partition)

            readers = dict(at_once(paths, opened))

            def found() -> Iterator[tuple[str, Sequence[QueuedSlice]]]:
                for one in partition.ranges:
                    for after, last in one.spans:
                        for slices in _slices(readers[one.queue], after, last):
                            yield one.queue, slices

            since = dict(partition.since)
            for block, queues in gathered(found()):
                columns = Columns(block, queues=queues, manager=manager.name)
                limits = [since.get(name, 0) for name, _ in queues]
                yield _kept(columns, columns.batch(self._names), limits, since.get(SINCE_TIME))
            if partition.owner:
                spans = [(one.queue, span) for one in partition.ranges for span in one.spans]
                at_once(spans, lambda one: readers[one[0]].mark_read(*one[1]))

    def _reader(self, queue: Any, part: Positions) -> Subscription:
        """A subscription, for a task of its owner."""
        options, name = self._options, part.subscription
        reader: Subscription = queue.subscription(name, copy=options.copies, owner=part.owner)
        if part.owner:
            bind(reader, queue.name, part.run, take_over=options.resume)
        elif reader.owner:
            raise refusal(name, queue.name, reader.owner)
        return reader


def _slices(reader: Subscription, after: int, last: int) -> Iterator[Sequence[QueuedSlice]]:
    """Reserved messages of a subscription, as many at a time as fit a frame."""
    while after < last:
        found = reader.read_slices(after, last)
        yield found
        after += sum(one.messages for one in found)


def _kept(
    columns: Columns, rows: pa.RecordBatch, limits: Sequence[int], time: int | None
) -> pa.RecordBatch:
    """The rows that are not left out: which came at a time, or behind an arrival of their queue."""
    if time is not None:
        limit = pa.scalar(time * 1_000_000, pa.int64()).cast(TIME)
        return rows.filter(pc.greater_equal(columns.column("arrived_time"), limit))
    if any(limits):
        arrivals = columns.column("arrival")
        return rows.filter(pc.greater(arrivals, array_of(columns.each_queue(limits), pa.int64())))
    return rows
