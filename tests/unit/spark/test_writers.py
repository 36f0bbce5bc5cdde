"""Writers, without Spark; `tests/spark` has them with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark import TaskContext

from openmsmq import Manager
from openmsmq.errors import InvalidParameter, QueueNotFound, TransactionSequence
from openmsmq.spark import writers
from openmsmq.spark.options import SINK, WRITE, parse
from openmsmq.spark.writers import BatchWriter, StreamWriter, writer_name

LABELS = ("body", "label")


class Context:
    """What a task knows of itself."""

    def __init__(self, partition: int, query: str = "query 1", batch: int = 0) -> None:
        self._partition = partition
        self._properties = {"sql.streaming.queryId": query, "streaming.sql.batchId": str(batch)}

    def partitionId(self) -> int:
        return self._partition

    def taskAttemptId(self) -> int:
        return 1

    def getLocalProperty(self, name: str) -> str | None:
        return self._properties.get(name)


@pytest.fixture
def run_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[Context], None]:
    def set_context(context: Context) -> None:
        monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))

    set_context(Context(0))
    return set_context


def rows(*labels: str) -> Iterator[pa.RecordBatch]:
    if labels:
        yield pa.RecordBatch.from_pydict({"body": [b""] * len(labels), "label": list(labels)})


def labels(manager: Manager) -> list[str]:
    found = manager.open_queue("orders").peek_many(100, timeout=0)
    return sorted(message.label for message in found)


def batch_writer(**options: str) -> BatchWriter:
    return BatchWriter(parse({"queue": "orders"} | options, WRITE), LABELS)


def stream_writer() -> StreamWriter:
    return StreamWriter(parse({"queue": "orders", "checkpointLocation": "/c"}, SINK), LABELS)


@pytest.mark.usefixtures("run_as")
@pytest.mark.parametrize("transactional", [True, False])
def test_nothing_is_seen_before_the_driver_says_so(manager: Manager, transactional: bool) -> None:
    manager.create_queue("orders", transactional=transactional)
    writer = batch_writer()
    winners = [writer.write(rows("a", "b")), writer.write(rows("c")), writer.write(rows())]
    loser = writer.write(rows("c"))
    assert labels(manager) == []
    assert [one.messages for one in winners] == [2, 1, 0]
    writer.commit([*winners, None])
    assert labels(manager) == ["a", "b", "c"]
    assert loser.xid not in manager.prepared()
    assert manager.prepared() == []


@pytest.mark.usefixtures("run_as")
def test_a_job_that_failed_leaves_nothing(manager: Manager) -> None:
    manager.create_queue("orders")
    writer, other = batch_writer(), batch_writer()
    done, kept = writer.write(rows("a")), other.write(rows("b"))
    writer.abort([done, None])
    assert manager.prepared() == [kept.xid]
    writer.commit([None])
    assert labels(manager) == []


@pytest.mark.usefixtures("run_as")
def test_a_write_with_a_name_is_done_once(manager: Manager) -> None:
    manager.create_queue("orders")
    for _ in range(2):
        writer = batch_writer(writeId="today")
        writer.commit([writer.write(rows("a"))])
    assert labels(manager) == ["a"]
    assert manager.prepared() == []


def test_a_batch_of_a_stream_is_sent_once(
    manager: Manager, run_as: Callable[[Context], None]
) -> None:
    manager.create_queue("orders")
    writer = stream_writer()
    writer.commit([writer.write(rows("a"))], 0)
    writer.commit([stream_writer().write(rows("a"))], 0)  # the driver has died and begun again
    run_as(Context(0, batch=1))
    stale = writer.write(rows("b"))
    writer.abort([stale], 1)
    writer.commit([writer.write(iter([(b"", "b")]))], 1)  # as Spark before 4.1 gives rows
    assert labels(manager) == ["a", "b"]
    run_as(Context(0, query="query 2"))
    with pytest.raises(TransactionSequence, match=r"belongs to query 1.*, not to query 2"):
        writer.commit([writer.write(rows("a"))], 0)


def test_many_rows_are_sent_in_batches(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_ROWS", 2)
    found = list(writers._batches(iter([(b"", str(n)) for n in range(5)]), LABELS))
    assert [len(batch) for batch in found] == [2, 2, 1]


def test_a_write_that_cannot_be_is_refused(manager: Manager) -> None:
    manager.create_queue("orders")
    with pytest.raises(InvalidParameter, match="one manager"):
        BatchWriter(parse({"manager": "a,b", "queue": "orders"}, WRITE), LABELS)
    with pytest.raises(InvalidParameter, match="name one"):
        BatchWriter(parse({"queue": "a,b"}, WRITE), LABELS)
    with pytest.raises(QueueNotFound):
        batch_writer(queue="none")
    with pytest.raises(InvalidParameter, match="checkpointLocation or sinkId"):
        StreamWriter(parse({"queue": "orders"}, SINK), LABELS)
    BatchWriter(parse({}, WRITE), ("body", "queue"))


def test_names_of_writers_have_no_slashes() -> None:
    assert writer_name("file:/tmp/c").startswith("spark-file-tmp-c-")
    assert writer_name("/tmp/c") != writer_name("/tmp-c")
    assert "/" not in writer_name("/" * 500)
