"""Queues as tables that are looked at and left as they are, for reports."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from openmsmq.pipelines.spec import ManagerOptions
from openmsmq.spark.columns import ddl
from openmsmq.spark.service import connect, open_queue, queue_names
from openmsmq.types.access import Access

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def check_readable(place: ManagerOptions, queues: tuple[str, ...]) -> None:
    """Fail if a manager cannot be reached, or a queue not be looked into."""
    for address in place.managers:
        with connect(place.parsed(), address, patient=False) as manager:
            for name in queue_names(manager, queues):
                open_queue(manager, name, Access.PEEK).close()


def peek(
    spark: SparkSession, place: ManagerOptions, queues: tuple[str, ...], columns: Iterable[str]
) -> DataFrame:
    """These columns of all that is in queues now."""
    reader = spark.read.format("msmq").schema(ddl(columns)).options(**place.options())
    return reader.option("queue", ",".join(queues)).load()


def moment(seconds: float | None) -> str:
    """A time of Spark's `unix_timestamp` as people read it, in UTC; nothing for None."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
