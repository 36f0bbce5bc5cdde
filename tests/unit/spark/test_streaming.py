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
from openmsmq import Manager, Message
from openmsmq.errors import InvalidParameter
from openmsmq.spark import streaming
from openmsmq.spark.options import STREAM, parse
from openmsmq.spark.streaming import StreamReader

ORDERS = r"here .\private$\orders"


def reader(**options: str) -> StreamReader:
    given = {"manager": "here", "queue": "orders"} | options
    return StreamReader(parse(given, STREAM), ("label",))


def read(found: StreamReader, start: dict[str, int], end: dict[str, int]) -> list[list[str]]:
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
    assert start == {ORDERS: 0}
    end = found.latestOffset(start, ReadMaxRows(3))
    assert end == {ORDERS: 3}
    manager.open_queue("orders").send(Message(b"", label="first", priority=7))
    again = reader(messagesPerPartition="2")
    for one in (found, again):
        assert one.latestOffset(start, ReadMaxRows(3)) == end
        assert read(one, start, end) == [["0", "1"], ["2"]]
    last = again.latestOffset(end, ReadAllAvailable())
    assert read(again, end, last) == [["first", "3"], ["4"]]
    assert again.latestOffset(last, ReadAllAvailable()) == last
    for one in (found, again):
        one.commit(end)
        one.commit(end)  # waits for the first
        one.stop()
    assert reader().initialOffset() == end
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
    assert (first, second) == ({ORDERS: 4}, {ORDERS: 5})
    assert found.latestOffset(second, limit) == second


@pytest.mark.usefixtures("_five")
def test_bytes_are_limited_too() -> None:
    found = reader(maxBytesPerTrigger="1")
    end = found.latestOffset(found.initialOffset(), found.getDefaultReadLimit())
    assert end == {ORDERS: 1}, "one at least"


@pytest.mark.usefixtures("_five")
def test_messages_are_moved_or_kept_when_they_are_done(manager: Manager) -> None:
    moving = reader(onCommit="move:old", subscription="a")
    end = moving.latestOffset(moving.initialOffset(), ReadMaxRows(2))
    moving.commit(end | {"gone queue": 5})
    moving.stop()
    assert manager.open_queue("orders;old").info().messages == 2
    keeping = reader(onCommit="keep", subscription="b")
    keeping.commit(keeping.latestOffset(keeping.initialOffset(), ReadAllAvailable()))
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
    assert end == {rf"here .\private$\{name}": count for name, count in given.items()}


def test_a_stream_that_ends_does_not_take_what_others_leave(manager: Manager) -> None:
    """What is left of a limit is no reason to go on behind the end."""
    first, second = manager.create_queue("a"), manager.create_queue("b")
    first.send_many([b"1", b"2"])
    found = reader(queue="a,b")
    found.prepareForTriggerAvailableNow()
    second.send(b"late")
    end = found.latestOffset(found.initialOffset(), ReadMaxRows(6))
    assert end == {r"here .\private$\a": 2, r"here .\private$\b": 0}


def test_managers_are_asked_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Barrier(2, timeout=10)
    reserve = streaming._reserve

    def meet(*given: Any) -> int:
        both.wait()
        return reserve(*given)

    monkeypatch.setattr(streaming, "_reserve", meet)
    with openmsmq.open(tmp_path / "1") as one, openmsmq.open(tmp_path / "2") as two:
        names = {"one": Lasting(one), "two": Lasting(two)}
        monkeypatch.setattr(streaming, "connect", lambda _, address, patient: names[address])
        for manager in (one, two):
            manager.create_queue("orders").send_many([b"1", b"2", b"3"])
        found = reader(manager="one,two")
        end = found.latestOffset(found.initialOffset(), ReadMaxRows(4))
    assert end == {rf"{name} .\private$\orders": 2 for name in ("one", "two")}


@pytest.mark.usefixtures("_five")
def test_while_there_is_much_more_the_next_messages_are_reserved_meanwhile(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "STEP", 2)
    found = reader()
    start = found.initialOffset()
    found.latestOffset(start, ReadMaxRows(2))
    found.stop()
    [info] = manager.subscriptions()
    assert info.end == 4
    again = reader()
    assert again.latestOffset(start, ReadMaxRows(2)) == {ORDERS: 2}, "but a batch has what it may"
    again.stop()


@pytest.mark.usefixtures("_five")
def test_what_could_not_be_finished_is_found_with_the_next_commit(manager: Manager) -> None:
    found = reader()
    end = found.latestOffset(found.initialOffset(), ReadMaxRows(2))
    found.commit({ORDERS: 99})
    with pytest.raises(InvalidParameter):
        found.commit(end)
    found.stop()
