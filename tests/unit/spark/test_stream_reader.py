"""Stream readers, without Spark; `tests/spark` has them with it."""

from __future__ import annotations

import pickle
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.unit.spark.conftest import Lasting

import openmsmq
from openmsmq import Manager, Message, Queue, Subscription
from openmsmq.errors import InvalidParameter, SubscriptionTaken
from openmsmq.spark import fleet, shares
from openmsmq.spark.options import STREAM, parse
from openmsmq.spark.shares import BatchShares
from openmsmq.spark.stream_reader import StreamReader, Written


def reader(**options: str) -> StreamReader:
    given = {"manager": "here", "queue": "orders", "subscription": "spark"} | options
    return StreamReader(parse(given, STREAM), ("label",))


def at(found: StreamReader, offset: Written) -> dict[str, int]:
    """The positions of an offset, by the short names of queues."""
    names = {key: one.place.queue for key, one in found._looked().queues.items()}
    positions = offset["positions"].items()
    return {names[key].rpartition("\\")[2]: position for key, position in positions}


def read(found: StreamReader, start: Written, end: Written) -> list[list[str]]:
    copy = pickle.loads(pickle.dumps(found))  # as tasks get it
    return [
        [label for batch in copy.read(part) for label in batch.column("label").to_pylist()]
        for part in found.partitions(start, end)
    ]


