"""Checkpoints that are checked, patterns, lag, and managers that are away."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import openmsmq
from openmsmq import Manager, Message, Queue
from tests.e2e.managers import ManagerProcess, free_port
from tests.unit.client.services import Service

pytestmark = pytest.mark.slow


class Stream:
    """A stream that is run again and again, with what its last run has read and reported."""

    def __init__(self, spark: SparkSession, folder: Path, **options: str) -> None:
        self._spark = spark
        self._folder = folder
        self._options = options
        self.before: Callable[[], object] = bool
        "What is done with each batch before it is read."
        self.progress: dict[str, Any] = {}
        self.tasks = 0

    def run(self, checkpoint: str = "c", **options: str) -> list[str]:
        """Read what is there; the labels, in order."""
        found: list[str] = []

        def take(batch: DataFrame, _: int) -> None:
            self.before()
            self.tasks = max(self.tasks, batch.rdd.getNumPartitions())
            found.extend(row.label for row in batch.collect())

        rows = self._spark.readStream.format("msmq").schema("Label string").options(**self._options)
        writer = rows.options(**options).load().toDF("label").writeStream.foreachBatch(take)
        place = str(self._folder / checkpoint)
        query = writer.option("checkpointLocation", place).trigger(availableNow=True).start()
        query.awaitTermination()
        if query.lastProgress is not None:
            self.progress = json.loads(query.lastProgress.json)["sources"][0]
        return sorted(found)

    def again(self, before: Callable[[], object]) -> Stream:
        """The same stream, with something to do before it reads a batch."""
        found = Stream(self._spark, self._folder, **self._options)
        found.before = before
        return found

    def copy(self, source: str, target: str, *, another_query: bool = False) -> None:
        """Copy a checkpoint over another one; `another_query` lets Spark run both at once."""
        shutil.rmtree(self._folder / target, ignore_errors=True)
        shutil.copytree(self._folder / source, self._folder / target)
        if another_query:
            (self._folder / target / ".metadata.crc").unlink(missing_ok=True)
            (self._folder / target / "metadata").write_text(json.dumps({"id": str(uuid4())}))


@pytest.fixture
def stream(
    spark: SparkSession, service: ManagerProcess, fresh: Callable[[str], str], tmp_path: Path
) -> Stream:
    return Stream(spark, tmp_path, manager=service.app, queue=f"{fresh('')}*")


def send(queue: Queue, labels: str) -> None:
    queue.send_many([Message(b"", label=label) for label in labels])


def test_a_checkpoint_that_is_not_what_it_was(
    manager: Manager, stream: Stream, fresh: Callable[[str], str]
) -> None:
    """Copied, rolled back, with another name, for a queue that was created again."""
    queue = manager.create_queue(fresh("q"))
    send(queue, "ab")
    assert stream.run() == ["a", "b"]
    stream.copy("c", "older")
    send(queue, "c")
    assert stream.run() == ["c"]
    send(queue, "d")
    with pytest.raises(PySparkException, match="an older state of the checkpoint"):
        stream.run("older")
    with pytest.raises(PySparkException, match="the checkpoint is about 'spark-"):
        stream.run(subscription="another")
    assert stream.run() == ["d"], "the stream itself goes on"
    assert stream.run("older", failOnDataLoss="false") == []
    manager.delete_queue(fresh("q"))
    send(manager.create_queue(fresh("q")), "n")
    with pytest.raises(PySparkException, match="is not there any more"):
        stream.run()
    assert stream.run(failOnDataLoss="false") == ["n"]


def test_a_checkpoint_that_two_streams_use_at_once(
    manager: Manager, stream: Stream, fresh: Callable[[str], str]
) -> None:
    """The one that began first ends when it reads on; nothing is lost or comes twice."""
    queue = manager.create_queue(fresh("q"))
    send(queue, "a")
    assert stream.run() == ["a"]
    stream.copy("c", "copy", another_query=True)
    send(queue, "b")
    planned, may_go_on = Event(), Event()

    def wait() -> None:
        planned.set()
        assert may_go_on.wait(120)

    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(stream.again(before=wait).run)
        assert planned.wait(120)
        assert stream.run("copy") == ["b"]
        may_go_on.set()
        with pytest.raises(PySparkException, match="only one may run"):
            first.result()
    send(queue, "c")
    with pytest.raises(PySparkException, match="an older state of the checkpoint"):
        stream.run()
    assert stream.run("copy") == ["c"]


def test_a_store_that_was_restored_and_a_subscription_that_was_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The checkpoint is ahead; `failOnDataLoss=false` goes on with what is there."""
    service = Service(tmp_path / "m")
    stream = Stream(spark, tmp_path, manager=service.address, queue="q")
    try:
        with openmsmq.connect(service.address) as manager:
            send(manager.create_queue("q"), "ab")
        assert stream.run() == ["a", "b"]
        service.stop()
        shutil.copytree(tmp_path / "m", tmp_path / "backup")
        service.start()
        with openmsmq.connect(service.address) as manager:
            send(manager.open_queue("q"), "c")
        assert stream.run() == ["c"]
        service.stop()
        shutil.rmtree(tmp_path / "m")
        shutil.move(tmp_path / "backup", tmp_path / "m")
        service.start()
        with openmsmq.connect(service.address) as manager:
            send(manager.open_queue("q"), "d")
            with pytest.raises(PySparkException, match="was restored from a backup"):
                stream.run()
            assert stream.run(failOnDataLoss="false") == ["d"]
            [info] = manager.subscriptions()
            manager.drop_subscription(info.name, "q")
            send(manager.open_queue("q"), "e")
            with pytest.raises(PySparkException, match="it was dropped, or its manager"):
                stream.run()
        assert stream.run(failOnDataLoss="false") == ["e"]
    finally:
        service.close()


