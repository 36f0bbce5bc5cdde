"""Tables with a few batches, written in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.spark.archiver import archived
from tests.unit.client.services import Service

from openmsmq import Manager, Message
from openmsmq.pipelines.archive.batches import ManifestEntry
from openmsmq.pipelines.archive.stores import place_of
from openmsmq.pipelines.archive.table_archive import TableArchive

ORDERS = r".\private$\orders"


def grown(
    manager: Manager, service: Service, path: Path, kind: str, *counts: int, **archive: Any
) -> TableArchive:
    """An archive of `orders`, with a batch for each of these numbers of new messages."""
    for count in counts:
        manager.open_queue("orders").send_many(Message(b"x") for _ in range(count))
        source = {"manager": service.address, "queue": "orders", "on_commit": "keep"}
        table = {"path": str(path), "format": kind, **archive}
        archived({"name": "lake", "source": source, "archive": table})
    found = place_of(path).open()
    assert isinstance(found, TableArchive)
    return found


def check_table(store: TableArchive) -> None:
    """What every kind of table has to offer, for one with batches of 3 and 2 messages."""
    entries = list(store.entries())
    assert [(one.batch, one.rows, one.total) for one in entries][-2:] == [(1, 3, 3), (2, 2, 5)]
    last = store.last()
    assert last is not None
    assert (last.batch, list(last.offset["positions"].values())) == (2, [5])
    files = store.files()
    assert [(one.source, one.rows, one.batches, one.positions) for one in files] == [
        (ORDERS, 3, (1, 1), (1, 3)),
        (ORDERS, 2, (2, 2), (4, 5)),
    ]
    assert [one.rows for one in store.files(2, 9)] == [2]
    assert all((store.data.path / one.path).is_file() for one in files)


def empty(last: ManifestEntry) -> ManifestEntry:
    """The batch that follows, without a row."""
    return ManifestEntry(last.batch + 1, last.query, 0, last.written, offset=last.offset, total=5)
