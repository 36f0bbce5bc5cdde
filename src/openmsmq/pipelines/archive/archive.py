"""`[archive]`: queues, journals and dead letters as Parquet files, every message once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.archive.files import File, Folder, check_checkpoint, query_id
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.streams import check_source, read, to_batches
from openmsmq.pipelines.tables import TomlTable
from openmsmq.pipelines.work import Ready, Watch
from openmsmq.spark.columns import READ, nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT: Final = "msmq-archive"
"What Spark reads an archive by: see `parts`."
PARTITIONS: Final = ("date", "queue")
FACTS: Final = (
    *("lookup_id", "arrival", "message_id", "label", "body_type", "priority", "message_class"),
    *("delivery", "transactional", "correlation_id", "app_specific", "sent_time", "arrived_time"),
    *("time_to_reach_queue", "time_to_be_received", "destination_queue", "response_queue"),
    *("admin_queue", "source_manager", "sender_id", "acknowledge", "journal", "dead_letter"),
    "dead_letter_queue",
    *("trace", "abort_count", "move_count", "from_queue", "from_manager", "packet"),
)
"What is always kept: the packet has the rest, body and extension, and all that can be sent again."


@dataclass(frozen=True, slots=True)
class Archive:
    """What the table says."""

    path: Path
    columns: tuple[str, ...] = ()
    "Columns to keep beside the packet that holds them, for readers that know no packets."


def read_settings(table: TomlTable) -> Archive:
    """The table `[archive]`."""
    columns = table.texts("columns", ())
    for name in columns:
        if name not in READ:
            raise table.wrong("columns", f"has {name!r}, which is no column{nearest(name, READ)}")
    return Archive(table.path("path"), columns)


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    assert pipeline.source is not None
    assert pipeline.checkpoint is not None
    check_source(pipeline.source)
    check_checkpoint(Folder(pipeline.settings.path), pipeline.checkpoint)


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> StreamingQuery:
    """Begin to archive: the stream says which positions a batch has, and tasks keep them."""
    from openmsmq.pipelines.archive.tasks import Keeper
    from openmsmq.pipelines.offsets import offsets_of

    settings: Archive = pipeline.settings
    source, checkpoint = pipeline.source, pipeline.checkpoint
    assert source is not None
    assert checkpoint is not None
    folder = Folder(settings.path)
    folder.prepare()
    watch.tell(path=str(folder.data))
    columns = tuple(dict.fromkeys((*FACTS, *settings.columns)))
    keeper = Keeper(source.options(), columns)

    def keep(batch: DataFrame, number: int) -> None:
        offsets = offsets_of(checkpoint, number, source.options())

        def write(staging: Path) -> list[File]:
            return keeper.keep(spark, offsets, staging)

        entry = folder.add(number, query_id(checkpoint), offsets.positions, write, is_all=True)
        watch.count(number, entry.rows)

    return to_batches(read(spark, pipeline, columns), pipeline, keep)


READY: Final = Ready(
    read_settings, check, start, checkpoint=lambda name, settings: settings.path / "checkpoint"
)