@pytest.fixture
def _five(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(Message(b"", label=str(n)) for n in range(5))


@pytest.mark.usefixtures("_five")
def test_the_same_offsets_are_the_same_messages(manager: Manager) -> None:
    found = reader(messagesPerPartition="2")
    start = found.initialOffset()
    assert (at(found, start), start["owner"]) == ({"orders": 0}, "")
    end = found.latestOffset(start, ReadMaxRows(3))
    assert (at(found, end), len(end["owner"])) == ({"orders": 3}, 32)
    manager.open_queue("orders").send(Message(b"", label="first", priority=7))
    again = reader(messagesPerPartition="2")
    for one in (found, again):
        assert at(one, one.latestOffset(start | {"owner": end["owner"]}, ReadMaxRows(3))) == at(
            one, end
        )
    for one in (found, again):
        assert read(one, start, end) == [["0", "1"], ["2"]]
    last = again.latestOffset(end, ReadAllAvailable())
    assert read(again, end, last) == [["first", "3"], ["4"]]
    assert again.latestOffset(last, ReadAllAvailable()) == last
    for one in (found, again):
        one.commit(end)
        one.commit(end)  # waits for the first
        one.stop()
    assert reader().initialOffset()["positions"] == last["positions"]
    with pytest.raises(InvalidParameter):
        read(found, start, end)


@pytest.mark.usefixtures("_five")
def test_a_stream_that_ends_reads_what_was_there(manager: Manager) -> None:
    found = reader(maxMessagesPerTrigger="4")
    found.prepareForTriggerAvailableNow()
    manager.open_queue("orders").send_many(Message(b"", label="late") for _ in range(3))
    start = found.initialOffset()
    limit = found.getDefaultReadLimit()
    first = found.latestOffset(start, limit)
    second = found.latestOffset(first, limit)
    assert (at(found, first), at(found, second)) == ({"orders": 4}, {"orders": 5})
    assert found.latestOffset(second, limit) == second


@pytest.mark.usefixtures("_five")
def test_bytes_are_limited_too() -> None:
    found = reader(maxBytesPerTrigger="1")
    end = found.latestOffset(found.initialOffset(), found.getDefaultReadLimit())
    assert at(found, end) == {"orders": 1}, "one at least"


@pytest.mark.usefixtures("_five")
def test_messages_are_moved_or_kept_when_they_are_done(manager: Manager) -> None:
    moving = reader(onCommit="move:old", subscription="a")
    start = moving.initialOffset()
    end = moving.latestOffset(start, ReadMaxRows(2))
    read(moving, start, end)
    moving.commit(end | {"positions": end["positions"] | {"gone/queue": 5}})
    moving.stop()
    assert manager.open_queue("orders;old").info().messages == 2
    keeping = reader(onCommit="keep", subscription="b")
    start = keeping.initialOffset()
    end = keeping.latestOffset(start, ReadAllAvailable())
    read(keeping, start, end)
    keeping.commit(end)
    keeping.stop()
    assert manager.open_queue("orders").info().messages == 3


@pytest.mark.parametrize(
    ("there", "limit", "given"),
    [
        ({"a": 1, "b": 9}, 6, {"a": 1, "b": 5}),
        ({"a": 9, "b": 1}, 6, {"a": 5, "b": 1}),
        ({"a": 9, "b": 9, "c": 9}, 5, {"a": 2, "b": 2, "c": 1}),
        ({"a": 0, "b": 3}, 1, {"a": 0, "b": 1}),
        ({"a": 1, "b": 1}, 6, {"a": 1, "b": 1}),
    ],
)
def test_a_limit_is_shared_by_queues(
    manager: Manager, there: dict[str, int], limit: int, given: dict[str, int]
) -> None:
    for name, count in there.items():
        manager.create_queue(name).send_many([Message(b"")] * count)
    found = reader(queue=",".join(there))
    end = found.latestOffset(found.initialOffset(), ReadMaxRows(limit))
    assert at(found, end) == given


def test_a_stream_that_ends_does_not_take_what_others_leave(manager: Manager) -> None:
    """What is left of a limit is no reason to go on behind the end."""
    first, second = manager.create_queue("a"), manager.create_queue("b")
    first.send_many([b"1", b"2"])
    found = reader(queue="a,b")
    found.prepareForTriggerAvailableNow()
    second.send(b"late")
    end = found.latestOffset(found.initialOffset(), ReadMaxRows(6))
    assert at(found, end) == {"a": 2, "b": 0}


def test_managers_are_asked_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Barrier(2, timeout=10)
    reserve = BatchShares._reserve

    def meet(self: BatchShares, *given: Any) -> int:
        both.wait()
        return reserve(self, *given)

    monkeypatch.setattr(BatchShares, "_reserve", meet)
    with openmsmq.open(tmp_path / "1") as one, openmsmq.open(tmp_path / "2") as two:
        names = {"one": Lasting(one), "two": Lasting(two)}
        monkeypatch.setattr(fleet, "connect", lambda _, address, **__: names[address])
        for manager in (one, two):
            manager.create_queue("orders").send_many([b"1", b"2", b"3"])
        found = reader(manager="one,two")
        end = found.latestOffset(found.initialOffset(), ReadMaxRows(4))
        assert list(end["positions"].values()) == [2, 2]


@pytest.mark.usefixtures("_five")
def test_while_there_is_much_more_the_next_messages_are_reserved_meanwhile(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "STEP", 2)
    found = reader()
    start = found.initialOffset()
    found.latestOffset(start, ReadMaxRows(2))
    found.stop()
    [info] = manager.subscriptions()
    assert info.reserved == 4
    again = reader()
    end = again.latestOffset(start, ReadMaxRows(2))
    assert at(again, end) == {"orders": 2}, "but a batch has what it may"
    again.stop()


@pytest.mark.usefixtures("_five")
def test_what_could_not_be_finished_is_found_with_the_next_commit(manager: Manager) -> None:
    found = reader()
    start = found.initialOffset()
    end = found.latestOffset(start, ReadMaxRows(2))
    read(found, start, end)
    found.commit(end | {"positions": dict.fromkeys(end["positions"], 99)})
    with pytest.raises(InvalidParameter):
        found.commit(end)
    found.stop()


def old(position: int, address: str = "here") -> dict[str, int]:
    """An offset of before there were owners."""
    return {rf"{address} .\private$\orders": position}


def stream(found: StreamReader, start: Written, most: int = 2) -> tuple[Written, list[str]]:
    """A batch that is read; where it ends, and its labels."""
    end = found.latestOffset(start, ReadMaxRows(most))
    return end, [label for part in read(found, start, end) for label in part]


@pytest.mark.usefixtures("_five")
def test_what_no_task_has_read_stays_reserved(manager: Manager) -> None:
    found = reader()
    first = found.latestOffset(found.initialOffset(), ReadMaxRows(2))
    second, labels = stream(found, first)
    assert labels == ["2", "3"]
    found.commit(first)
    found.commit(second)
    found.stop()
    [info] = manager.subscriptions()
    assert (info.committed, info.unread, info.owner) == (4, 2, first["owner"])
    assert manager.drop_subscription("spark", "orders", unread=True) == 2


@pytest.mark.usefixtures("_five")
def test_a_batch_that_is_skipped_binds_the_stream_when_it_is_committed(manager: Manager) -> None:
    found = reader()
    end = found.latestOffset(found.initialOffset(), ReadMaxRows(2))
    found.commit(end)
    found.stop()
    again = reader()
    assert stream(again, end)[1] == ["2", "3"]
    with pytest.raises(SubscriptionTaken, match="belongs to another stream"):
        stream(reader(), reader().initialOffset())
    again.stop()


@pytest.mark.usefixtures("_five")
def test_reservations_pass_to_the_next_stream_until_a_task_reads(manager: Manager) -> None:
    first, second = reader(), reader()
    start = first.initialOffset()
    planned = first.latestOffset(start, ReadMaxRows(2))
    assert stream(second, second.initialOffset())[1] == ["0", "1"]
    with pytest.raises(SubscriptionTaken, match="resume=true"):
        read(first, start, planned)


@pytest.mark.usefixtures("_five")
def test_a_stream_takes_over_on_purpose_and_keeps_it() -> None:
    first = reader(resume="true")
    end, _ = stream(first, first.initialOffset())
    second = reader(resume="true")
    later, labels = stream(second, second.initialOffset(), 3)
    assert labels == ["0", "1", "2"]
    with pytest.raises(SubscriptionTaken):
        stream(reader(resume="true"), end)
    assert stream(reader(), later)[1] == ["3", "4"]
    with pytest.raises(SubscriptionTaken):
        reader().latestOffset(end, ReadMaxRows(1))


@pytest.mark.usefixtures("_five")
def test_offsets_without_owners_are_adopted(manager: Manager) -> None:
    lake = manager.open_queue("orders").subscription("spark")
    lake.reserve(0, 3)
    lake.commit(1)
    again = reader()
    assert read(again, old(1), old(2)) == [["1"]], "a batch that was begun before"
    again.commit(old(2))
    end, labels = stream(again, old(2), 1)
    assert labels == ["2"]
    again.commit(end)
    again.stop()
    [info] = manager.subscriptions()
    assert (info.committed, info.reserved, info.unread, info.owner) == (3, 3, 0, end["owner"])
    with pytest.raises(SubscriptionTaken):
        reader().latestOffset(old(2), ReadMaxRows(1))
    with pytest.raises(SubscriptionTaken):
        read(reader(), old(1), end | {"owner": "another"})
    with pytest.raises(SubscriptionTaken, match="belongs to another stream"):
        read(reader(), old(3), old(4))


@pytest.mark.usefixtures("_five")
def test_queues_without_new_messages_are_adopted_too(manager: Manager) -> None:
    manager.create_queue("quiet").send(b"")
    for name in ("orders", "quiet"):
        manager.open_queue(name).subscription("spark").reserve(0, 1)
    found = reader(queue="orders,quiet")
    start = old(1) | {r"here .\private$\quiet": 1}
    end, labels = stream(found, start)
    assert labels == ["1", "2"]
    found.commit(end)
    found.stop()
    assert [(one.committed, one.unread) for one in manager.subscriptions()] == [(3, 0), (1, 0)]


@pytest.mark.usefixtures("_five")
def test_nothing_new_is_the_offset_that_was_given() -> None:
    found = reader()
    end, _ = stream(found, found.initialOffset(), 5)
    assert found.latestOffset(end, ReadMaxRows(1)) == end
    assert found.partitions(end, end) == []


@pytest.mark.usefixtures("_five")
def test_a_queue_that_options_name_no_longer(manager: Manager) -> None:
    manager.create_queue("other")
    found = reader()
    start = found.initialOffset()
    end = found.latestOffset(start, ReadMaxRows(2))
    with pytest.raises(InvalidParameter, match="no option names this manager and queue"):
        reader(queue="other").partitions(start, end)
    assert reader(queue="other").partitions(end, end) == []


@pytest.mark.usefixtures("_five")
def test_spark_that_does_not_say_where_it_is() -> None:
    """Before 4.2 `latestOffset` has no argument, and only `partitions` learns of the owner."""
    first = reader(maxMessagesPerTrigger="2")
    start = first.initialOffset()
    end = first.latestOffset()
    assert read(first, start, end) == [["0", "1"]]
    assert first.latestOffset()["owner"] == end["owner"]
    again = reader(maxMessagesPerTrigger="2")  # the same stream after a crash in its first batch
    assert read(again, start, end) == [["0", "1"]]
    later = reader(maxMessagesPerTrigger="1").latestOffset()
    assert later["owner"] == end["owner"]
    other = reader(maxMessagesPerTrigger="1")
    begin = other.initialOffset()
    with pytest.raises(SubscriptionTaken, match="belongs to another stream"):
        other.partitions(begin, other.latestOffset())
    with pytest.raises(SubscriptionTaken):
        other.partitions(end | {"owner": "gone"}, later)


def test_each_queue_has_its_own_start(manager: Manager) -> None:
    """Messages of several queues are in one batch of columns."""
    for name, count in (("a", 0), ("b", 2), ("c", 1)):
        queue = manager.create_queue(name)
        queue.send_many(Message(b"", label=f"old {n}") for n in range(count))
    found = reader(queue="a,b,c", startingPosition="latest", onCommit="keep")
    start = found.initialOffset()
    for name in "abc":
        manager.open_queue(name).send(Message(b"", label=f"new {name}"))
    end = found.latestOffset(start, found.getDefaultReadLimit())
    assert read(found, start, end) == [["new a", "new b", "new c"]]


def test_a_stream_with_a_subscription_of_its_own_opens_it_once(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.create_queue("orders").send(b"x")
    opened: list[str] = []
    open_one = Queue.subscription

    def subscription(queue: Queue, name: str, **given: Any) -> Subscription:
        opened.append(given["owner"])
        return open_one(queue, name, **given)

    monkeypatch.setattr(Queue, "subscription", subscription)
    found = reader(subscription="")
    start = found.initialOffset()
    begun = found.latestOffset(start, ReadMaxRows(3))
    assert found.partitions(start, begun) == []
    end = found.latestOffset(begun, ReadMaxRows(3))
    assert len(found.partitions(begun, end)) == 1
    found.commit(end)
    found.stop()
    assert opened == [begun["owner"]]