def test_where_a_stream_begins(
    manager: Manager, stream: Stream, fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    send(queue, "ab")
    kept = {"onCommit": "keep"}
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    earlier = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert stream.run("latest", startingPosition="latest", **kept) == []
    assert stream.run("later", startingPosition=later, **kept) == []
    assert stream.run("earlier", startingPosition=earlier, minPartitions="2", **kept) == ["a", "b"]
    assert stream.tasks == 2
    send(queue, "c")
    assert stream.run("latest", startingPosition="latest", **kept) == ["c"]


@pytest.mark.acceptance
def test_a_thousand_queues_with_one_message_each(
    manager: Manager,
    stream: Stream,
    fresh: Callable[[str], str],
    record_property: Callable[[str, object], None],
) -> None:
    for number in range(1000):
        send(manager.create_queue(fresh(f"{number:03}")), "x")
    began = time.monotonic()
    assert stream.run() == ["x"] * 1000
    record_property("seconds", time.monotonic() - began)
    assert stream.tasks <= 5


@pytest.mark.acceptance
def test_fifty_managers_of_which_five_are_away(spark: SparkSession, tmp_path: Path) -> None:
    services = [Service(tmp_path / f"m{number}") for number in range(50)]
    try:
        for number, service in enumerate(services):
            with openmsmq.connect(service.address) as manager:
                send(manager.create_queue("q"), "x")
            if number % 10 == 0:
                service.stop()
        places = ",".join(service.address for service in services)
        fleet = Stream(spark, tmp_path, managers=places, queue="q", onManagerAway="skip")
        assert fleet.run() == ["x"] * 45
        found = fleet.progress["latestOffset"]["managers"]
        away = {place for place, one in found.items() if "away" in one}
        assert away == {service.address for service in services[::10]}
        for service in services[::10]:
            service.start()
        assert fleet.run() == ["x"] * 5, "they are back"
    finally:
        for service in services:
            service.close()


def test_many_small_queues_share_tasks_and_later_ones_are_found(
    manager: Manager, stream: Stream, fresh: Callable[[str], str]
) -> None:
    names = [f"{number:03}" for number in range(150)]
    for name in names[:-1]:
        send(manager.create_queue(fresh(name)), "x")
    assert stream.run() == ["x"] * 149
    assert stream.tasks == 1
    send(manager.create_queue(fresh(names[-1])), "y")
    assert stream.run() == ["y"]
    report = stream.progress["latestOffset"]
    assert report["lag"] == 0
    assert len(report["positions"]) == 150


def test_a_stream_goes_on_without_a_manager_that_is_away(
    service: ManagerProcess, manager: Manager, stream: Stream, fresh: Callable[[str], str]
) -> None:
    send(manager.create_queue(fresh("q")), "a")
    dead = f"127.0.0.1:{free_port()}"
    both = {"managers": f"{service.app},{dead}", "queue": fresh("q")}
    other = Stream(stream._spark, stream._folder, **both)
    with pytest.raises(PySparkException, match="option manager"):
        other.run("fails")
    assert other.run(onManagerAway="skip") == ["a"]
    managers = other.progress["latestOffset"]["managers"]
    assert set(managers) == {service.app, dead}
    assert dead in managers[dead]["away"]


def test_rows_are_written_as_they_were_read(
    spark: SparkSession, service: ManagerProcess, manager: Manager, fresh: Callable[[str], str]
) -> None:
    source, target = manager.create_queue(fresh("a")), manager.create_queue(fresh("b"))
    source.send(Message("text", label="x", priority=5, extension=b'{"rbs2-msg-id":"1"}'))
    rows = spark.read.format("msmq").option("manager", service.app).option("queue", fresh("a"))
    place = {"manager": service.app, "queue": fresh("b")}
    rows.load().write.format("msmq").options(**place).mode("append").save()
    found, sent = target.receive(timeout=0), source.peek(timeout=0)
    assert (found.body, found.label, found.priority) == (sent.body, "x", 5)
    assert found.extension == sent.extension
    assert "headers" in rows.load().columns
    assert "headers" not in rows.option("includeHeaders", "false").load().columns
    rows = rows.option("includeHeaders", "true")
    assert rows.load().rdd.getNumPartitions() == 1
    source.send(Message("more"))
    assert rows.option("minPartitions", "2").load().rdd.getNumPartitions() == 2
    rows = rows.option("minPartitions", "1").schema("body binary")
    assert source.receive(timeout=0).label == "x"
    made = rows.load().selectExpr("body", "map('k', 'v') as headers")
    without = {**place, "includeHeaders": "false"}
    made.write.format("msmq").options(**without).mode("append").save()
    assert target.receive(timeout=0).extension == b""
    made.write.format("msmq").options(**place, headerFormat="rebus").mode("append").save()
    assert target.receive(timeout=0).extension == b'{"k":"v"}'
