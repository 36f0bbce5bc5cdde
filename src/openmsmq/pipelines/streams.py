"""Streams of Spark as a pipeline describes them, and what is checked before there is Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from openmsmq.errors import MQError
from openmsmq.pipelines.spec import AVAILABLE_NOW, ONCE, ManagerOptions, Pipeline, Source
from openmsmq.spark.columns import ddl, default_schema
from openmsmq.spark.service import connect, open_queue, queue_names
from openmsmq.types.access import Access

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

QUEUE: Final = "msmq"
_OPTION: Final = re.compile(r"^option (\w+)")
Batch = Callable[["DataFrame", int], None]


def check_source(source: Source) -> None:
    """Fail if a manager cannot be reached, or a queue not be read."""
    options = source.place.parsed()
    with _named("source"):
        for address in source.place.managers:
            with connect(options, address, patient=False) as manager:
                for name in queue_names(manager, source.queues):
                    open_queue(manager, name, Access.RECEIVE).close()


def check_targets(table: str, place: ManagerOptions, queues: Iterable[str]) -> None:
    """Fail if the manager that a table names cannot be reached, or a queue not be sent to."""
    with _named(table), connect(place.parsed(), place.managers[0], patient=False) as manager:
        for name in queues:
            open_queue(manager, name, Access.SEND).close()


@contextmanager
def _named(table: str) -> Iterator[None]:
    """Call the options of the format by the keys that the file has for them."""
    try:
        yield
    except MQError as error:
        detail = _OPTION.sub(lambda found: f"{table}.{_snake(found[1])}", error.detail)
        raise type(error)(detail) from None


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def read(spark: SparkSession, pipeline: Pipeline, columns: Iterable[str] = ()) -> DataFrame:
    """The source as a stream of these columns; without any, of the usual ones."""
    assert pipeline.source is not None, "streams have a source"
    schema = ddl(columns) or default_schema()
    reader = spark.readStream.format(QUEUE).schema(schema)
    return reader.options(**pipeline.source.options()).load()


def to_queues(
    frame: DataFrame, pipeline: Pipeline, place: ManagerOptions, queue: str
) -> StreamingQuery:
    """Send the rows of a stream."""
    writer = _writer(frame, pipeline).format(QUEUE).options(**place.options())
    if queue:
        writer = writer.option("queue", queue)
    return writer.start()


def to_batches(frame: DataFrame, pipeline: Pipeline, work: Batch) -> StreamingQuery:
    """Let `work` have the batches of a stream, one after the other."""
    return _writer(frame, pipeline).foreachBatch(work).start()


def _writer(frame: DataFrame, pipeline: Pipeline) -> DataStreamWriter:
    writer = frame.writeStream.queryName(pipeline.name).trigger(**_trigger(pipeline.trigger))
    return writer.option("checkpointLocation", str(pipeline.checkpoint))


def _trigger(trigger: str | int) -> dict[str, Any]:
    if trigger == AVAILABLE_NOW:
        return {"availableNow": True}
    return {"once": True} if trigger == ONCE else {"processingTime": f"{trigger} seconds"}
