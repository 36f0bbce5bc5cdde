"""Writes: each task prepares its messages, and the driver lets those that count be seen, once.

A task that is tried again, or runs twice, prepares under another name each time. When all are
done the driver decides in one step of the queue manager which of them count; all others of the
same writer are dropped with it. To decide again, after a crash, changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from openmsmq import Manager, Message, Queue, Transaction
from openmsmq.errors import EpochDecided, InvalidParameter
from openmsmq.spark.options import Options
from openmsmq.spark.rows import messages, packets
from openmsmq.spark.service import connect, open_queue
from openmsmq.spark.tasks import keep_loaded, one_ahead
from openmsmq.types.access import Access

_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SHOWN: Final = 60
_ROWS: Final = 10_000
_TOGETHER: Final = 2_000
"Messages that are sent at once."


@dataclass(frozen=True)
class Prepared(WriterCommitMessage):
    """What a task has prepared."""

    xid: str
    "Empty if it had no rows."
    query: str
    messages: int


class TransactionalWriter:
    """What both writers do."""

    def __init__(self, options: Options, names: tuple[str, ...], identity: str) -> None:
        self._options = options
        self._names = names
        self._is_unnamed = not identity
        self._headers = options.header_format if options.include_headers else ""
        self._writer = writer_name(identity or uuid4().hex)
        if len(options.managers) > 1:
            raise InvalidParameter("option manager: a write goes to one manager")
        if len(options.queues) != 1 and "queue" not in names:
            raise InvalidParameter("option queue: name one, or give each row a column `queue`")
        with self._manager(patient=False) as manager:
            for name in options.queues:
                open_queue(manager, name, Access.SEND)

    def _manager(self, *, patient: bool = True) -> Manager:
        return connect(self._options, self._options.managers[0], patient=patient)

    def _prepare(self, batches: Iterator[pa.RecordBatch], epoch: int, query: str) -> Prepared:
        """Send the rows of a task in a transaction of its own, and prepare it."""
        context = TaskContext.get()
        assert context is not None, "a task has its context"
        keep_loaded()
        place = f"{context.partitionId()}/{context.taskAttemptId()}"
        # Numbers of attempts begin again with every application, so they alone are no names.
        xid = f"{self._writer}/{epoch}/{place}-{uuid4().hex[:12]}"
        default = self._options.queues[0] if self._options.queues else ""
        sent = 0
        with self._manager() as manager, manager.transaction(xid, stage=True) as transaction:
            queues: dict[str, Queue] = {}
            for part in one_ahead(_parts(batches, default, self._headers)):
                if part.queue not in queues:
                    queues[part.queue] = open_queue(manager, part.queue, Access.SEND)
                part.send(queues[part.queue], transaction)
                sent += len(part.packets or part.messages)
            if not (sent and _is_prepared(transaction)):
                transaction.abort()
                xid, sent = "", 0
        return Prepared(xid, query, sent)

    def _commit(self, done: list[Any], epoch: int) -> None:
        """Let what the tasks have prepared be seen, unless that was done before."""
        found = [one for one in done if isinstance(one, Prepared)]
        winners = [one.xid for one in found if one.xid]
        if not found or (self._is_unnamed and not winners):
            return
        with self._manager() as manager:
            manager.commit_epoch(
                self._writer, epoch, winners, owner=found[0].query, final=self._is_unnamed
            )

    def _abort(self, epoch: int) -> None:
        """Drop whatever tasks have prepared."""
        with self._manager() as manager:
            for xid in manager.prepared():
                if xid.startswith(f"{self._writer}/{epoch}/"):
                    manager.abort_prepared(xid)


class BatchWriter(TransactionalWriter, DataSourceArrowWriter):
    """Sends rows as messages: all of them, or none."""

    def __init__(self, options: Options, names: tuple[str, ...]) -> None:
        super().__init__(options, names, options.write_id)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Prepared:
        """Prepare the rows of a task."""
        return self._prepare(iterator, 0, self._options.write_owner)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """All tasks are done."""
        self._commit(messages, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """A task has failed for good."""
        self._abort(0)


_StreamBase: Any = getattr(
    datasource, "DataSourceStreamArrowWriter", datasource.DataSourceStreamWriter
)
"Before 4.1, Spark gives the tasks of a stream rows."


class StreamWriter(TransactionalWriter, _StreamBase):  # type: ignore[misc]  # the base depends on the version
    """Sends the rows of a stream as messages: each of its batches once."""

    def __init__(self, options: Options, names: tuple[str, ...]) -> None:
        if not options.sink:
            raise InvalidParameter("option checkpointLocation or sinkId: one of them is needed")
        super().__init__(options, names, options.sink)

    def write(self, iterator: Iterator[Any]) -> Prepared:
        """Prepare the rows of a task."""
        context = TaskContext.get()
        assert context is not None, "a task has its context"
        query = context.getLocalProperty("sql.streaming.queryId") or ""
        epoch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        return self._prepare(_batches(iterator, self._names), epoch, query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks of a batch are done."""
        self._commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """A task of a batch has failed for good."""
        self._abort(batchId)


def _is_prepared(transaction: Transaction) -> bool:
    """Prepare a transaction; False if it is too late: another attempt or run counts already."""
    try:
        transaction.prepare()
    except EpochDecided:
        return False
    return True


def writer_name(identity: str) -> str:
    """What a writer is called, without the slashes that part the names of transactions."""
    shown = _ODD.sub("-", identity).strip("-")[-_SHOWN:]
    return f"spark-{shown}-{sha256(identity.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages that are sent at once: packets, or what becomes packets one by one."""

    queue: str
    packets: Sequence[bytes] = ()
    messages: Sequence[Message] = ()

    def send(self, queue: Queue, transaction: Transaction) -> None:
        if self.packets:
            queue.send_packets(self.packets, transaction=transaction)
        else:
            queue.send_many(self.messages, transaction=transaction)


def _parts(batches: Iterator[pa.RecordBatch], queue: str, headers: str) -> Iterator[_Part]:
    """The messages that are sent at once, with the queue that they go to."""
    for batch in batches:
        for first in range(0, batch.num_rows, _TOGETHER):
            rows = batch.slice(first, _TOGETHER)
            found = packets(rows, queue, headers)
            if found is not None:
                yield from (_Part(name, packets=own) for name, own in found)
            else:
                for name, own in messages(rows, queue, headers):
                    yield _Part(name, messages=own)


def _batches(rows: Iterator[Any], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """What Spark gives, as batches in any case."""
    waiting: list[tuple[Any, ...]] = []
    for item in rows:
        if isinstance(item, pa.RecordBatch):
            yield item
            continue
        waiting.append(tuple(item))
        if len(waiting) == _ROWS:
            yield _batch(waiting, names)
            waiting.clear()
    if waiting:
        yield _batch(waiting, names)


def _batch(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> pa.RecordBatch:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=list(names))
