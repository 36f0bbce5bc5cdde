"""Batch reads, without Spark; `tests/spark` has them with it."""

from __future__ import annotations

from itertools import chain

import pytest
from pyspark.sql.datasource import InputPartition

from openmsmq import Manager, Message, Queue
from openmsmq.errors import MessageNotFound, QueueNotFound
from openmsmq.spark.batch_reader import BatchReader, Contents, slices_in, slices_of
from openmsmq.spark.options import BATCH, parse
from openmsmq.spark.service import bands
from openmsmq.spark.tasks import Task
from openmsmq.types.lookup import ARRIVAL_BITS


def reader(most: int = 100) -> BatchReader:
    options = {"manager": "here", "queue": "orders", "messagesPerPartition": str(most)}
    return BatchReader(parse(options, BATCH), ("label", "lookup_id"))


def read(found: BatchReader) -> list[list[str]]:
    return [
        [label for batch in found.read(part) for label in batch.column("label").to_pylist()]
        for part in found.partitions()
    ]


def test_ranges_are_closed_to_what_comes_later(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(Message(b"", label=str(n), priority=n % 2) for n in range(6))
    found = reader()
    parts = found.partitions()
    queue.send_many([Message(b"", priority=0), Message(b"", priority=1), Message(b"", priority=7)])
    labels = [
        label for part in parts for batch in found.read(part) for label in batch[0].to_pylist()
    ]
    assert labels == ["1", "3", "5", "0", "2", "4"]
    assert [part.manager for part in parts if isinstance(part, Task)] == ["here"]


def test_a_queue_is_read_in_parts(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(Message(b"", label=str(n)) for n in range(10))
    assert read(reader(4)) == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8", "9"]]
    queue.receive_many(5)
    assert read(reader(4)) == [["5", "6"], ["7", "8", "9"]]


def test_queues_with_few_messages_share_columns(manager: Manager) -> None:
    for name in ("orders", "orders2", "orders3"):
        manager.create_queue(name).send_many(Message(b"", label=f"{name} {n}") for n in range(2))
    found = BatchReader(parse({"queue": "orders*"}, BATCH), ("label", "from_queue"))
    [batch] = [batch for part in found.partitions() for batch in found.read(part)]
    names = [label.partition(" ")[0] for label in batch["label"].to_pylist()]
    assert batch["from_queue"].to_pylist() == [rf".\private$\{name}" for name in names]
    assert sorted(names) == ["orders"] * 2 + ["orders2"] * 2 + ["orders3"] * 2


def test_nothing_is_read_of_an_empty_queue(manager: Manager) -> None:
    manager.create_queue("orders")
    assert reader().partitions() == []
    assert list(reader().read(InputPartition(None))) == []
    with pytest.raises(QueueNotFound):
        BatchReader(parse({"queue": "nothing"}, BATCH), ("label",))


def test_bounds_are_kept(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(Message(b"", label=str(n)) for n in range(10))
    places = [message.lookup_id for message in queue.peek_many(10)]
    found = reader(3)
    found.limit(places[2], places[6])
    found.limit(0, places[5])
    assert list(chain.from_iterable(read(found))) == ["2", "3", "4", "5"]


def test_what_others_take_meanwhile_is_not_read(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = manager.create_queue("orders")
    queue.send_many([b"1", b"2", b"3"])
    first, second, third = (message.lookup_id for message in queue.peek_many(3))
    queue.receive_by_lookup_id(second)
    [[found]] = slices_in(queue, 0, second)
    assert (found.lookup_id, found.messages) == (first, 1)
    assert list(slices_in(queue, third, third + 5)) == []
    assert list(slices_in(queue, first, second)) == []

    def gone(*_: object) -> None:
        raise MessageNotFound

    monkeypatch.setattr(Queue, "peek_by_lookup_id", gone)
    assert list(bands(queue)) == []


def test_a_range_with_gaps_has_no_more_parts_than_messages_need() -> None:
    parts = slices_of(Contents("q", 10, ((1, 1000),)), 5)
    assert [part.spans for part in parts] == [((0, 500),), ((500, 1000),)]


def test_few_messages_of_another_priority_are_no_reason_for_more_parts() -> None:
    high, low = 0, 4 << ARRIVAL_BITS
    queue = Contents("q", 200, ((high + 50, high + 150), (low + 1, low + 200)))
    parts = list(slices_of(queue, 100))
    assert [part.spans for part in parts] == [
        ((high + 49, high + 100), (low, low + 100)),
        ((high + 100, high + 150), (low + 100, low + 200)),
    ]
    assert [part.messages for part in parts] == [100, 100]
