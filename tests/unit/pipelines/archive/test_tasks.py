"""What tasks of an archive do, without Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.spark.archiver import SPARK
from tests.unit.client.services import Service

from openmsmq import Manager, Message
from openmsmq.pipelines.archive.archive import FACTS
from openmsmq.pipelines.archive.batches import File, folder_name
from openmsmq.pipelines.archive.tasks import Keeper, by_day, schema_of
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.offsets import reading
from openmsmq.spark.offsets import key

DAY = 86_400_000_000


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

    def kept(after: int, last: int) -> list[File]:
        start, end = ({"owner": "me", "positions": {name: position}} for position in (after, last))
        with reading(options) as reader:
            return keeper.keep(SPARK, reader.partitions(start, end), 7, DataFolder(str(tmp_path)))

    files = kept(5, 25)
    assert [(file.rows, file.batches, file.positions) for file in files] == [
        (10, (7, 7), (6, 15)),
        (10, (7, 7), (16, 25)),
    ]
    assert kept(25, 25) == []
    labels, positions = [], []
    for file in files:
        assert file.source == r".\private$\orders"
        rows = ds.dataset(tmp_path / file.path).to_table()
        assert rows.schema == schema_of(FACTS)
        labels += rows.column("label").to_pylist()
        positions += rows.column("position").to_pylist()
    assert labels == [str(number) for number in range(5, 25)]
    assert positions == list(range(6, 26))
    again = kept(5, 25)
    assert not {file.path for file in again} & {file.path for file in files}
    queue.subscription("lake", owner="me").commit(25)
    [info] = manager.subscriptions()
    assert (info.committed, info.unread) == (25, 5), "its tasks have marked what they have read"


def test_messages_of_small_queues_become_files_of_their_own(
    service: Service, manager: Manager, tmp_path: Path
) -> None:
    """Though one task reads several queues, and gets their messages together."""
    options = {"manager": service.address, "queue": "small*", "subscription": "lake"}
    ends = {}
    for number in range(3):
        queue = manager.create_queue(f"small{number}")
        queue.send_many([f"{number}{place}" for place in range(number + 1)])
        queue.subscription("lake").reserve(0, number + 1)
        ends[key(manager.id, str(queue.info().id))] = number + 1
    start, end = (
        {"owner": "me", "positions": positions} for positions in (dict.fromkeys(ends, 0), ends)
    )
    with reading(options) as reader:
        parts = reader.partitions(start, end)
        assert len(parts) == 1
        files = Keeper(options, FACTS).keep(SPARK, parts, 7, DataFolder(str(tmp_path)))
    found = {file.queue: (file.rows, file.positions) for file in files}
    assert found == {
        r".\private$\small0": (1, (1, 1)),
        r".\private$\small1": (2, (1, 2)),
        r".\private$\small2": (3, (1, 3)),
    }


def test_rows_are_parted_by_their_day_in_utc() -> None:
    times = pa.array([0, DAY - 1, DAY, 5], pa.timestamp("us", tz="UTC"))
    queues = pa.array([r".\private$\q"] * 4)
    batch = pa.RecordBatch.from_arrays([times, queues], names=["arrived_time", "from_queue"])
    found = [(day, queue, len(rows)) for day, queue, rows in by_day(batch)]
    name = r".\private$\q"
    assert found == [("1970-01-01", name, 3), ("1970-01-02", name, 1)]


@pytest.mark.parametrize(
    ("queue", "folder"),
    [
        (r".\private$\orders", "private-orders"),
        (r".\private$\orders\Journal$", "private-orders-Journal"),
        (r".\DeadLetter$", "DeadLetter"),
        (r".\private$\orders;retry", "private-orders-retry"),
        (r".\private$\100%", "private-100-[0-9a-f]{8}"),
        (r".\private$\注文", "private-[0-9a-f]{8}"),
        (r".\private$\a=b/c:d", "private-a-b-c-d-[0-9a-f]{8}"),
    ],
)
def test_names_of_folders_need_no_escapes(queue: str, folder: str) -> None:
    assert re.fullmatch(folder, folder_name(queue))
