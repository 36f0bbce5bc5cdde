"""What Spark does in the demonstration: orders become a table, and the table becomes invoices."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import openmsmq
from openmsmq.demo.managers import PATIENCE
from openmsmq.errors import ReceiveTimeout
from openmsmq.pipelines.session import start_session
from openmsmq.pipelines.spec import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCHES: Final = 4
"Batches that the orders are read in."
_SUBSCRIPTION: Final = "lake"
_FIELDS: Final = "number bigint, customer int, product string, cents bigint"


@dataclass(frozen=True, slots=True)
class OrdersTable:
    """What the table of orders says."""

    rows: int
    numbers: int
    "How many different ones."
    misplaced: int
    "Orders that did not arrive in the order in which they were sent."
    cents: int


class Lake:
    """A Spark session on this computer, and a folder with tables and checkpoints."""

    def __init__(self, folder: Path, manager: str) -> None:
        self.orders = folder / "orders"
        self._checkpoints = folder / "checkpoints"
        self._manager = manager
        self._spark = _session(folder)

    def close(self) -> None:
        """End Spark."""
        self._spark.stop()

    def read_orders(self, count: int, show: Callable[[int], None]) -> None:
        """Take the orders out of their queue and add them to the table, each once."""
        stream = (
            self._spark.readStream.format("msmq")
            .schema("arrival bigint, message_id string, label string, body binary")
            .option("manager", self._manager)
            .option("queue", "orders")
            .option("subscription", _SUBSCRIPTION)
            .option("maxMessagesPerTrigger", max(1, count // BATCHES))
            .load()
        )
        parsed = stream.selectExpr(
            *("arrival", "message_id", "label"),
            f"inline(array(from_json(cast(body as string), '{_FIELDS}')))",
        )
        query = (
            parsed.writeStream.format("parquet")
            .option("path", str(self.orders))
            .option("checkpointLocation", str(self._checkpoints))
            .trigger(availableNow=True)
            .start()
        )
        _await(query, show)
        self._finish()

    def _finish(self) -> None:
        """Spark keeps its last batch reserved until a stream goes on; this one never will."""
        with openmsmq.connect(self._manager) as manager:
            queue = manager.open_queue("orders")
            owner = queue.subscription(_SUBSCRIPTION).owner
            reader = queue.subscription(_SUBSCRIPTION, owner=owner)
            reader.commit(reader.reserved)

    def table(self) -> OrdersTable:
        """Count the table, order by order."""
        self._rows().createOrReplaceTempView("orders")
        found = self._spark.sql(
            "select count(*), count(distinct number), count_if(number != place), sum(cents) from"
            " (select *, row_number() over (order by arrival) as place from orders)"
        ).first()
        assert found is not None, "counting always has an answer"
        return OrdersTable(found[0], found[1], found[2], found[3] or 0)

    def send_invoices(self) -> None:
        """Send each customer's sum to the queue of invoices, all of them or none."""
        self._rows().createOrReplaceTempView("orders")
        invoices = self._spark.sql(
            "select to_json(named_struct('customer', customer, 'orders', count(*), 'cents',"
            " sum(cents))) as value, concat('invoice ', customer) as label"
            " from orders group by customer"
        )
        writer = invoices.write.format("msmq").option("manager", self._manager)
        writer.option("queue", "invoices").option("writeId", "invoices").mode("append").save()

    def _rows(self) -> DataFrame:
        return self._spark.read.parquet(str(self.orders))


def _session(folder: Path) -> SparkSession:
    """Spark on two cores, whose logs are in the folder."""
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    place = Pipeline("demo", "sink", None, folder, master="local[2]", spark=settings)
    return start_session(place, folder / "log")


def _await(query: StreamingQuery, show: Callable[[int], None]) -> None:
    """Wait until a query has done all there is to do."""
    end = time.monotonic() + PATIENCE
    seen = -1
    while not query.awaitTermination(1):
        rows = sum(progress.numInputRows for progress in query.recentProgress)
        if rows != seen:
            seen, end = rows, time.monotonic() + PATIENCE
            show(rows)
        elif time.monotonic() > end:
            query.stop()
            raise ReceiveTimeout(f"Spark has read {rows:,} orders and goes no further")
