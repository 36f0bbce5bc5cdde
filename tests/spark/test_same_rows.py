"""The same offsets are the same rows, whatever else happens in the queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from openmsmq import Manager, Message, Queue
from openmsmq.errors import RunReplaced
from openmsmq.spark.options import STREAM, parse
from openmsmq.spark.stream_reader import StreamReader, Written
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow
ALL = ("lookup_id", "label", "body", "priority", "message_id")
Row = dict[str, Any]


def send(queue: Queue, *labels: str, **properties: Any) -> None:
    queue.send_many([Message(label.encode(), label=label, **properties) for label in labels])


def rows(reader: StreamReader, start: Written, end: Written) -> list[Row]:
    """What the tasks of a batch read."""
    found: list[Row] = []
    for partition in reader.partitions(start, end):
        for batch in reader.read(partition):
            found += batch.to_pylist()
    return found


def names(found: list[Row]) -> list[str]:
    return [row["label"] for row in found]


@pytest.mark.parametrize("on_commit", ["remove", "keep"])
def test_a_batch_is_the_same_when_others_interfere(
    service: ManagerProcess, manager: Manager, fresh: Callable[[str], str], on_commit: str
) -> None:
    """Others receive, transactions abort, messages expire, urgent ones come, all is purged."""
    plain = manager.create_queue(fresh(f"{on_commit}-1"))
    safe = manager.create_queue(fresh(f"{on_commit}-2"), transactional=True)
    queues = {"queue": fresh(f"{on_commit}-*"), "manager": service.app, "onCommit": on_commit}
    queues["subscription"] = "same"

    def reader(most: int) -> StreamReader:
        given = queues | {"maxMessagesPerTrigger": str(most), "messagesPerPartition": "2"}
        return StreamReader(parse(given, STREAM), ALL)

    send(plain, "a", "b")
    send(plain, "fleeting", time_to_be_received=1)
    with manager.transaction() as sending:
        safe.send_many([Message(b"", label=label) for label in ("held", "c")], transaction=sending)
    holding = manager.transaction()
    assert safe.receive(timeout=0, transaction=holding).label == "held"
    first = reader(100)
    start = first.initialOffset()
    end = first.latestOffset(start, first.getDefaultReadLimit())
    before = rows(first, start, end)
    assert names(before) == ["a", "b", "fleeting", "c"]

    send(plain, "urgent", "late", priority=7)
    holding.abort()
    time.sleep(1.2)  # by now one has expired
    assert plain.receive(timeout=0).label == "urgent"
    again = reader(1)  # the driver has died, and begins with another limit
    assert rows(again, start, end) == before
    with pytest.raises(RunReplaced):
        rows(first, start, end)
    assert again.initialOffset() == start

    next_end = first.latestOffset(end, first.getDefaultReadLimit())
    assert names(rows(again, end, next_end)) == ["late", "held"]
    again.commit(end)
    for queue in (plain, safe):
        queue.purge()
    last = reader(1)
    assert names(rows(last, end, next_end)) == ["late", "held"]
    assert again.latestOffset(next_end, again.getDefaultReadLimit()) == next_end
    for one in (first, again, last):
        one.stop()


def test_a_batch_of_spark_is_the_same_when_it_is_repeated(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    """The driver dies in the middle of a batch, which begins again later."""
    queue = manager.create_queue(fresh("q"))
    seen: dict[int, list[list[str]]] = {}

    def run(*, dies: bool) -> None:
        def take(frame: DataFrame, batch: int) -> None:
            seen.setdefault(batch, []).append(sorted(row.label for row in frame.collect()))
            if dies:
                raise RuntimeError("on purpose")

        stream = spark.readStream.format("msmq").schema("label string")
        query = (
            stream.options(manager=service.app, queue=fresh("q"), maxMessagesPerTrigger="3")
            .option("subscription", "same")
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path / "c"))
            .trigger(availableNow=True)
            .start()
        )
        if dies:
            with pytest.raises(Exception, match="on purpose"):
                query.awaitTermination()
        else:
            query.awaitTermination()

    send(queue, "a", "b", "c")
    send(queue, "d", "e")
    run(dies=True)
    send(queue, "urgent", priority=7)
    assert queue.receive(timeout=0).label == "urgent"
    send(queue, "more", priority=7)
    run(dies=False)
    assert seen[0] == [["a", "b", "c"], ["a", "b", "c"]]
    assert seen[1] == [["d", "e", "more"]]
    assert sorted(seen) == [0, 1]
