"""spark.readStream.format("msmq"): queues as streams, each message once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from openmsmq import Manager, Message
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def run(spark: SparkSession, service: ManagerProcess, tmp_path: Path) -> Callable[..., list[str]]:
    """Reads what is there into a table of files; the labels in it."""

    def work(queue: str, **options: str) -> list[str]:
        rows = (
            spark.readStream.format("msmq")
            .schema("label string, from_queue string")
            .option("manager", service.app)
            .option("queue", queue)
            .options(**options)
            .load()
        )
        query = (
            rows.writeStream.format("parquet")
            .option("path", str(tmp_path / "table"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sorted(row.label for row in spark.read.parquet(str(tmp_path / "table")).collect())

    return work


def test_a_stream_reads_each_message_once(
    manager: Manager, run: Callable[..., list[str]], fresh: Callable[[str], str], tmp_path: Path
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many(Message(b"", label=text) for text in "abc")
    assert run(fresh("q"), maxMessagesPerTrigger="2") == ["a", "b", "c"]
    batches = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
    assert batches == 3, "the first one is empty: it writes down the owner"
    queue.send(Message(b"", label="d", priority=7))
    assert run(fresh("q")) == ["a", "b", "c", "d"]
    assert queue.info().messages == 0
    [info] = [one for one in manager.subscriptions() if one.queue == queue.name]
    assert info.name == f"spark-{info.owner[:12]}"
    assert (info.reserved, info.committed) == (4, 4), "the last batch is committed, too"


def test_what_becomes_of_messages_that_were_read(
    manager: Manager, run: Callable[..., list[str]], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many(Message(b"", label=text) for text in "ab")
    action = {"onCommit": "move:archive", "subscription": "lake"}
    assert run(fresh("q"), **action) == ["a", "b"]
    archive = manager.open_queue(fresh("q") + ";archive")
    assert [message.label for message in archive.peek_many(9, timeout=0)] == ["a", "b"]


def test_a_stream_can_leave_messages_where_they_are(
    manager: Manager, run: Callable[..., list[str]], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many(Message(b"", label=text) for text in "ab")
    assert run(fresh("q"), onCommit="keep") == ["a", "b"]
    assert queue.info().messages == 2, "at the end of a stream the last batch is in the queue again"
    assert run(fresh("q"), onCommit="keep") == ["a", "b"]


def test_many_queues_in_one_stream(
    manager: Manager, run: Callable[..., list[str]], fresh: Callable[[str], str]
) -> None:
    for name in "ab":
        queue = manager.create_queue(fresh(name))
        queue.send_many(Message(b"", label=f"{name}{n}") for n in range(5))
    found = run(f"{fresh('')}*", maxMessagesPerTrigger="4", messagesPerPartition="1")
    assert found == [f"{name}{n}" for name in "ab" for n in range(5)]


def test_bytes_that_quiet_queues_leave_go_to_the_busy_one(
    manager: Manager, run: Callable[..., list[str]], fresh: Callable[[str], str], tmp_path: Path
) -> None:
    for name in "abcdefghij":
        queue = manager.create_queue(fresh(name))
    queue.send_many(Message(bytes(1000), label="x") for _ in range(60))
    assert run(f"{fresh('')}*", maxBytesPerTrigger="50000") == ["x"] * 60
    batches = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
    assert batches <= 4, "an empty one, and two; a tenth of the bytes for each would make 15"


def test_state_is_kept_in_python(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    """With the packages of the extra `spark`: what each label has come to, over two runs."""

    def add(key: tuple[str], parts: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas as pd  # type: ignore[import-untyped]  # in a worker

        before = state.get[0] if state.exists else 0
        state.update((before + sum(map(len, parts)),))
        yield pd.DataFrame({"label": [key[0]], "seen": [state.get[0]]})

    queue = manager.create_queue(fresh("q"))
    found: list[tuple[str, int]] = []
    for labels in ("aab", "a"):
        queue.send_many(Message(b"", label=label) for label in labels)
        rows = spark.readStream.format("msmq").schema("label string")
        rows = rows.option("manager", service.app).option("queue", fresh("q"))
        counted = (
            rows.load()
            .groupBy("label")
            .applyInPandasWithState(
                add, "label string, seen long", "seen long", "update", "NoTimeout"
            )
        )
        writer = counted.writeStream.outputMode("update").foreachBatch(
            lambda batch, _: found.extend((row.label, row.seen) for row in batch.collect())
        )
        writer = writer.option("checkpointLocation", str(tmp_path / "c"))
        writer.trigger(availableNow=True).start().awaitTermination()
    assert sorted(found) == [("a", 2), ("a", 3), ("b", 1)]
