"""A subscription belongs to one stream, and what no task has read is not removed."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import openmsmq
from openmsmq import Manager, Message, Queue
from openmsmq.types.subscriptions import SubscriptionInfo
from tests.e2e.managers import ManagerProcess, running

pytestmark = pytest.mark.slow

BEFORE = Path(__file__).with_name("before_owners.tar.gz")
"""A checkpoint and the store of its manager, by a program that knew no owners.

The messages a to e were read in three batches of two, the last of which is done and not committed.
"""
Run = Callable[..., list[str]]


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    """Reads what is there into a table of files; the labels in it."""

    def work(
        manager: str, queue: str, checkpoint: str = "c", table: str = "t", **options: str
    ) -> list[str]:
        rows = spark.readStream.format("msmq").schema("label string")
        query = (
            rows.options(manager=manager, queue=queue, **options)
            .load()
            .writeStream.format("parquet")
            .option("path", str(tmp_path / table))
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sorted(row.label for row in spark.read.parquet(str(tmp_path / table)).collect())

    return work


@pytest.fixture
def gather(spark: SparkSession, tmp_path: Path) -> Run:
    """Reads what is there; the labels of all batches of this run."""

    def work(
        manager: str, queue: str, checkpoint: str = "c", *, dies: bool = False, **options: str
    ) -> list[str]:
        found: list[str] = []

        def take(batch: DataFrame, _: int) -> None:
            found.extend(row.label for row in batch.collect())
            if found and dies:
                raise ValueError("the sink died")

        rows = spark.readStream.format("msmq").schema("label string")
        rows = rows.options(manager=manager, queue=queue, **options)
        stream = rows.load().writeStream.foreachBatch(take)
        stream = stream.option("checkpointLocation", str(tmp_path / checkpoint))
        query = stream.trigger(availableNow=True).start()
        if dies:
            with pytest.raises(PySparkException, match="the sink died"):
                query.awaitTermination()
        else:
            query.awaitTermination()
        return sorted(found)

    return work


def send(queue: Queue, labels: str) -> None:
    queue.send_many([Message(b"", label=label) for label in labels])


def labels(queue: Queue) -> list[str]:
    return sorted(message.label for message in queue.peek_many(1000, timeout=0))


def info(manager: Manager, queue: Queue) -> SubscriptionInfo:
    [found] = [one for one in manager.subscriptions() if one.queue == queue.name]
    return found


def test_a_lost_checkpoint_loses_no_message(
    service: ManagerProcess,
    manager: Manager,
    run: Run,
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    """Spark's file sink skips batches whose numbers it has had, and the source commits them."""
    queue = manager.create_queue(fresh("q"))
    named = {"subscription": "lake"}
    send(queue, "ab")
    run(service.app, fresh("q"), **named)
    send(queue, "cd")
    assert run(service.app, fresh("q"), **named) == list("abcd")
    shutil.rmtree(tmp_path / "c")
    send(queue, "efg")
    with pytest.raises(PySparkException, match="belongs to another stream") as refused:
        run(service.app, fresh("q"), **named)
    assert "resume=true" in str(refused.value)
    assert "openmsmq subscription drop 'lake'" in str(refused.value)
    assert labels(queue) == list("efg"), "not even reserved"
    # On purpose: the first two batches of the new checkpoint are skipped by the sink.
    options = {"maxMessagesPerTrigger": "2", "resume": "true"} | named
    assert run(service.app, fresh("q"), **options) == list("abcd")
    send(queue, "h")
    assert run(service.app, fresh("q"), **options) == list("abcdh"), "it goes on"
    found = info(manager, queue)
    assert (found.unread, found.uncommitted, labels(queue)) == (3, 0, [])
    assert manager.drop_subscription("lake", fresh("q"), unread=True) == 3
    assert labels(queue) == list("efg")
    assert run(service.app, fresh("q"), **named) == list("abcdefgh")
    assert info(manager, queue).unread == 0


