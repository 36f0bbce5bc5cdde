"""Whether a checkpoint and a subscription go together: one test for each thing that can happen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.unit.client.services import Service
from tests.unit.spark.test_stream_reader import read, reader, stream

import openmsmq
from openmsmq import Manager, Message
from openmsmq.errors import InvalidParameter, RunReplaced, SubscriptionTaken
from openmsmq.spark import options as known
from openmsmq.spark.options import parse
from openmsmq.spark.stream_reader import StreamReader, Written

OWN = {"subscription": ""}


@pytest.fixture
def _five(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many(Message(b"", label=str(n)) for n in range(5))


@pytest.mark.usefixtures("_five")
def test_a_stream_without_a_name_has_a_subscription_of_its_own(manager: Manager) -> None:
    found = reader(**OWN)
    first = found.latestOffset(found.initialOffset(), ReadMaxRows(3))
    assert (first["positions"], manager.subscriptions()) == ({}, []), "only the owner, at first"
    assert read(found, found.initialOffset(), first) == []
    end, labels = stream(found, first, 3)
    assert labels == ["0", "1", "2"]
    [info] = manager.subscriptions()
    assert info.name == end["subscription"] == f"spark-{first['owner'][:12]}"
    again = reader(**OWN)
    assert stream(again, end)[1] == ["3", "4"]
    manager.open_queue("orders").send(b"")
    other = reader(**OWN)
    whole = other.latestOffset(other.initialOffset(), ReadAllAvailable())
    assert whole["subscription"] not in ("", info.name), "Trigger.Once has one batch only"
    with pytest.raises(InvalidParameter, match=r"Spark before 4\.2"):
        reader(**OWN).latestOffset()


@pytest.mark.usefixtures("_five")
def test_an_old_checkpoint_without_a_name_keeps_the_one_it_had() -> None:
    end, _ = stream(reader(), reader().initialOffset())
    older = {key: value for key, value in end.items() if key != "subscription"}
    assert stream(reader(**OWN), older)[1] == ["2", "3"]


@pytest.mark.usefixtures("_five")
@pytest.mark.parametrize("is_older", [False, True])
def test_another_name_with_the_same_checkpoint_is_refused(is_older: bool) -> None:
    end, _ = stream(reader(), reader().initialOffset())
    if is_older:
        del end["subscription"]
    with pytest.raises(InvalidParameter, match="the checkpoint is about 'spark'"):
        reader(subscription="other").latestOffset(end, ReadMaxRows(1))


def rolled_back(manager: Manager) -> Written:
    """A checkpoint of which a later state has committed more."""
    found = reader()
    early, _ = stream(found, found.initialOffset(), 1)
    late, _ = stream(found, early, 2)
    found.commit(late)
    found.stop()
    return early


def dropped(manager: Manager) -> Written:
    """A checkpoint that is ahead of its subscription: the subscription was dropped."""
    found = reader()
    end, _ = stream(found, found.initialOffset(), 2)
    found.stop()
    manager.drop_subscription("spark", "orders")
    return end


@pytest.mark.usefixtures("_five")
@pytest.mark.parametrize(
    ("happened", "words", "left"),
    [
        (rolled_back, "an older state of the checkpoint", ["3", "4"]),
        (dropped, "was dropped, or its manager was restored", ["0", "1", "2", "3", "4"]),
    ],
)
def test_what_is_lost_is_an_error_unless_it_is_accepted(
    manager: Manager, happened: object, words: str, left: list[str]
) -> None:
    assert callable(happened)
    offset = happened(manager)
    with pytest.raises(InvalidParameter, match=words) as refused:
        reader().latestOffset(offset, ReadMaxRows(9))
    assert "failOnDataLoss=false" in refused.value.detail
    found = reader(failOnDataLoss="false")
    end, labels = stream(found, offset, 9)
    assert labels == left
    assert read(reader(failOnDataLoss="false"), offset, end) == [left], "the same after a crash"
    manager.open_queue("orders").send(b"")
    assert "begin" not in found.latestOffset(end, ReadMaxRows(1))
    found.stop()


@pytest.mark.usefixtures("_five")
def test_what_was_read_before_a_loss_commits_nothing_of_what_follows(manager: Manager) -> None:
    """Spark commits the batch before when it has written down the next one."""
    offset = dropped(manager)
    found = reader(failOnDataLoss="false")
    end = found.latestOffset(offset, ReadMaxRows(2))
    found.commit(offset)
    found.wait_for_commits()
    assert read(found, offset, end) == [["0", "1"]]
    found.commit(end)
    found.wait_for_commits()
    [info] = manager.subscriptions()
    assert (info.committed, info.unread) == (2, 0)
    found.stop()


@pytest.mark.usefixtures("_five")
def test_a_queue_that_was_created_again_is_another_one(manager: Manager) -> None:
    end, _ = stream(reader(), reader().initialOffset())
    manager.delete_queue("orders")
    manager.create_queue("orders").send(Message(b"", label="new"))
    with pytest.raises(InvalidParameter, match="is not there any more"):
        reader().latestOffset(end, ReadMaxRows(9))
    assert stream(reader(failOnDataLoss="false"), end)[1] == ["new"]


def test_a_queue_that_is_deleted_meanwhile(manager: Manager) -> None:
    for name in ("a", "b"):
        manager.create_queue(name).send(Message(b"", label=name))
    strict, loose = reader(queue="a,b"), reader(queue="a,b", failOnDataLoss="false", **OWN)
    begun, _ = stream(strict, strict.initialOffset())
    start = loose.latestOffset(loose.initialOffset(), ReadMaxRows(9))
    loose.latestOffset(start, ReadMaxRows(9))
    manager.delete_queue("a")
    with pytest.raises(InvalidParameter, match="a was deleted"):
        strict.latestOffset(begun, ReadMaxRows(9))
    manager.open_queue("b").send(Message(b"", label="more"))
    assert stream(loose, start, 9)[1] == ["more"]


@pytest.mark.usefixtures("_five")
def test_a_copy_of_a_checkpoint_is_refused_where_the_other_has_read(manager: Manager) -> None:
    end, _ = stream(reader(), reader().initialOffset())
    assert stream(reader(), end, 2)[1] == ["2", "3"]
    with pytest.raises(SubscriptionTaken, match="it is a copy"):
        reader().latestOffset(end, ReadMaxRows(2))


@pytest.mark.usefixtures("_five")
def test_of_two_runs_with_one_checkpoint_the_first_is_refused() -> None:
    first, second = reader(), reader()
    start, _ = stream(first, first.initialOffset(), 1)
    planned = first.latestOffset(start, ReadMaxRows(1))
    parts = first.partitions(start, planned)
    assert read(second, start, second.latestOffset(start, ReadMaxRows(1))) == [["1"]]
    with pytest.raises(RunReplaced, match="only one may run"):
        list(first.read(parts[0]))


@pytest.mark.usefixtures("_five")
def test_what_was_read_is_committed_when_there_is_nothing_more(manager: Manager) -> None:
    found = reader()
    end, _ = stream(found, found.initialOffset(), 5)
    assert found.latestOffset(end, ReadMaxRows(1)) == end
    [info] = manager.subscriptions()
    assert (info.committed, info.uncommitted) == (5, 0)


@pytest.mark.usefixtures("_five")
def test_progress_says_how_far_a_stream_is_behind() -> None:
    found = reader()
    assert found.reportLatestOffset() is None
    stream(found, found.initialOffset(), 2)
    report = found.reportLatestOffset()
    assert report is not None
    assert (report["lag"], list(report["positions"].values())) == (3, [5])
    assert report["managers"]["here"]["lag"] == 3
    [queue] = report["queues"]
    assert (queue["lag"], queue["reserved"]) == (3, 2)


@pytest.fixture
def running_service(tmp_path: Path) -> Iterator[Service]:
    running = Service(tmp_path / "data")
    yield running
    running.close()


@pytest.fixture
def filled(running_service: Service) -> Iterator[Manager]:
    with openmsmq.connect(running_service.address) as connected:
        connected.create_queue("a").send_many(Message(b"", label=f"a{n}") for n in range(3))
        connected.create_queue("b").send(Message(b"", label="b0", priority=7))
        yield connected


@contextmanager
def reading(service: Service, position: str) -> Iterator[StreamReader]:
    options = {"manager": service.address, "queue": "a,b", "onCommit": "keep"}
    options |= {"startingPosition": position, "subscription": "lake"}
    reader = StreamReader(parse(options, known.STREAM), ("label",))
    yield reader
    reader.stop()


def labels(reader: StreamReader, start: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """What a batch behind an offset has, and where it ends."""
    end = reader.latestOffset(start)
    found = [
        label
        for part in reader.partitions(start, end)
        for batch in reader.read(part)
        for label in batch.column("label").to_pylist()
    ]
    reader.commit(end)
    return sorted(found), end


def test_a_stream_begins_with_what_comes(running_service: Service, filled: Manager) -> None:
    with reading(running_service, "latest") as reader:
        start = reader.initialOffset()
        filled.open_queue("a").send_many([Message(b"", label="a3"), Message(b"", label="a4")])
        filled.open_queue("b").send(Message(b"", label="b1"))
        found, end = labels(reader, start)
        assert found == ["a3", "a4", "b1"]
    filled.open_queue("b").send(Message(b"", label="b2"))
    with reading(running_service, "latest") as again:
        assert labels(again, end)[0] == ["b2"], "it goes on with its offset"
    assert filled.open_queue("a").info().messages == 5, "what is left out stays"


def test_a_stream_begins_at_a_time(running_service: Service, filled: Manager) -> None:
    now = datetime.now(UTC)
    with reading(running_service, (now + timedelta(hours=1)).isoformat()) as reader:
        found, end = labels(reader, reader.initialOffset())
        assert (found, sum(end["positions"].values())) == ([], 4)
    filled.drop_subscription("lake", "a")
    filled.drop_subscription("lake", "b")
    with reading(running_service, (now - timedelta(hours=1)).isoformat()) as reader:
        assert labels(reader, reader.initialOffset())[0] == ["a0", "a1", "a2", "b0"]


@pytest.mark.parametrize(
    ("position", "action", "reason"),
    [
        ("latest", "remove", "messages that are left out would be removed"),
        ("soon", "keep", "'soon', not earliest, latest or a time"),
    ],
)
def test_starting_positions_that_cannot_be(position: str, action: str, reason: str) -> None:
    options = {"queue": "a", "startingPosition": position, "onCommit": action}
    with pytest.raises(InvalidParameter, match=reason):
        parse(options, known.STREAM)
