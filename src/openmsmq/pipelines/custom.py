"""`[sink]`: a pipeline of one's own, from queues through SQL or Python to a queue or files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.archive.batches import File
from openmsmq.pipelines.archive.files import Folder, check_checkpoint, described, query_id
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.spec import ManagerOptions, Pipeline, columns_of, read_place
from openmsmq.pipelines.streams import (
    check_source,
    check_targets,
    read,
    to_batches,
    to_queues,
)
from openmsmq.pipelines.tables import PipelineFileError, TomlTable
from openmsmq.pipelines.work import Ready, Watch
from openmsmq.spark.columns import check_write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_SETTINGS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # every reader knows these
    "spark.sql.maxConcurrentOutputFileWriters": "64",  # no sort of rows by their folders
}
KINDS: Final = ("queue", "parquet", "console")


@dataclass(frozen=True, slots=True)
class Sink:
    """What the table says."""

    kind: str
    place: ManagerOptions | None = None
    queue: str = ""
    "Empty if the rows have a column `queue`."
    path: Path = Path()
    partitions: tuple[str, ...] = ()
    rows: int = 20
    "How many of a batch are shown."


def read_settings(table: TomlTable) -> Sink:
    """The table `[sink]`."""
    match kind := table.choice("kind", KINDS):
        case "queue":
            return Sink(kind, read_place(table), table.text("queue", ""))
        case "parquet":
            path, partitions = table.path("path"), table.texts("partition_by", ())
            return Sink(kind, path=path, partitions=partitions)
        case _:
            return Sink(kind, rows=table.whole("rows", 20))


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    sink: Sink = pipeline.settings
    assert pipeline.source is not None
    assert pipeline.checkpoint is not None
    if pipeline.transform.python:
        find_function(pipeline)
    check_source(pipeline.source)
    if sink.place is not None:
        check_targets("sink", sink.place, [sink.queue] if sink.queue else [])
    if sink.kind == "parquet":
        check_checkpoint(Folder(sink.path), pipeline.checkpoint)


def find_function(pipeline: Pipeline) -> Callable[[DataFrame], DataFrame]:
    """The function of `transform.python`; modules beside the file are found, too."""
    path, _, name = pipeline.transform.python.partition(":")
    if str(pipeline.folder) not in sys.path:
        sys.path.insert(0, str(pipeline.folder))
    try:
        found = getattr(import_module(path), name)
    except Exception as error:  # whatever the module does while it is imported
        raise PipelineFileError(f"transform.python: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise PipelineFileError(f"transform.python: {pipeline.transform.python} is no function")
    function: Callable[[DataFrame], DataFrame] = found
    return function


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> StreamingQuery:
    """Begin the stream."""
    sink: Sink = pipeline.settings
    frame = transformed(spark, pipeline)
    if sink.kind == "queue":
        assert sink.place is not None
        names = check_write((f.name, f.dataType.simpleString()) for f in frame.schema.fields)
        if not sink.queue and "queue" not in names:
            raise PipelineError("sink.queue is missing, and the rows have no column `queue`")
        return to_queues(frame, pipeline, sink.place, sink.queue)
    if sink.kind == "parquet":
        return _to_files(frame, pipeline, sink, watch)

    def show(batch: DataFrame, number: int) -> None:
        watch.show_rows([row.asDict(recursive=True) for row in batch.limit(sink.rows).collect()])

    return to_batches(frame, pipeline, show)


def transformed(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """The rows of the source as the transform makes them; Spark has looked at the SQL then."""
    source, transform = pipeline.source, pipeline.transform
    assert source is not None
    frame = read(spark, pipeline, source.columns or columns_of(transform.sql))
    if transform.sql:
        frame.createOrReplaceTempView("source")
        return spark.sql(transform.sql)
    if not transform.python:
        return frame
    made = find_function(pipeline)(frame)
    if not hasattr(made, "writeStream"):
        kind = type(made).__name__
        raise PipelineError(f"{transform.python} gave {kind}, not a DataFrame")
    return made


def _to_files(frame: DataFrame, pipeline: Pipeline, sink: Sink, watch: Watch) -> StreamingQuery:
    from openmsmq.pipelines.offsets import offsets_of

    source, checkpoint = pipeline.source, pipeline.checkpoint
    assert source is not None
    assert checkpoint is not None
    for name in sink.partitions:
        if name not in frame.columns:
            raise PipelineError(f"sink.partition_by: the rows have no column {name!r}")
    folder = Folder(sink.path)
    folder.prepare()
    watch.tell(path=str(folder.data))

    def keep(batch: DataFrame, number: int) -> None:
        offsets = offsets_of(checkpoint, number, source.options())
        write = partial(write_files, batch, sink.partitions)
        folder.add(number, query_id(checkpoint), offsets.positions, write)

    return to_batches(frame, pipeline, keep)


def write_files(frame: DataFrame, partitions: tuple[str, ...], place: DataFolder) -> Iterator[File]:
    """Let Spark write rows as files; which, in the order of the rows."""
    from pyarrow.parquet import read_metadata

    staging = place.path
    for name, value in _SETTINGS.items():
        frame.sparkSession.conf.set(name, value)
    writer = frame.write.mode("overwrite").option("compression", "zstd")
    writer.partitionBy(*partitions).parquet(staging.as_uri())
    found = sorted(staging.rglob("*.parquet"), key=lambda path: (path.name, str(path.parent)))
    for path in found:
        yield described(staging, path, read_metadata(path).num_rows)


READY: Final = Ready(read_settings, check, start)