def test_two_streams_do_not_share_a_subscription(
    service: ManagerProcess, manager: Manager, run: Run, fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    named = {"subscription": "shared"}
    send(queue, "ab")
    assert run(service.app, fresh("q"), **named) == ["a", "b"]
    send(queue, "cd")
    with pytest.raises(PySparkException, match="belongs to another stream"):
        run(service.app, fresh("q"), "other", "others", **named)
    assert run(service.app, fresh("q"), **named) == list("abcd")


def test_each_stream_has_a_subscription_of_its_own(
    service: ManagerProcess, manager: Manager, run: Run, fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    send(queue, "ab")
    assert run(service.app, fresh("q"), onCommit="keep") == ["a", "b"]
    assert run(service.app, fresh("q"), "other", "others", onCommit="keep") == ["a", "b"]
    names = {one.name for one in manager.subscriptions() if one.queue == queue.name}
    assert len(names) == 2
    assert all(name.startswith("spark-") for name in names)


def test_the_stream_that_was_taken_over_from_is_refused(
    service: ManagerProcess, manager: Manager, run: Run, fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    send(queue, "ab")
    options = {"resume": "true", "subscription": "lake"}
    run(service.app, fresh("q"), **options)
    send(queue, "c")
    assert run(service.app, fresh("q"), "new", "news", **options) == ["c"]
    with pytest.raises(PySparkException, match="belongs to another stream"):
        run(service.app, fresh("q"), **options)
    send(queue, "d")
    assert run(service.app, fresh("q"), "new", "news", **options) == ["c", "d"]


def test_a_stream_that_died_in_its_first_batch_goes_on(
    service: ManagerProcess, manager: Manager, gather: Run, fresh: Callable[[str], str]
) -> None:
    """Spark asks for the initial offset again then, which has no owner; others read meanwhile."""
    queue = manager.create_queue(fresh("q"))
    send(queue, "abc")
    assert gather(service.app, fresh("q"), dies=True, subscription="lake") == list("abc")
    queue.send_many([Message(b"", label="z", priority=7), Message(b"", label="y")])
    assert queue.receive(timeout=0).label == "z"
    assert gather(service.app, fresh("q"), subscription="lake") == list("abcy")
    assert info(manager, queue).unread == 0


def test_what_was_read_is_known_after_the_manager_was_killed(gather: Run, tmp_path: Path) -> None:
    process = ManagerProcess(tmp_path, "shop01")
    with running(process):
        with process.connect() as manager:
            send(manager.create_queue("q"), "abc")
        assert gather(process.app, "q", dies=True, messagesPerPartition="1") == list("abc")
        process.kill()  # between what tasks have read and what Spark commits
        process.start()
        with process.connect() as manager:
            queue = manager.open_queue("q")
            send(queue, "d")
            assert gather(process.app, "q") == list("abcd")
            found = info(manager, queue)
            assert (found.committed, found.reserved, found.unread) == (4, 4, 0)


def test_an_address_can_be_written_in_other_ways(
    service: ManagerProcess, manager: Manager, run: Run, fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    folder = service.folder
    send(queue, "ab")
    assert run(service.app, fresh("q")) == ["a", "b"]
    send(queue, "c")
    assert run(f"unix:{folder}/../{folder.name}/app", fresh("q")) == list("abc")


def test_a_journal_is_another_queue_than_its_own(
    service: ManagerProcess, manager: Manager, run: Run, fresh: Callable[[str], str]
) -> None:
    """It has the same GUID."""
    queue = manager.create_queue(fresh("q"), journal=True)
    send(queue, "ab")
    queue.receive(timeout=0)
    both = rf"{fresh('q')},.\private$\{fresh('q')}\Journal$"
    assert run(service.app, both) == ["a", "b"]


@pytest.fixture
def old(tmp_path: Path) -> Iterator[ManagerProcess]:
    """The manager that the old checkpoint is about, at another address; `c` is the checkpoint."""
    process = ManagerProcess(tmp_path, "shop01")
    with tarfile.open(BEFORE) as archive:
        archive.extractall(process.folder, filter="data")
    (process.folder / "checkpoint").rename(tmp_path / "c")
    with running(process):
        yield process


@pytest.mark.parametrize("is_done", [True, False])
def test_a_checkpoint_of_before_there_were_owners_is_adopted(
    old: ManagerProcess, gather: Run, tmp_path: Path, is_done: bool
) -> None:
    if not is_done:  # the driver died in its last batch
        for name in ("2", ".2.crc"):
            (tmp_path / "c" / "commits" / name).unlink()
    again = [] if is_done else ["e"]
    with old.connect() as manager:
        queue = manager.open_queue("orders")
        send(queue, "fg")
        assert gather(old.app, "orders") == [*again, "f", "g"]
        found = info(manager, queue)
        assert (found.committed, found.reserved, found.unread) == (7, 7, 0)
        send(queue, "h")
        assert gather(old.app, "orders") == ["h"]
        found = info(manager, queue)
        assert (found.committed, found.reserved, found.unread) == (8, 8, 0)
        with pytest.raises(PySparkException, match="belongs to another stream"):
            gather(old.app, "orders", "other", subscription="spark")
    with openmsmq.connect(old.app) as manager, pytest.raises(openmsmq.errors.SubscriptionTaken):
        manager.open_queue("orders").subscription("spark").commit(8)


def test_an_old_checkpoint_is_not_adopted_where_there_is_an_owner(
    old: ManagerProcess, gather: Run, tmp_path: Path
) -> None:
    with old.connect() as manager:
        send(manager.open_queue("orders"), "f")
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    assert gather(old.app, "orders") == ["f"]
    with pytest.raises(PySparkException, match="belongs to another stream"):
        gather(old.app, "orders", "copy")
