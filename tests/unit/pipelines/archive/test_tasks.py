"""What tasks of an archive do, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.unit.client.services import Service

from openmsmq import Manager, Message
from openmsmq.pipelines.archive.archive import FACTS
from openmsmq.pipelines.archive.tasks import Keeper, by_day, escaped
from openmsmq.pipelines.offsets import BatchOffsets
from openmsmq.spark.offsets import key

DAY = 86_400_000_000


class Tasks:
    """What a keeper uses of Spark, in this process."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def map(self, work: Callable[[Any], Any]) -> Tasks:
        return Tasks([work(item) for item in self._items])

    def collect(self) -> list[Any]:
        return self._items


SPARK: Any = SimpleNamespace(
    sparkContext=SimpleNamespace(parallelize=lambda items, count: Tasks(items))
)


def test_messages_become_files_in_their_order(
    service: Service, manager: Manager, tmp_path: Path
) -> None:
    queue = manager.open_queue("orders")
    queue.send_many(Message(b"x", label=str(number)) for number in range(25))
    queue.subscription("lake").reserve(0, 25)
    options = {
        "manager": service.address,
        "queue": "orders",
        "subscription": "lake",
        "messagesPerPartition": "10",
    }
    keeper = Keeper(options, FACTS)
    name = key(manager.id, str(queue.info().id))

    def between(after: int, last: int) -> BatchOffsets:
        start, end = ({"owner": "me", "positions": {name: position}} for position in (after, last))
        return BatchOffsets(start, end, {name: (after, last)})

    files = keeper.keep(SPARK, between(5, 25), tmp_path)
    assert [file.rows for file in files] == [10, 10]
    assert keeper.keep(SPARK, between(25, 25), tmp_path) == []
    labels = []
    for file in files:
        rows = ds.dataset(tmp_path / file.path).to_table()
        assert rows.column_names == list(FACTS)
        labels += rows.column("label").to_pylist()
    assert labels == [str(number) for number in range(5, 25)]
    again = keeper.keep(SPARK, between(5, 25), tmp_path)
    assert not {file.path for file in again} & {file.path for file in files}
    queue.subscription("lake", owner="me").commit(25)
    [info] = manager.subscriptions()
    assert (info.committed, info.unread) == (25, 5), "its tasks have marked what they have read"


def test_rows_are_parted_by_their_day_in_utc() -> None:
    times = pa.array([0, DAY - 1, DAY, 5], pa.timestamp("us", tz="UTC"))
    queues = pa.array([r".\private$\q"] * 4)
    batch = pa.RecordBatch.from_arrays([times, queues], names=["arrived_time", "from_queue"])
    found = {str(folder): len(rows) for folder, rows in by_day(batch)}
    queue = "queue=.%5Cprivate$%5Cq"
    assert found == {f"date=1970-01-01/{queue}": 3, f"date=1970-01-02/{queue}": 1}


@pytest.mark.parametrize("name", [r".\private$\a=b/c:d", "100%", "Grüße", "[x]*?\"#'"])
def test_names_of_partitions_can_be_read_back(name: str) -> None:
    assert "/" not in escaped(name)
    assert "=" not in escaped(name)
    assert unquote(escaped(name)) == name
