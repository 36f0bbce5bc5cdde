"""df.write and df.writeStream: rows as messages, once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import StructType

from openmsmq import Manager, Queue
from openmsmq.spark.options import WRITE, parse
from openmsmq.spark.source import MsmqDataSource
from openmsmq.spark.writers import BatchWriter, Prepared
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def write(service: ManagerProcess) -> Callable[..., None]:
    def save(frame: DataFrame, **options: str) -> None:
        writer = frame.write.format("msmq").option("manager", service.app).mode("append")
        writer.options(**options).save()

    return save


def labels(queue: Queue) -> list[str]:
    return sorted(message.label for message in queue.peek_many(100_000, timeout=0))


@pytest.mark.parametrize("transactional", [True, False])
def test_rows_become_messages(
    spark: SparkSession,
    manager: Manager,
    write: Callable[..., None],
    fresh: Callable[[str], str],
    transactional: bool,
) -> None:
    queue = manager.create_queue(fresh(str(transactional)), transactional=transactional)
    frame = spark.range(100).selectExpr(
        *("cast(concat('body ', id) as binary) as body", "concat('label ', id) as label"),
        *("cast(5 as int) as priority", "id as app_specific", "60L as time_to_be_received"),
        "if(id % 2 = 0, 'answers', null) as response_queue",
    )
    write(frame, queue=fresh(str(transactional)))
    found = {message.app_specific: message for message in queue.peek_many(1000, timeout=0)}
    assert sorted(found) == list(range(100))
    assert (found[3].body, found[3].label) == (b"body 3", "label 3")
    assert found[3].time_to_be_received == 60
    assert found[3].transactional is transactional
    assert found[3].priority == (0 if transactional else 5)
    assert found[3].response_queue is None
    assert str(found[4].response_queue).endswith(r"private$\answers")
    assert manager.prepared() == []


def test_text_is_a_body_and_rows_choose_their_queue(
    spark: SparkSession, manager: Manager, write: Callable[..., None], fresh: Callable[[str], str]
) -> None:
    queues = [manager.create_queue(fresh(name)) for name in "abc"]
    rows = [("1", fresh("a")), ("2", fresh("b")), ("3", None)]
    write(spark.createDataFrame(rows, "value string, queue string"), queue=fresh("c"))
    assert [queue.receive(timeout=0).text for queue in queues] == ["1", "2", "3"]


def test_a_task_that_fails_after_writing_leaves_no_duplicate(
    spark: SparkSession, manager: Manager, write: Callable[..., None], fresh: Callable[[str], str]
) -> None:
    """Each first attempt fails when all its rows are sent, but not prepared."""
    queue = manager.create_queue(fresh("q"), transactional=True)

    def fail_late(rows: Iterable[Row]) -> Iterable[Row]:
        yield from rows
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise RuntimeError("on purpose")

    rows = spark.range(100).repartition(3).rdd.mapPartitions(fail_late)
    frame = spark.createDataFrame(rows, "id long")
    write(frame.selectExpr("cast(id as string) as label", "x'' as body"), queue=fresh("q"))
    assert labels(queue) == sorted(str(n) for n in range(100))
    assert manager.prepared() == []


class FlakyWriter(BatchWriter):
    """Each first attempt fails when all is done."""

    def write(self, iterator: Iterator[Any]) -> Prepared:
        found = super().write(iterator)
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise RuntimeError("on purpose")
        return found


class FlakyDataSource(MsmqDataSource):
    """The format, with tasks that fail once."""

    @classmethod
    def name(cls) -> str:
        return "msmq-flaky"

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return FlakyWriter(parse(self.options, WRITE), tuple(schema.fieldNames()))


@pytest.mark.parametrize("transactional", [True, False])
def test_a_task_that_fails_after_it_has_prepared_leaves_no_duplicate(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    fresh: Callable[[str], str],
    transactional: bool,
) -> None:
    name = fresh(str(transactional))
    queue = manager.create_queue(name, transactional=transactional)
    spark.dataSource.register(FlakyDataSource)
    rows = spark.range(100).repartition(3).selectExpr("cast(id as string) as label", "x'' as body")
    writer = rows.write.format("msmq-flaky").mode("append")
    writer.options(manager=service.app, queue=name).save()
    assert labels(queue) == sorted(str(n) for n in range(100))
    assert manager.prepared() == []


def test_a_job_that_fails_sends_nothing(
    spark: SparkSession, manager: Manager, write: Callable[..., None], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    frame = spark.range(100).repartition(4).selectExpr("raise_error(id) as label", "x'' as body")
    bad = frame.where("label is null").union(
        spark.range(10).selectExpr("cast(id as string)", "x''")
    )
    with pytest.raises(PySparkException):
        write(bad, queue=fresh("q"))
    assert queue.info().messages == 0
    assert manager.prepared() == []


def test_a_write_with_a_name_is_done_once(
    spark: SparkSession, manager: Manager, write: Callable[..., None], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    frame = spark.range(10).selectExpr("cast(id as string) as label", "x'' as body")
    for _ in range(2):
        write(frame, queue=fresh("q"), writeId=fresh("w"))
    assert queue.info().messages == 10
    assert manager.prepared() == []


@pytest.mark.parametrize(
    ("expression", "options", "reason"),
    [
        ("id as body", {}, "column 'body' must be binary, not bigint"),
        ("cast(id as string) as lable", {}, "did you mean 'label'?"),
        ("x'' as body", {"queue": "nowhere-at-all"}, "there is no queue 'nowhere-at-all'"),
        ("x'' as body", {"queue": ""}, "option queue: name one"),
        ("x'' as body", {"onCommit": "keep"}, "no option 'oncommit' here"),
    ],
)
def test_a_write_that_cannot_be_is_reported_before_a_job_starts(
    spark: SparkSession,
    manager: Manager,
    write: Callable[..., None],
    fresh: Callable[[str], str],
    expression: str,
    options: dict[str, str],
    reason: str,
) -> None:
    name = fresh(str(len(expression + reason)))
    manager.create_queue(name)
    with pytest.raises(PySparkException) as caught:
        write(spark.range(1).selectExpr(expression), **{"queue": name} | options)
    assert reason in str(caught.value)


@pytest.fixture
def stream(spark: SparkSession, service: ManagerProcess, tmp_path: Path) -> Callable[..., None]:
    """Sends the files of a folder, as far as there are new ones."""

    def run(queue: str, **options: str) -> None:
        rows = spark.readStream.schema("label string").json(str(tmp_path / "in"))
        query = (
            rows.select("label", col("label").cast("binary").alias("body"))
            .writeStream.format("msmq")
            .option("manager", service.app)
            .option("queue", queue)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .options(**options)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    return run


def put(folder: Path, name: str, *texts: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    lines = "".join(f'{{"label": "{text}"}}\n' for text in texts)
    (folder / "in" / f"{name}.json").write_text(lines)


def test_a_stream_sends_each_row_once(
    manager: Manager, stream: Callable[..., None], fresh: Callable[[str], str], tmp_path: Path
) -> None:
    queue = manager.create_queue(fresh("q"), transactional=True)
    put(tmp_path, "1", "a", "b")
    stream(fresh("q"))
    put(tmp_path, "2", "c")
    stream(fresh("q"))
    stream(fresh("q"))
    assert labels(queue) == ["a", "b", "c"]
    # The driver died when the batch was sent, before Spark wrote that down.
    commits = tmp_path / "checkpoint" / "commits"
    for path in (commits / "1", commits / ".1.crc"):
        path.unlink()
    stream(fresh("q"))
    assert labels(queue) == ["a", "b", "c"]
    assert manager.prepared() == []


def test_a_deleted_checkpoint_is_an_error(
    manager: Manager, stream: Callable[..., None], fresh: Callable[[str], str], tmp_path: Path
) -> None:
    queue = manager.create_queue(fresh("q"))
    put(tmp_path, "1", "a", "b")
    stream(fresh("q"))
    shutil.rmtree(tmp_path / "checkpoint")
    with pytest.raises(PySparkException, match=r"checkpoint.* belongs to .*, not to"):
        stream(fresh("q"))
    assert labels(queue) == ["a", "b"]
    assert manager.prepared() == []
    stream(fresh("q"), sinkId=fresh("another"))
    assert labels(queue) == ["a", "a", "b", "b"]
